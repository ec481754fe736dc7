# SPDX-License-Identifier: GPL-2.0-or-later
"""Give each step a private TMPDIR on each of its nodes, and remove it when the step has ended."""

import os

from slurmhooks import hook
from slurmhooks.types import Spank

place = ""  # set in slurmstepd, from which the tasks are forked


@hook.spank.user_init
def make(spank: Spank) -> None:
    """Runs as the user. Nobody can guess the name, so nobody can create the folder first."""
    global place
    place = f"/tmp/job-{spank.job_id}-{os.urandom(8).hex()}"
    os.mkdir(place, 0o700)


@hook.spank.task_init
def use(spank: Spank) -> None:
    """Runs in each task, just before its program."""
    spank.env["TMPDIR"] = place


@hook.spank.exit(contexts="remote")
def remove(spank: Spank) -> None:
    """Runs as root, when all tasks have ended; rmtree does not follow links."""
    from shutil import rmtree  # here, because each step would pay for an import at the top

    if place:
        rmtree(place, ignore_errors=True)
