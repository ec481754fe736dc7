# SPDX-License-Identifier: GPL-2.0-or-later
"""Fills a small disk with a spool, and delivers its records; test_spool_full.py runs this in a mount namespace.

Usage: full_disk.py SCENARIO FOLDER OPTIONS. OPTIONS are those of the tmpfs that is mounted on FOLDER.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from slurmhooks.config.sections import JobComp
from slurmhooks.errors import Reject
from slurmhooks.handlers.registry import Handler, Registry
from slurmhooks.hooks.points import HOOKS
from slurmhooks.jobcomp.delivery import Delivery
from slurmhooks.jobcomp.spool import Spool
from slurmhooks.log import log
from slurmhooks.testing import FakeRecord
from slurmhooks.wire.message import Message
from slurmhooks.wire.protocol import Type
from slurmhooks.workshop.testing.tables import tables_of
from tests.native.spooling import Writer

LANES = 8
SPOOL = 256 << 20


class Site:
    """A spool on a small disk, and a handler.

    Attributes:
        delivered: the jobs whose records the handler has got, in order.
        failing: jobs for which the handler fails.
        refused: jobs that the handler refuses.
        ending: jobs for which the handler ends its worker.
        pause: the first one after a failure, in seconds; the next one is the longest.
        notes: the file with the jobs whose records handlers have got in any process; None: it is not written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "spool"
        self.message = folder.with_name("message")
        self.tables = tables_of("24.11")
        self.delivered: list[int] = []
        self.failing: set[int] = set()
        self.refused: set[int] = set()
        self.ending: set[int] = set()
        self.notes: Path | None = None
        self.pause = 0.01
        self.lines: list[str] = []
        log.attach(lambda level, text: self.lines.append(text), lambda text: None)
        self.writer = Writer(self.folder, SPOOL)
        self.new_worker()

    def new_worker(self) -> None:
        """Begin to deliver as a worker that has just started does."""
        handler = Handler(self.handle, ("record",), HOOKS["job_end"], label="site:handle", path=__file__, line=1)
        section = JobComp(tries=3, backoff=self.pause, backoff_limit=self.pause * 2)
        spool = Spool(self.folder)
        spool._tables[self.tables.identity] = self.tables
        self.delivery = Delivery(spool, Registry([handler], [], {}, [], {}), section)

    def handle(self, record: FakeRecord) -> None:
        """Take a record."""
        if record.job_id in self.refused:
            raise Reject("never")
        if record.job_id in self.failing:
            raise ConnectionError("no service")
        assert record.job_id is not None
        self.delivered.append(record.job_id)
        if self.notes is not None:
            with self.notes.open("a") as file:
                file.write(f"{record.job_id}\n")
        if record.job_id in self.ending:
            os._exit(3)

    def append(self, job_id: int) -> bool:
        """Let slurmctld report the end of a job; tell whether its record was kept."""
        record = FakeRecord(release="24.11", job_id=job_id, name="x" * 500)._struct
        message = Message(Type.REQUEST, items=((self.tables.place("record"), record.data),)).encode(self.tables)
        self.message.write_bytes(message)
        return self.writer.append(job_id, f"@{self.message}")

    def fill(self, first: int) -> tuple[list[int], list[int]]:
        """Append records until the disk is full, and some more; return the jobs that were kept, and the others."""
        kept: list[int] = []
        lost: list[int] = []
        for job_id in range(first, first + 400):
            (kept if self.append(job_id) else lost).append(job_id)
            if len(lost) == 20:
                return kept, lost
        raise AssertionError("the disk is not small")

    def deliver(self, turns: int = 100) -> None:
        """Let each lane take some turns, with pauses in which failed records become due; until nothing is left."""
        for turn in range(turns):
            for lane in range(LANES):
                while self.delivery.turn(lane, LANES, None) == 0:
                    pass
            if turn > 2 and not list(self.delivery._spool.records()):
                return
            time.sleep(0.01)

    def lost(self) -> list[int]:
        """Return the jobs in lost.jsonl."""
        return [each["job_id"] for each in Spool(self.folder).lost()]


def all_records(site: Site) -> None:
    """All records that were kept are delivered once, all others are in lost.jsonl, and delivery alone makes room."""
    delivered: list[int] = []
    lost: list[int] = []
    for first in (1, 1001, 2001):
        kept, gone = site.fill(first)
        assert len(kept) > 5, kept
        delivered += kept
        lost += gone
        assert site.lost() == lost
        site.deliver()
        assert sorted(site.delivered) == delivered, (site.delivered, delivered, site.lines)
    assert site.append(3001)
    site.deliver()
    assert site.delivered[-1] == 3001
    assert not [line for line in site.lines if "no complete records" in line]


def many_losses(site: Site) -> None:
    """If even lost.jsonl is full, its lines stay complete; a slurmctld that starts with room lists losses again."""
    site.fill(1)
    before, count = -1, 0
    while before < len(site.lost()):
        before = len(site.lost())
        for _ in range(100):
            count += 1
            assert not site.append(5000 + count)
    assert before < count
    site.deliver()
    site.writer.end()
    site.writer = Writer(site.folder, SPOOL)
    _, lost = site.fill(9001)
    assert site.lost()[before:] == lost
    for line in (site.folder / "lost.jsonl").read_text().splitlines():
        json.loads(line)


def state_in_memory(site: Site) -> None:
    """What became of a record while the disk was full is written once there is room, without another delivery."""
    kept, _ = site.fill(1)
    for path in site.folder.glob("*.state"):  # without the room that is reserved for it
        path.unlink()
    with suppress(OSError), (site.folder / "filler").open("wb") as file:
        file.write(bytes(1 << 20))
    site.delivery.turn(kept[0] % LANES, LANES, None)
    assert site.delivered == kept[:1]
    states = sum(path.stat().st_size for path in site.folder.glob("*.state"))
    (site.folder / "lost.jsonl").unlink()
    (site.folder / "filler").unlink(missing_ok=True)
    site.delivery._spool.refresh()
    assert sum(path.stat().st_size for path in site.folder.glob("*.state")) > states
    site.new_worker()
    site.deliver()
    assert sorted(site.delivered) == kept


def after_a_restart(site: Site) -> None:
    """A slurmctld that starts on a full disk delivers what is there, and keeps new records once there is room."""
    kept, _ = site.fill(1)
    site.writer.kill()
    site.writer = Writer(site.folder, SPOOL)
    assert not site.append(900)
    assert site.lost()[-1] == 900
    site.new_worker()
    site.deliver()
    assert sorted(site.delivered) == kept
    assert site.append(901)
    site.deliver()
    assert site.delivered[-1] == 901


def failures(site: Site) -> None:
    """Records that fail wait, or become dead letters if there is room; all others are delivered.

    There is room for new ones then, unless dead letters have taken it, and again without these.
    """
    site.failing = {1, 2, 3}
    site.refused = {4}
    kept, _ = site.fill(1)
    site.deliver()
    assert sorted(site.delivered) == kept[4:], (site.delivered, site.lines[-5:])
    if site.append(901):
        kept.append(901)
    else:  # on a slow machine, the dead letters have taken the room first; or what waits has the last inode
        assert site.lost()[-1] == 901, site.lines[-5:]
        assert list(site.delivery._spool.letters()) or not os.statvfs(site.folder).f_favail
    site.failing = set()
    site.deliver()
    letters = [int(letter["job_id"]) for letter in site.delivery._spool.letters()]
    left = [record.frame.job_id for record in site.delivery._spool.records()]
    assert sorted(site.delivered + letters + left) == kept, (site.delivered, letters, left)
    assert set(left) <= {1, 2, 3, 4}  # the disk has no inode for the dead letter
    for path in (site.folder / "dead").glob("*"):
        path.unlink()
    site.refused = set()
    site.deliver()
    assert site.append(902)
    site.deliver()
    assert site.delivered[-1] == 902
    assert sorted(site.delivered) == sorted({*site.delivered})


def workers_that_end(site: Site) -> None:
    """The failures of a handler that ends its worker are counted, and no other record waits for them.

    Each worker knows what former ones have delivered.
    """
    kept, _ = site.fill(1)
    notes = site.folder.parent.with_name("delivered")
    site.ending = {kept[0], kept[9]}
    site.pause = 0.5  # the next worker begins earlier
    tries: dict[int, int] = {}
    until = time.monotonic() + 100
    while tries.keys() != site.ending or min(tries.values()) < 3:
        assert time.monotonic() < until, (tries, notes.read_text())
        for lane in range(LANES):
            ended = True
            while ended and time.monotonic() < until:
                if not (child := os.fork()):
                    site.new_worker()
                    site.notes = notes
                    failure: str | None = "the worker has ended"
                    while site.delivery.turn(lane, LANES, failure) == 0:
                        failure = None
                    os._exit(0)
                ended = bool(os.waitpid(child, 0)[1])
        spool = Spool(site.folder)
        spool.refresh()
        tries = {record.frame.job_id: record.tries for record in spool.records()}
        tries |= {letter["job_id"]: letter["tries"] for letter in spool.letters()}
    delivered = [each for each in map(int, notes.read_text().split()) if each not in site.ending]
    assert sorted(delivered) == [each for each in kept if each not in site.ending]


if __name__ == "__main__":
    scenario, path, options = sys.argv[1:]
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", path], check=True)
    site = Site(Path(path))
    try:
        globals()[scenario](site)
    finally:
        site.writer.process.kill()
        site.writer.process.communicate()
