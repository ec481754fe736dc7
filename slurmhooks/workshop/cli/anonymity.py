# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of people in a report, and what stands for them if they are left out."""

from __future__ import annotations

from collections.abc import Callable

Name = Callable[[str, str], str]
"""Returns what a report shows for a name, from its kind (user, account, job) and the name."""


def plain(kind: str, name: str) -> str:
    """Return the name itself."""
    return name


class Numbered:
    """Replaces names by numbers, which are the same within one report."""

    def __init__(self, kept: tuple[str, ...] = ()) -> None:
        """Begin with 1 for each kind; ``kept`` are no names of people, such as "(none named)"."""
        self._kept = kept
        self._known: dict[str, dict[str, int]] = {}

    def __call__(self, kind: str, name: str) -> str:
        """Return what stands for a name."""
        if name in self._kept:
            return name
        known = self._known.setdefault(kind, {})
        return f"{kind} {known.setdefault(name, len(known) + 1)}"
