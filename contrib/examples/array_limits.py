# SPDX-License-Identifier: GPL-2.0-or-later
"""Limit how many tasks a job array has, and how many of them run at once."""

from slurmhooks import Reject, hook, log
from slurmhooks.job_submit.strings import ArraySpec
from slurmhooks.types import WholeJob

MOST_TASKS = 1000
AT_ONCE = 50


@hook.job
def array_limits(job: WholeJob) -> None:
    """Refuse large arrays; throttle those that do not throttle themselves."""
    if not job.sets("array_inx"):
        return
    if job.is_update:  # which sends only the new throttle; 0 removes it
        if not int(job.array_inx or 0):
            raise Reject("a job array keeps a throttle", code="ESLURM_INVALID_ARRAY")
        return
    spec = ArraySpec.parse(job.array_inx or "")
    tasks = len(spec)
    if tasks > MOST_TASKS:
        raise Reject(f"a job array may have {MOST_TASKS} tasks, not {tasks}", code="ESLURM_INVALID_ARRAY")
    if spec.limit is None and tasks > AT_ONCE:
        job.array_inx = f"{spec}%{AT_ONCE}"
        log.user("of your %d array tasks, %d run at once", tasks, AT_ONCE)
