# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a spool with the code of slurmctld's plugin, and reads it as workers do."""

import subprocess
from pathlib import Path

from slurmhooks.jobcomp.segment import Record
from slurmhooks.jobcomp.spool import Spool
from tests.native.building import PLAIN
from tests.native.conftest import built

LIMIT = 1 << 20


class Writer:
    """A process that appends to a spool, as slurmctld does."""

    def __init__(self, folder: Path, limit: int = LIMIT, fsync: str = "never") -> None:
        host = built(PLAIN).host.with_name("spooler")
        self.process = subprocess.Popen(
            [host, folder, str(limit), fsync], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def begin(self, job_id: int, size: int | str = 100) -> None:
        """Ask for a record without waiting for it."""
        assert self.process.stdin
        self.process.stdin.write(f"{job_id} {size}\n".encode())
        self.process.stdin.flush()

    def append(self, job_id: int, size: int | str = 100) -> bool:
        """Append a record of this size, or with the message in ``@FILE``; tell whether it was kept."""
        self.begin(job_id, size)
        assert self.process.stdout
        return self.process.stdout.readline() == f"{job_id} 1\n".encode()

    def end(self) -> str:
        """End the process, and return what it logged."""
        _, log = self.process.communicate(timeout=60)
        return log.decode()

    def kill(self) -> list[int]:
        """Kill the process, and return the jobs whose records it had acknowledged until then."""
        self.process.kill()
        output, _ = self.process.communicate(timeout=60)
        return [int(line.split()[0]) for line in output.splitlines() if line.endswith(b" 1")]


def read(folder: Path) -> Spool:
    """Return the spool as a process that has just started reads it."""
    spool = Spool(folder)
    spool.refresh()
    return spool


def jobs(spool: Spool) -> list[int]:
    """Return the jobs whose records are to be delivered."""
    return [record.frame.job_id for record in spool.records()]


def deliver(spool: Spool, count: int | None = None) -> list[int]:
    """Mark the first records, or all, as delivered, and return their jobs."""
    taken: list[Record] = list(spool.records())[:count]
    for record in taken:
        record.segment.note(record, "done")
    return [record.frame.job_id for record in taken]
