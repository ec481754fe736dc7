# SPDX-License-Identifier: GPL-2.0-or-later
"""Give the members of Unix groups associations with accounts, so that joining the group is all that a user needs.

Accounts must exist, and SlurmUser must be an administrator in the accounting, as it usually is. With
JobSubmitPlugins=python, slurmctld's workers run this every hour.
"""

import grp
import subprocess

from slurmhooks import hook, log
from slurmhooks.types import Association, Table

ACCOUNTS = {"physics": "phys", "chemistry": "chem"}
"""Accounts by the names of Unix groups."""
MOST = 20
"""How many associations one run adds: more at once are more likely a mistake."""


@hook.every("1h", timeout=300)
def unix_groups(associations: Table[int, Association]) -> None:
    """Add an association for each member of a group who has none with its account."""
    present = {(each.user, each.account) for each in associations.values() if each.user}
    missing = []
    for group, account in ACCOUNTS.items():
        try:
            members = grp.getgrnam(group).gr_mem
        except KeyError:
            log.error(f"there is no group {group}")
            continue
        missing += [(user, account) for user in members if (user, account) not in present]
    if len(missing) > MOST:
        raise RuntimeError(f"{len(missing)} associations are missing; at most {MOST} are added at once")
    for user, account in missing:
        command = ["sacctmgr", "--immediate", "--quiet", "add", "user", f"name={user}", f"account={account}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            log.error(f"sacctmgr does not add {user} to {account}: {done.stderr.strip()}")
        else:
            log.info(f"added {user} to account {account}, as a member of the Unix group")
