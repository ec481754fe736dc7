# SPDX-License-Identifier: GPL-2.0-or-later
"""Give each job a /tmp and a /var/tmp of its own on each node, and remove them when the job has ended."""

import os

from slurmhooks import hook
from slurmhooks.types import Spank

PRIVATE = ("/tmp", "/var/tmp")
BASE = "/scratch/private"
"""Must belong to root, and no other user may write to it, because root creates and removes the folders in it."""

shared = hook.spank.option("shared-tmp", usage="[private_mounts] use the /tmp that all jobs of a node share")


def place(folder: str, name: str) -> str:
    """Return what a job has in place of a folder."""
    return f"{folder}/{name.strip('/').replace('/', '-')}"


@hook.spank.job_prolog
def make(spank: Spank) -> None:
    """Runs once on each node. It has the options, and leaves in the state what extern steps cannot know."""
    if shared.given:
        return
    folder = f"{BASE}/{spank.job_id}"
    remove_tree(folder)  # of a job of the same number, if the node has crashed before its epilog
    os.mkdir(folder, 0o700)
    for name in PRIVATE:
        os.mkdir(place(folder, name), 0o700)
        os.chown(place(folder, name), spank.job_uid, spank.job_gid)
    spank.state["folder"] = folder


@hook.spank.init_post_opt(contexts="remote")
def mount(spank: Spank) -> None:
    """Runs in each slurmstepd, from which all processes of the step are forked; also in the extern step."""
    from slurmhooks import namespaces  # here, because srun does not need it

    folder = spank.state.get("folder")
    if folder is not None:
        namespaces.unshare("mnt")
        for name in PRIVATE:
            namespaces.bind(place(folder, name), name)


@hook.spank.job_epilog
def remove(spank: Spank) -> None:
    """Runs when all steps have ended; the mounts are gone with their processes."""
    if "folder" in spank.state:
        remove_tree(spank.state["folder"])


def remove_tree(folder: str) -> None:
    """Remove a folder of this file, if it exists; rmtree does not follow links."""
    from shutil import rmtree

    if os.path.lexists(folder):
        rmtree(folder)
