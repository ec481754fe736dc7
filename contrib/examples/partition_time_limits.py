# SPDX-License-Identifier: GPL-2.0-or-later
"""Give jobs without a time limit the limit of their partition, and refuse longer jobs."""

from slurmhooks import Reject, hook
from slurmhooks.job_submit.strings import mins_to_time_str
from slurmhooks.types import Job

DEFAULT = "debug"
LIMITS = {"debug": 30, "day": 24 * 60}
"""The longest time limit of some partitions, in minutes."""


@hook.job_submit
def time_limit(job: Job) -> None:
    """A job that names several partitions must fit the strictest of them."""
    names = (job.partition or DEFAULT).split(",")
    limits = [LIMITS[name] for name in names if name in LIMITS]
    if not limits:
        return
    longest = min(limits)
    if job.time_limit is None:
        job.time_limit = longest
    elif job.time_limit > longest:  # UNLIMITED is greater than every number
        text = f"the longest time in {job.partition} is {mins_to_time_str(longest)}"
        raise Reject(text, code="ESLURM_INVALID_TIME_LIMIT")
