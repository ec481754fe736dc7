# SPDX-License-Identifier: GPL-2.0-or-later
"""Make a scratch folder for each job in the prolog, and remove it in the epilog."""

import os

from slurmhooks import hook
from slurmhooks.types import Spank

SCRATCH = "/scratch"
"""Must belong to root, and no other user may write to it, because root creates and removes the folders in it."""


def folder(spank: Spank) -> str:
    """Return the scratch folder of a job."""
    return f"{SCRATCH}/{spank.job_id}"


@hook.spank.job_prolog
def make(spank: Spank) -> None:
    """A bug here drains the node, so no job runs without its scratch folder."""
    os.mkdir(folder(spank), 0o700)
    os.chown(folder(spank), spank.job_uid, spank.job_gid)


@hook.spank.job_epilog(on_error="ignore")
def remove(spank: Spank) -> None:
    """A bug here would also drain the node, which is worse than leaving files behind."""
    from shutil import rmtree

    if os.path.exists(folder(spank)):  # not on a node where no step of the job has run: it has no prolog
        rmtree(folder(spank))
