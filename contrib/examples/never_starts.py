# SPDX-License-Identifier: GPL-2.0-or-later
"""Cancel waiting jobs that can never start: Slurm keeps them in the queue forever.

With JobSubmitPlugins=python, slurmctld's workers run this every five minutes.
"""

import time

from slurmhooks import hook
from slurmhooks.job_submit.constants import JobState
from slurmhooks.types import ActingRecord, Table

NEVER = {
    "WAIT_DEP_INVALID": "the job that this one depends on has failed",
    "WAIT_PART_NODE_LIMIT": "its partition does not allow so many or so few nodes",
    "WAIT_PART_TIME_LIMIT": "its partition does not allow such a time limit",
}
"""Texts by Slurm's reasons, of which squeue calls the last two PartitionNodeLimit and PartitionTimeLimit."""
GRACE = 24 * 3600.0
"""Seconds that a job may wait for another reason than its dependency: the limits of a partition may change."""


@hook.every("5m", at_most=100)
def never_starts(jobs: Table[int, ActingRecord]) -> None:
    """Cancel jobs with these reasons."""
    for job in jobs.where(job_state=JobState.JOB_PENDING):
        reason = job.state_reason.name if job.state_reason else ""
        waits = time.time() - (job.submit_time or time.time())
        if reason in NEVER and (reason == "WAIT_DEP_INVALID" or waits >= GRACE):
            job.cancel(NEVER[reason])
