# SPDX-License-Identifier: GPL-2.0-or-later
"""Cancel waiting jobs whose dependency can no longer be satisfied: Slurm keeps them in the queue forever.

With JobSubmitPlugins=python, slurmctld's workers run this every five minutes.
"""

from slurmhooks import hook
from slurmhooks.job_submit.constants import JobState
from slurmhooks.types import ActingRecord, Table


@hook.every("5m", at_most=100)
def never_starts(jobs: Table[int, ActingRecord]) -> None:
    """Cancel jobs with the reason DependencyNeverSatisfied."""
    for job in jobs.where(job_state=JobState.JOB_PENDING):
        if job.state_reason and job.state_reason.name == "WAIT_DEP_INVALID":
            job.cancel("the job that this one depends on has failed")
