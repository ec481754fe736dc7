# SPDX-License-Identifier: GPL-2.0-or-later
"""Stage containers to a shared file system and back, like the long scrun.lua in scrun(1).

Set SCRATCH to a folder that the job's nodes share and in which users may create folders. Each container gets its own
bundle there, with a copy of its root file system; changes of the container are copied back when it has ended.
"""

import glob
import os

from slurmhooks import hook, log
from slurmhooks.scrun import (
    Staging,
    copy_binds,
    copy_tree,
    merge_environment,
    remove_tree,
    return_binds,
    rootless,
)

SCRATCH = "/run/user/{uid}/slurm/scrun"
NOT_STAGED = ("sys", "sys/*", "proc", "proc/*")

binds = []  # both functions run in one process, which has one container


@hook.scrun.stage_in
def stage_in(container):
    """Make a private bundle that a rootless runtime accepts."""
    config = container.config
    source = os.path.join(container.bundle, config.root.path)
    with Staging(os.path.join(SCRATCH.format(uid=container.user_id), container.id)) as place:
        rootfs = os.path.join(place, "rootfs")
        done = copy_tree(source, rootfs, exclude=NOT_STAGED, unreadable="skip")
        for name in ("proc", "sys"):  # not copied, because they may be in use, but needed as mount points
            os.makedirs(os.path.join(rootfs, name), exist_ok=True)
        config.root.path = rootfs
        rootless(config, user_id=container.user_id, group_id=container.group_id)
        binds[:] = copy_binds(config, rootfs)
        merge_environment(config, container.job_env)
        container.bundle = place
        container.root_path = rootfs
        container.save_config()
    log.info("staged in", container=container.id, copied=done)


@hook.scrun.stage_out
def stage_out(container):
    """Copy back what the container changed, then remove its bundle; if copying fails, the bundle stays."""
    if container.bundle == container.orig_bundle:
        log.info("nothing was staged, so nothing is staged out", container=container.id)
        return
    return_binds(binds, container.root_path)
    copies = [glob.escape(bind.destination.strip("/")) for bind in binds]
    hidden = (*NOT_STAGED, *copies, *(f"{name}/*" for name in copies))
    done = copy_tree(container.root_path, container.orig_root_path, exclude=hidden, update=True, delete=True)
    remove_tree(container.bundle)
    log.info("staged out", container=container.id, copied=done)
