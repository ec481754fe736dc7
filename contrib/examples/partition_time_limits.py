# SPDX-License-Identifier: GPL-2.0-or-later
"""Give jobs without a time limit the limit of their partition, and refuse longer jobs."""

from slurmhooks import Reject, hook
from slurmhooks.job_submit.strings import mins_to_time_str
from slurmhooks.types import WholeJob

LIMITS = {"debug": 30, "day": 24 * 60}
"""The longest time limit of some partitions, in minutes."""


@hook.job
def time_limit(job: WholeJob) -> None:
    """A job in several partitions must fit the strictest of them, also after an update."""
    limits = [LIMITS[name] for name in job.partitions if name in LIMITS]
    if not limits:
        return
    longest = min(limits)
    if job.time_limit is not None and job.time_limit <= longest:  # UNLIMITED is greater
        return
    if job.leaves_out("time_limit"):
        job.time_limit = longest
    else:
        text = f"the longest time in {job.partition} is {mins_to_time_str(longest)}"
        raise Reject(text, code="ESLURM_INVALID_TIME_LIMIT")
