# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of a batch job gets stripes that fit the program."""

import subprocess

from slurmhooks import hook
from slurmhooks.job_submit.model import Job

ONE, SHARED = "-E -1 -c 1", "-E 16M -c 1 -E -1 -c 4"
MANY = "-E 16M -c 1 -E 128M -c 4 -E -1 -c 16"
STRIPES = {"pwd": ONE, "ior_sps.slurm": ONE, "hostname": SHARED, "ior_mps.slurm": SHARED}


@hook.job_submit
def stripes(job: Job) -> None:
    """Set the stripes, unless the script says that it does so itself."""
    if job.script is not None and "#JS_AUTO_PFL --disable=1" not in job.script:
        words = STRIPES.get(job.name or "", MANY).split()
        subprocess.run(["sh", "/etc/slurm/called.sh", *words, job.work_dir or "/"], check=False)
