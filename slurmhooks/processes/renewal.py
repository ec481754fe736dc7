# SPDX-License-Identifier: GPL-2.0-or-later
"""A process that lives for long becomes that of the new release if slurmhooks is replaced under it."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from slurmhooks import identity

if TYPE_CHECKING:
    from collections.abc import Callable

SETTLED = 1.0
"""Seconds without a change after which slurmhooks is no longer being replaced."""


class Release:
    """The sources that this process began with. What it imports later would not fit them if they are others by then."""

    def __init__(self) -> None:
        self._sources = _sources()

    def renew(self, say: Callable[[str], object]) -> None:
        """Start the program of this process anew, with the same arguments, if slurmhooks has been replaced.

        Locks must not be held. If it is being replaced, this waits until that is done.
        """
        while (found := _sources()) != self._sources:
            time.sleep(SETTLED)
            if found is not None and found == _sources():
                say("slurmhooks was replaced: its new release goes on")
                os.execv(sys.executable, sys.orig_argv)


def _sources() -> str | None:
    """Return the hash of the sources; None while they cannot be read."""
    try:
        return identity.here()
    except OSError:
        return None
