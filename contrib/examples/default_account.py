# SPDX-License-Identifier: GPL-2.0-or-later
"""Charge a job that names no account to the account of its user's group."""

from slurmhooks import Reject, hook, log
from slurmhooks.types import WholeJob

ACCOUNTS = {"physics": "phys", "chemistry": "chem"}
"""Unix groups and their accounts; the first group that a user is in counts."""


@hook.job(order=10)
def default_account(job: WholeJob) -> None:
    """Runs early (order=10), so that other handlers see the account."""
    if not job.leaves_out("account"):
        return
    groups = job.groups
    for group, account in ACCOUNTS.items():
        if group in groups:
            job.account = account
            log.user("no --account given: charged to %s", account)
            return
    raise Reject("you are in no group that has an account: name one with --account", code="ESLURM_INVALID_ACCOUNT")
