# SPDX-License-Identifier: GPL-2.0-or-later
"""Let users shorten their jobs, but not extend them."""

from slurmhooks import UNLIMITED, Reject, hook
from slurmhooks.types import Record, WholeJob


@hook.job
def no_extension(job: WholeJob, record: Record | None) -> None:
    """`record` is the job as it is now, None at its submission; it needs a build with Slurm's sources."""
    if record is None or not job.sets("time_limit", "end_time"):
        return
    now = UNLIMITED if record.time_limit is None else record.time_limit
    if job.time_limit is not None and job.time_limit > now:
        raise Reject("only administrators may extend a job", code="ESLURM_ACCESS_DENIED")
