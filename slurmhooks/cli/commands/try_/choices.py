# SPDX-License-Identifier: GPL-2.0-or-later
"""What slurmctld would choose for a submission that names nothing, as far as this machine knows it."""

import os
import re
import subprocess
from pathlib import Path

from slurmhooks.job_submit.bounds import defaults

PATIENCE = 5.0
"""Seconds in which slurmctld answers."""
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
    if user is None:
        return None
    command = ["scontrol", "show", "assoc_mgr", f"users={user}", "flags=users"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = ACCOUNT.search(done.stdout)
    return None if found is None or found[1] == "(null)" else found[1]
