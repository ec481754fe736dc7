# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs of a partition for times of low emissions wait a year, unless they name their earliest start."""

import time

from slurmhooks import hook
from slurmhooks.job_submit.model import Job

YEAR, MARK = 365 * 24 * 3600, "green:held"


@hook.job_submit
@hook.job_modify
def wait(job: Job) -> None:
    """Let a job wait until the site finds a better time."""
    if job.partition == "green" and not job.begin_time:
        job.begin_time = int(time.time()) + YEAR
        job.comment = f"{job.comment},{MARK}" if job.comment is not None else MARK
