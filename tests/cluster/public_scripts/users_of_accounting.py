# SPDX-License-Identifier: GPL-2.0-or-later
"""Users become known to the accounting by their first job."""

import pwd
import subprocess

from slurmhooks import hook

SACCTMGR = ["sh", "/etc/slurm/called.sh"]


@hook.job_submit
def add_user(submit_uid: int) -> None:
    """Add a user whom the accounting does not know."""
    name = pwd.getpwuid(submit_uid).pw_name
    if not subprocess.run([*SACCTMGR, "show", "-n", "user", name], capture_output=True, check=False).stdout:
        words = ["add", "-i", "user", name, "DefaultAccount=root"]
        subprocess.run([*SACCTMGR, *words], check=True)
