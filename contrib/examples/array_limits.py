# SPDX-License-Identifier: GPL-2.0-or-later
"""Limit how many tasks a job array has, and how many of them run at once."""

from slurmhooks import Reject, hook, log
from slurmhooks.job_submit.strings import ArraySpec
from slurmhooks.types import Job

MOST_TASKS = 1000
AT_ONCE = 50


@hook.job_submit
def array_limits(job: Job) -> None:
    """Refuse large arrays; throttle those that do not throttle themselves."""
    if job.array_inx is None:
        return
    spec = ArraySpec.parse(job.array_inx)
    tasks = len(spec)
    if tasks > MOST_TASKS:
        raise Reject(f"a job array may have {MOST_TASKS} tasks, not {tasks}", code="ESLURM_INVALID_ARRAY")
    if spec.limit is None and tasks > AT_ONCE:
        job.array_inx = f"{spec}%{AT_ONCE}"
        log.user("of your %d array tasks, %d run at once", tasks, AT_ONCE)
