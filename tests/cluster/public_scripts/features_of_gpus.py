# SPDX-License-Identifier: GPL-2.0-or-later
"""The administrator's comment has the network, and features have defaults."""

from slurmhooks import hook
from slurmhooks.job_submit.model import Job

DEFAULTS = {"mig": "off", "gsp": "off"}


@hook.job_submit(order=60)
def features(job: Job) -> None:
    """Add what a job leaves out."""
    if job.network is not None:
        job.admin_comment = ",".join(filter(None, [job.admin_comment, f"network={job.network}"]))
    given = (job.features or "").split(",") if job.features else []
    named = {each.partition("=")[0] for each in given if "=" in each}
    job.features = ",".join([*given, *(f"{key}={value}" for key, value in DEFAULTS.items() if key not in named)])
