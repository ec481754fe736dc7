# SPDX-License-Identifier: GPL-2.0-or-later
"""The hook file of the load test: refuses most jobs, fails for 1 % of them, accepts 10 %, and notes what it saw."""

import os
from typing import Any

from slurmhooks import Reject, hook

VERSION = 0
FOLDER = "/var/lib/slurm/load"


def note(name: str, line: str) -> None:
    """Append a line in a single write, which survives the end of this worker."""
    file = os.open(f"{FOLDER}/{name}", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    os.write(file, line.encode())
    os.close(file)


@hook.job_submit
def policy(job: Any) -> None:
    """Decide by the job's number, which is its name."""
    number = int(job.name)
    note("seen", f"{number} {VERSION}\n")
    if number % 100 == 7:
        raise RuntimeError(f"fails for {number}")
    if number % 10:
        raise Reject(f"the policy refuses {number}")
    job.comment = f"the policy accepts {number}"


@hook.job_submit(mode="observe")
def observe(job: Any) -> None:
    """Have an observer."""
    note("observed", "\n")


@hook.job_end
def ended(record: Any, event: Any) -> None:
    """Record each job that has ended, some of them only at the second attempt."""
    if record.job_id % 100 == 0 and event.attempt == 1:
        raise RuntimeError("the first attempt fails")
    note("ended", f"{record.job_id} {record.name} {record.comment}\n")
