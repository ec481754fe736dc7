# SPDX-License-Identifier: GPL-2.0-or-later
"""Give each job a /tmp and a /var/tmp of its own on each node, and remove them when the job has ended."""

import os

from slurmhooks import hook, namespaces
from slurmhooks.types import Spank

PRIVATE = {"/tmp": "tmp", "/var/tmp": "var-tmp"}
BASE = "/scratch/private"  # of root, and nobody else may write to it: root makes and removes folders in it
shared = hook.spank.option("shared-tmp", usage="[private_mounts] use the /tmp that all jobs of a node share")


@hook.spank.job_prolog
def make(spank: Spank) -> None:
    """Runs once on each node, with the options, which extern steps do not have."""
    if not shared.given:
        folder = f"{BASE}/{spank.job_id}-{os.urandom(8).hex()}"  # a requeued job has the same number
        spank.state["folder"] = folder
        for name in PRIVATE.values():
            os.makedirs(f"{folder}/{name}", 0o700)
            os.chown(f"{folder}/{name}", spank.job_uid, spank.job_gid)


@hook.spank.init_post_opt(contexts="remote")
def mount(spank: Spank) -> None:
    """Runs in each slurmstepd, from which all processes of the step are forked; also in the extern step."""
    if "folder" in spank.state:
        namespaces.unshare("mnt")
        for path, name in PRIVATE.items():
            namespaces.bind(f"{spank.state['folder']}/{name}", path)


@hook.spank.job_epilog
def remove(spank: Spank) -> None:
    """Runs when all steps have ended; the mounts are gone with their processes."""
    if "folder" in spank.state:
        from shutil import rmtree  # here, because each step would pay for an import at the top

        rmtree(spank.state["folder"])
