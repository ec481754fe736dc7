# SPDX-License-Identifier: GPL-2.0-or-later
"""Give jobs a time limit, and let users shorten their jobs, but not extend them."""

from slurmhooks import UNLIMITED, Reject, hook, log
from slurmhooks.types import Record, WholeJob

DEFAULT_MINUTES = 20


@hook.job
def default_time(job: WholeJob) -> None:
    """The user reads which limit the job has got."""
    if job.leaves_out("time_limit"):
        job.time_limit = DEFAULT_MINUTES
        log.user(f"no --time given: limited to {DEFAULT_MINUTES} minutes")


@hook.job
def no_extension(job: WholeJob, record: Record | None) -> None:
    """`record` is the job as it is now, None at its submission; it needs a build with Slurm's sources."""
    if record is None or not job.sets("time_limit", "end_time"):
        return
    now = UNLIMITED if record.time_limit is None else record.time_limit
    if job.time_limit is not None and job.time_limit > now:
        raise Reject("only administrators may extend a job", code="ESLURM_ACCESS_DENIED")
