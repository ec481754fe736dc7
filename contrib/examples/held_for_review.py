# SPDX-License-Identifier: GPL-2.0-or-later
"""Hold jobs at which an administrator wants to look; their users cannot release them."""

from slurmhooks import Reject, hook, log
from slurmhooks.types import Record, WholeJob

MOST = 100
"""Nodes of a job that starts without a review."""
REVIEW, REVIEWED = "held for review", "reviewed"


@hook.job(admins=True)
def held_for_review(job: WholeJob, record: Record | None, sender_uid: int) -> None:
    """Priority 0 is a hold, which Slurm lets the user release; only administrators can change `admin_comment`."""
    if sender_uid == 0:
        if record is not None and record.admin_comment == REVIEW and job.sets("priority"):
            job.admin_comment = REVIEWED
    elif job.bounds.nodes.least > MOST and job.admin_comment != REVIEWED:
        if not job.is_update:
            job.priority = 0
            job.admin_comment = REVIEW
            log.user(f"a job of more than {MOST} nodes waits until an administrator releases it")
        elif job.priority != 0:
            raise Reject("an administrator releases this job", code="ESLURM_ACCESS_DENIED")
