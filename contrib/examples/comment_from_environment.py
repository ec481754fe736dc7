# SPDX-License-Identifier: GPL-2.0-or-later
"""Take a job's comment from a variable of its environment, for accounting to find."""

from slurmhooks import hook


@hook.job_submit
def ticket(job):
    """Only batch jobs send their environment; for others it is empty."""
    number = job.environment.get("TICKET")
    if number is not None and job.comment is None:
        job.comment = f"ticket {number}"
