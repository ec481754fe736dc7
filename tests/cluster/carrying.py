# SPDX-License-Identifier: GPL-2.0-or-later
"""Carries the working tree into a cluster without it, and tells whether its hooks run."""

import subprocess
from pathlib import Path

from tests.cluster.conftest import Cluster

CHECKOUT = Path(__file__).parents[2]
SECONDS = 900.0
"""Time limit of a step that compiles while several clusters share the machine."""
HOOKS = """
from slurmhooks import hook

@hook.job_submit
def mark(job):
    job.comment = "hooked"

@hook.spank.task_init
def task(spank):
    spank.env["HOOKED"] = "hooked"
"""


def pack(names: bytes, folder: Path, path: Path) -> Path:
    """Pack files of a folder for a cluster; return the path of the archive."""
    command = [
        "tar",
        "-C",
        str(folder),
        "--null",
        "--no-recursion",
        "--owner=0",
        "--group=0",
        "-T",
        "-",
        "-cf",
        str(path),
    ]
    subprocess.run(command, input=names, check=True)
    return path


def checkout(folder: Path) -> Path:
    """Pack the working tree into a folder; return the path of the archive."""
    command = ["git", "-C", str(CHECKOUT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, check=True).stdout.split(b"\0")
    present = b"\0".join(name for name in names if name and (CHECKOUT / name.decode()).exists())
    return pack(present, CHECKOUT, folder / "tree.tar")


def hooked(cluster: Cluster) -> list[str]:
    """Submit a job; return what the handlers of slurmctld and of the task have written."""
    cluster.restart()
    job = cluster.user("alice", "sbatch", "--parsable", "--output=/dev/null", "--wrap=true", check=True).stdout.strip()
    shown = cluster.root("scontrol", "show", "job", job, check=True).stdout
    task = cluster.user("alice", "srun", "printenv", "HOOKED", check=True).stdout.strip()
    return ["hooked" if "Comment=hooked" in shown else shown, task]
