# SPDX-License-Identifier: GPL-2.0-or-later
"""What slurmctld would choose for a submission that names nothing, as far as this machine knows it."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from slurmhooks.job_submit.bounds import defaults

PATIENCE = 5.0
"""Seconds in which slurmctld answers."""
FLAGS = "flags=users"
COLUMNS = ("partition", "defaultqos")
ASSOCIATIONS = ("sacctmgr", "-nP", "show", "associations", f"format={','.join(COLUMNS)}")
ACCOUNT = re.compile(r"^UserName=\S+ DefAccount=(\S+)", re.MULTILINE)


def partition(sysconfdir: Path) -> str | None:
    """Return the default partition in slurm.conf; None if it names none."""
    conf = sysconfdir / "slurm.conf"
    if "SLURM_CONF" in os.environ or not conf.exists():
        return defaults.default_partition()
    os.environ["SLURM_CONF"] = str(conf)
    try:
        return defaults.default_partition()
    finally:
        del os.environ["SLURM_CONF"]


def account(user: str | None) -> str | None:
    """Ask the running slurmctld for the default account of a user; None: it does not say."""
    found = None if user is None else ACCOUNT.search(_said("scontrol", "show", "assoc_mgr", f"users={user}", FLAGS))
    return None if found is None or found[1] == "(null)" else found[1]


def qos(user: str | None, account: str | None, partitions: Sequence[str]) -> str | None:
    """Ask slurmdbd, which slurmctld has it from, for the default QOS of a user's jobs; None: it is not known.

    A user may have another default QOS in a partition.
    """
    if user is None or account is None:
        return None
    rows = [line.split("|") for line in _said(*ASSOCIATIONS, f"user={user}", f"account={account}").splitlines()]
    of = {row[0]: row[1] for row in rows if len(row) == len(COLUMNS)}
    if not partitions and len(of) > 1:
        return None
    found = {of.get(name) or of.get("") for name in partitions or ("",)}
    return found.pop() if len(found) == 1 else None


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
