# SPDX-License-Identifier: GPL-2.0-or-later
"""The revision of a folder that is a checkout of a repository."""

import subprocess
from pathlib import Path


def revision(folder: Path) -> str | None:
    """Return what git calls the revision of a folder, with "-dirty" if files were changed; None if it is no checkout.

    git itself refuses a repository of another user, whose configuration could name programs.
    """
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
