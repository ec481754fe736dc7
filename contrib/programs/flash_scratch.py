#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Make, fill, save and remove the folder of a job, as root; contrib/examples/flash_scratch.py calls it by sudo.

Files are copied with the rights of the job's user, who names the folders.
"""

import os
import pwd
import sys
import threading
from pathlib import Path

from slurmhooks.scrun import StagingError, copy_tree, remove_tree

POOL = Path("/flash")
"""Belongs to root, and only root writes to it; the nodes have it, too."""


def end_with_parent() -> None:
    """End this process when its parent ends, which then no longer holds standard input."""
    os.read(0, 1)
    os._exit(1)


def make(folder: Path, uid: int, gid: int) -> None:
    """Make the folder of a job, and give it to the job's user."""
    folder.mkdir(0o700, exist_ok=True)
    if folder.stat().st_uid not in (0, uid):
        raise StagingError(f"{folder} is there, and has files of another user")  # of an earlier job with this id
    os.chown(folder, uid, gid)


def become_owner(folder: Path) -> None:
    """Become the user of a job, for good."""
    status = folder.stat()
    if status.st_uid == 0:
        raise StagingError(f"{folder} belongs to root, with whose rights nothing is copied")
    os.setgroups(os.getgrouplist(pwd.getpwuid(status.st_uid).pw_name, status.st_gid))
    os.setgid(status.st_gid)
    os.setuid(status.st_uid)


def main(action: str, job: str, *words: str) -> None:
    """Do one step; it may have been done, or begun, before."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    folder = POOL / f"{int(job)}"
    match action, words:
        case "make", (uid, gid):
            make(folder, int(uid), int(gid))
        case "copy_in", (source,):
            become_owner(folder)
            copy_tree(source, folder)
        case "copy_out", (target,):
            become_owner(folder)
            copy_tree(folder, target)
        case "remove", ():
            remove_tree(folder)
        case _:
            raise StagingError(f"no such action: {action} with {len(words)} words")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, StagingError) as error:
        sys.exit(str(error))
