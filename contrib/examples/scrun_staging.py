# SPDX-License-Identifier: GPL-2.0-or-later
"""Stage containers to a file system that the job's nodes share, and remove them when they have ended."""

import os

from slurmhooks import Reject, hook
from slurmhooks.scrun import Staging, copy_tree, remove_tree, rootless
from slurmhooks.types import Container

SHARED = "/shared/containers"


@hook.scrun.stage_in
def stage_in(container: Container) -> None:
    """Give the job a copy of the bundle whose configuration a rootless runtime accepts."""
    config = container.config
    if config.root is None:
        raise Reject("the bundle has no root file system")
    source = os.path.join(container.bundle, config.root.path)
    with Staging(f"{SHARED}/{container.user_id}-{container.id}") as place:
        config.root.path = f"{place}/rootfs"
        copy_tree(source, config.root.path)
        rootless(config, user_id=container.user_id, group_id=container.group_id)
        container.bundle = place
        container.root_path = config.root.path
        container.save_config()


@hook.scrun.stage_out
def stage_out(container: Container) -> None:
    """Runs even if stage_in has failed, and then with the bundle that the user gave."""
    if container.bundle != container.orig_bundle:
        remove_tree(container.bundle)
