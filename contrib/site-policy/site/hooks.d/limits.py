# SPDX-License-Identifier: GPL-2.0-or-later
"""Give jobs a time limit, and let users shorten their jobs, but not extend them."""

from slurmhooks import UNLIMITED, Reject, hook, log
from slurmhooks.types import Job, Record

DEFAULT_MINUTES = 20


@hook.job_submit
def default_time(job: Job) -> None:
    """The user reads which limit the job has got."""
    if job.time_limit is None:
        job.time_limit = DEFAULT_MINUTES
        log.user(f"no --time given: limited to {DEFAULT_MINUTES} minutes")


@hook.job_modify
def no_extension(job: Job, record: Record, modify_uid: int) -> None:
    """`record` is the job as it is now; it needs a build with Slurm's sources."""
    if modify_uid == 0 or job.time_limit is None:  # an update that leaves the time limit alone
        return
    now = UNLIMITED if record.time_limit is None else record.time_limit
    if job.time_limit > now:
        raise Reject("only administrators may extend a job", code="ESLURM_ACCESS_DENIED")
