# SPDX-License-Identifier: GPL-2.0-or-later
"""Which file of the site a process has begun to run last, so that another process can name it after its end."""

from __future__ import annotations

import os
from mmap import PAGESIZE, mmap

from slurmhooks.handlers import loader
from slurmhooks.log import visible


class LastFile:
    """Memory that a process and its forked child share; the child may write anything there."""

    def __init__(self) -> None:
        """Create the memory, which processes that are forked from now on share."""
        self._memory = mmap(-1, PAGESIZE)

    def follow(self) -> None:
        """Write down each file that this process loads from now on; for the child."""
        loader.begun = self._note

    def _note(self, name: str) -> None:
        raw = os.fsencode(name)[: PAGESIZE - 1] + b"\0"
        self._memory[: len(raw)] = raw

    def __str__(self) -> str:
        """Return the end of a sentence that names the file; empty if there is none.

        An earlier file may be at fault: it may have left a thread.
        """
        name = visible(os.fsdecode(self._memory[:].partition(b"\0")[0]))
        return f"; the last file that was begun is {name}" if name else ""
