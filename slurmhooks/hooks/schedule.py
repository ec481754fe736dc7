# SPDX-License-Identifier: GPL-2.0-or-later
"""The times at which the handlers of ``hook.every`` run."""

from __future__ import annotations

from slurmhooks.hooks.terms import seconds

SHORTEST, LONGEST = 10, 7 * 86400
"""Limits of a period, in seconds."""
AT_MOST = 10
"""How many actions a run may have by default."""


class Schedule:
    """When a handler runs, and how much one run may do.

    Attributes:
        period: in seconds. Runs begin at multiples of it since the epoch (UTC).
        at_most: number of users and of nodes on which a run may act, beyond which it takes no action; and of actions on
            the jobs of one user, or on one node, beyond which none of these is taken.
    """

    __slots__ = ("_text", "at_most", "period")

    def __init__(self, text: object, at_most: object = AT_MOST) -> None:
        """Store the values, which :meth:`faults` checks; the text is a number and its unit, such as "5m"."""
        value = seconds(text) if isinstance(text, str) and text.isascii() else 0
        self._text = text
        self.period: int = value if type(value) is int else 0
        self.at_most = at_most

    def faults(self) -> list[str]:
        """Return descriptions of invalid values."""
        faults = []
        if not SHORTEST <= self.period <= LONGEST:
            faults.append(f'the period is a number and a unit (s, m, h, d), from "10s" to "7d"; not {self._text!r}')
        if type(self.at_most) is not int or self.at_most < 1:
            faults.append(f"at_most takes a number from 1, not {self.at_most!r}")
        return faults

    def slot(self, now: float) -> int:
        """Return the number of the last time at which a run was due, at a time in seconds since the epoch."""
        return int(now // self.period)

    def next(self, now: float) -> float:
        """Return when the next run is due, in seconds since the epoch."""
        return float((self.slot(now) + 1) * self.period)

    def wait(self, due: float, now: float) -> float:
        """Return the seconds until the next look at a run that is due at a time; 0 if it is due.

        That is at most a period, because the clock may be put back meanwhile. A run that seems to be further away than
        two periods is due: :meth:`next` cannot have said that.
        """
        return min(due - now, float(self.period)) if now < due <= now + 2 * self.period else 0.0
