# SPDX-License-Identifier: GPL-2.0-or-later
"""Refuse a QOS that the user may not use, and name the allowed ones."""

from slurmhooks import Reject, hook
from slurmhooks.types import Association, Job, Table


@hook.job_submit
def allowed_qos(job: Job, associations: Table[int, Association]) -> None:
    """Explain the refusal; Slurm itself only says "Invalid qos specification"."""
    if job.qos is None or not job.user_id:  # root may use every QOS
        return
    mine = associations.of_user(job.user_id)
    account = job.account or next((each.account for each in mine if each.is_default), None)
    partitions = (None, *(job.partition or "").split(","))
    allowed = {name for each in mine if each.account == account and each.partition in partitions for name in each.qos}
    if allowed and job.qos not in allowed:
        names = ", ".join(sorted(allowed))
        raise Reject(f"you may not use QOS {job.qos} here; you may use: {names}", code="ESLURM_INVALID_QOS")
