# SPDX-License-Identifier: GPL-2.0-or-later
"""Give tasks a PBS_NODEFILE, which names each node of the job once for each of its CPUs there."""

import os
import re

from slurmhooks import hook
from slurmhooks.types import Spank

path = ""  # set in slurmstepd, from which the tasks are forked


def counts(text: str) -> list[int]:
    """Return the numbers of a text like 2(x3),4: 2, 2, 2, 4."""
    pairs = re.findall(r"(\d+)(?:\(x(\d+)\))?", text)
    return [int(number) for number, times in pairs for _ in range(int(times or 1))]


@hook.spank.user_init(on_error="ignore")
def make(spank: Spank) -> None:
    """Runs once in each step on each node, as the user, whose TMPDIR must not drain the node of a batch script."""
    global path
    from subprocess import check_output

    command = ["scontrol", "show", "hostnames", spank.env["SLURM_JOB_NODELIST"]]
    # Here only the effective id is the user's: without user= and group= the program could become root again.
    nodes = check_output(command, text=True, user=spank.job_uid, group=spank.job_gid).split()
    numbers = counts(spank.env["SLURM_JOB_CPUS_PER_NODE"])
    lines = [f"{node}\n" * number for node, number in zip(nodes, numbers, strict=True)]
    name = f"{spank.env.get('TMPDIR', '/tmp')}/nodes-{spank.job_id}-{os.urandom(8).hex()}"
    with open(name, "x") as file:
        path = name
        file.writelines(lines)


@hook.spank.task_init
def use(spank: Spank) -> None:
    """Runs in each task."""
    if path:
        spank.env["PBS_NODEFILE"] = path


@hook.spank.exit(contexts="remote")
def remove(spank: Spank) -> None:
    """Runs once in each step, as root; nobody else has a file with such a name."""
    if os.path.exists(path):
        os.unlink(path)
