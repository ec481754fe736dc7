# SPDX-License-Identifier: GPL-2.0-or-later
"""Let users shorten their jobs, but not extend them."""

from slurmhooks import UNLIMITED, Reject, hook
from slurmhooks.types import Job, Record


@hook.job_modify
def no_extension(job: Job, record: Record, modify_uid: int) -> None:
    """`record` is the job as it is now; it needs a build with Slurm's sources."""
    if modify_uid == 0 or job.time_limit is None:  # an update that leaves the time limit alone
        return
    now = UNLIMITED if record.time_limit is None else record.time_limit
    if job.time_limit > now:
        raise Reject("only administrators may extend a job", code="ESLURM_ACCESS_DENIED")
