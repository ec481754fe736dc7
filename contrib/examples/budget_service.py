# SPDX-License-Identifier: GPL-2.0-or-later
"""Refuse jobs of projects whose budget is used up; a service of the site knows the budgets."""

import json
import urllib.parse
import urllib.request

from slurmhooks import Reject, hook
from slurmhooks.types import WholeJob

BUDGET = "http://budget.example.org/projects/"


@hook.job(timeout=0.5, on_error="accept")
def within_budget(job: WholeJob) -> None:
    """Jobs are accepted while the service is slow or cannot be reached."""
    if job.account is None or (job.is_update and not job.sets("account")):  # most updates cost no question
        return
    with urllib.request.urlopen(BUDGET + urllib.parse.quote(job.account, safe="")) as answer:
        hours = json.load(answer)["hours_left"]
    if hours <= 0:
        raise Reject(f"project {job.account} has used up its computing time", code="ESLURM_ACCOUNTING_POLICY")
