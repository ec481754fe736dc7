# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts the files that a test writes in force without a deployment, which would refuse those with mistakes."""

import os
from pathlib import Path

from slurmhooks.files import home


def put_in_force(folder: Path) -> Path:
    """Let a folder of slurm.conf, or a home, be its own set in force; return the folder.

    So processes that start later also get what the test changes meanwhile, and messages name what it has written.
    """
    pointer = folder / home.SET
    if not os.path.lexists(pointer):
        pointer.symlink_to(folder)
    return folder
