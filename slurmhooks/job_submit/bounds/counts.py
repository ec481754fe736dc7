# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts of GPUs in one field of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from slurmhooks.job_submit.strings import Tres

GPU = "gres/gpu"


class Counts(NamedTuple):
    """Counts of GPUs by type in one field.

    A list may name a type several times: Slurm takes the last, or in some fields and releases the largest or the sum.

    Attributes:
        least: the smallest count of each type that it may take.
        most: the sum.
    """

    least: dict[str | None, int]
    most: dict[str | None, int]

    @classmethod
    def of(cls, tres: Tres, name: str = GPU) -> Counts:
        """Return the counts of a TRES in a list; those of zero count as not in the list, as in Slurm."""
        if not tres.items:
            return NO_GPUS
        least: dict[str | None, int] = {}
        most: dict[str | None, int] = {}
        for item in tres.items:
            if item.name == name and item.count:
                least[item.type] = min(item.count, least.get(item.type, item.count))
                most[item.type] = most.get(item.type, 0) + item.count
        return cls(least, most)

    def __bool__(self) -> bool:
        """Return whether the list has the TRES."""
        return bool(self.most)

    @property
    def fewest(self) -> int:
        """The least of all types together."""
        return sum(self.least.values())

    @property
    def total(self) -> int:
        """The most of all types together."""
        return sum(self.most.values())


NO_GPUS = Counts({}, {})
