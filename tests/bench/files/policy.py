# SPDX-License-Identifier: GPL-2.0-or-later
# mypy: ignore-errors
"""A realistic policy: twelve reads, four writes, one look-up in the environment. policy.lua is the same policy."""

from slurmhooks import Reject, hook


@hook.job_submit
def policy(job, submit_uid):
    """Read and set what many sites read and set."""
    if job.account is None:
        raise Reject("no account")
    if job.user_id == 0 or job.group_id == 0 or submit_uid == 0:
        return
    if job.name is None or job.work_dir is None or job.script is None:
        return
    if job.reservation is not None or job.features is not None or job.tres_per_node is not None:
        return
    if job.qos is None and job.environment.get("HOME") is None:
        return
    if job.time_limit is None:
        job.time_limit = 60
    if job.partition is None:
        job.partition = "debug"
    job.comment = "seen"
    job.min_nodes = 1
