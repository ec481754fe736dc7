# SPDX-License-Identifier: GPL-2.0-or-later
"""Refuse a QOS that the user may not have, and name those that the user may have."""

from slurmhooks import Reject, hook


@hook.job_submit
def allowed_qos(job, associations):
    """Slurm itself says no more than "Invalid qos specification"."""
    if job.qos is None or job.user_id == 0:
        return
    mine = associations.of_user(job.user_id)
    account = job.account or next((found.account for found in mine if found.is_default), None)
    partitions = (None, *(job.partition or "").split(","))
    allowed = {
        name for found in mine if found.account == account and found.partition in partitions for name in found.qos
    }
    if allowed and job.qos not in allowed:
        names = ", ".join(sorted(allowed))
        raise Reject(f"you may not use QOS {job.qos} here; you may use: {names}", code="ESLURM_INVALID_QOS")
