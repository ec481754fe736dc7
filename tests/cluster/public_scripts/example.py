# SPDX-License-Identifier: GPL-2.0-or-later
"""Updates without a comment get one."""

from slurmhooks import hook
from slurmhooks.job_submit.model import Job


@hook.job_modify
def comment(job: Job) -> None:
    """Give a comment to a job with each update that has none."""
    if job.comment is None:
        job.comment = "sample"
