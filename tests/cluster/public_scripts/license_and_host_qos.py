# SPDX-License-Identifier: GPL-2.0-or-later
"""The name of a QOS ends with that of the host, and updates set the license."""

from slurmhooks import hook
from slurmhooks.job_submit.model import Job

LICENSE, ENDING = "common", "__ct"


@hook.job_submit
def qos_of_host(job: Job) -> None:
    """Add the ending."""
    if job.qos and ENDING not in job.qos:
        job.qos += ENDING


@hook.job_modify
def license_of_updates(job: Job) -> None:
    """Set the license that an update does not name."""
    if job.licenses is None:
        job.licenses = LICENSE
