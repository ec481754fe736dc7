# SPDX-License-Identifier: GPL-2.0-or-later
"""Set a job's comment from a variable of its environment, so that accounting has it."""

from slurmhooks import hook
from slurmhooks.types import Job


@hook.job_submit
def ticket(job: Job) -> None:
    """Only batch jobs send their environment; for other jobs it is empty."""
    number = job.environment.get("TICKET")
    if number is not None and job.comment is None:
        job.comment = f"ticket {number}"
