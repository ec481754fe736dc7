# SPDX-License-Identifier: GPL-2.0-or-later
"""The revision of a folder that is a checkout of a repository."""

import os
import subprocess
from pathlib import Path

from slurmhooks.errors import LoadError
from slurmhooks.files import trusted

CONFIGURATIONS = ("config", "config.worktree")


def revision(folder: Path) -> str | None:
    """Return what git calls the revision of a folder, with "-dirty" if files were changed.

    git runs programs that the configuration of a repository names. It refuses a repository that belongs to another
    user, and this function one whose configuration another user could have written.

    Returns:
        the revision; None if the folder is no checkout, or belongs to one that is refused.
    """
    places = _git(folder, "rev-parse", "--git-common-dir", "--git-dir").splitlines()
    # As git, which trusts who has called sudo.
    caller = os.environ.get("SUDO_UID", "") if os.getuid() == 0 else ""
    trusted.guard(*([int(caller)] if caller.isdecimal() else []))
    try:
        for place in places:
            for name in CONFIGURATIONS:
                trusted.check(str(folder.absolute() / place / name))
    except LoadError:
        return None
    finally:
        trusted.guard()
    return _git(folder, "describe", "--always", "--dirty", "--abbrev=12").strip() or None if places else None


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
