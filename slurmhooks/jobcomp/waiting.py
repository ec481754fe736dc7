# SPDX-License-Identifier: GPL-2.0-or-later
"""What waits in the spool, for metrics. The collector asks, so that the numbers are right also if no worker runs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from slurmhooks.jobcomp.spool import Spool


class Waiting(NamedTuple):
    """What waits in a spool.

    Attributes:
        records: number of records that wait for delivery.
        oldest: when Slurm made the oldest of them, in seconds since the epoch; 0: none waits.
        dead: number of dead letters.
    """

    records: int = 0
    oldest: float = 0.0
    dead: int = 0


class Watched:
    """A spool that is looked at again and again."""

    def __init__(self, folder: str) -> None:
        """Read nothing yet; the folder need not exist."""
        self._spool = Spool(Path(folder))

    def look(self) -> Waiting:
        """Return what waits now.

        Raises:
            OSError: the spool cannot be read.
        """
        try:
            self._spool.refresh()
        except FileNotFoundError:  # there was no record yet
            return Waiting()
        times = [record.frame.time for record in self._spool.records()]
        return Waiting(len(times), min(times, default=0) / 1e9, self._spool.dead)
