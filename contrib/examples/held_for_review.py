# SPDX-License-Identifier: GPL-2.0-or-later
"""Hold jobs at which an administrator wants to look; their users cannot release them."""

from slurmhooks import Reject, hook, log
from slurmhooks.types import Job, Record

MOST = 100
"""Nodes of a job that starts without a review."""
REVIEW = "held for review"


@hook.job_submit
def hold_for_review(job: Job) -> None:
    """Priority 0 is a hold, which Slurm lets the user release; only administrators can change `admin_comment`."""
    if job.bounds.nodes.least > MOST:
        job.priority = 0
        job.admin_comment = REVIEW
        log.user(f"a job of more than {MOST} nodes waits until an administrator releases it")


@hook.job_modify
def stays_held(job: Job, record: Record, modify_uid: int) -> None:
    """`scontrol release` is an update of the priority; it needs a build with Slurm's sources."""
    if record.admin_comment != REVIEW or job.priority is None:
        return
    if modify_uid != 0:
        raise Reject("an administrator releases this job", code="ESLURM_ACCESS_DENIED")
    job.admin_comment = "reviewed"
