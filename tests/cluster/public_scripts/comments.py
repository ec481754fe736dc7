# SPDX-License-Identifier: GPL-2.0-or-later
"""The administrator's comment says which dependencies, network and switches a job asks for."""

import json

from slurmhooks import hook
from slurmhooks.job_submit.model import Job


@hook.job_submit
def comments(job: Job) -> None:
    """Add what a job asks for to the comment, as JSON."""
    asked = {"dependency": job.dependency, "network": job.network, "switches": job.req_switch}
    given = {name: str(value) for name, value in asked.items() if value is not None}
    if given:
        job.admin_comment = "; ".join(filter(None, [job.admin_comment, json.dumps(given)]))
