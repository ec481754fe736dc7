# SPDX-License-Identifier: GPL-2.0-or-later
"""Refuse a QOS that the user may not use, and name the allowed ones."""

from slurmhooks import Reject, hook
from slurmhooks.types import Association, Table, WholeJob


@hook.job
def allowed_qos(job: WholeJob, associations: Table[int, Association]) -> None:
    """Explain the refusal; Slurm itself only says "Invalid qos specification"."""
    if job.qos is None or not job.user_id:  # root may use every QOS
        return
    mine = associations.of_user(job.user_id)
    here = [each for each in mine if each.account == job.account and each.partition in (None, *job.partitions)]
    allowed = {name for each in here for name in each.qos}
    if allowed and not allowed.issuperset(job.qos.split(",")):
        names = ", ".join(sorted(allowed))
        raise Reject(f"you may not use QOS {job.qos} here; you may use: {names}", code="ESLURM_INVALID_QOS")
