# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the names that somebody who misspelt one may have meant.

Imports nothing: a handler may use a misspelt name after it has changed the root folder of its process, where difflib
cannot be imported.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_LENGTH = 64
"""Characters of a name that are compared: the name may come from a user."""
MIN_SIMILARITY = 0.7
"""Fraction of their characters that two similar names have in common."""
MIN_LENGTH = 3
"""Minimum number of characters of an abbreviation."""
MAX_NAMES = 3
"""Maximum number of names to return."""


def nearest(name: str, names: Iterable[str], least: float = MIN_SIMILARITY) -> str:
    """Return ``"; nearest: a, b"`` for existing names that are similar to an unknown one, or an empty text.

    So are those that it abbreviates, as ``uid`` does ``user_id``: they have its characters in order, and begin as it.
    """
    name = name[:MAX_LENGTH]
    places: dict[str, int] = {}
    for index, char in enumerate(name):
        places[char] = places.get(char, 0) | 1 << index
    likely = []
    for other in names:
        common = _common(places, len(name), other)
        likeness = 2 * common / (len(name) + len(other) or 1)
        if likeness >= least or (common == len(name) >= MIN_LENGTH and other[0] == name[0]):
            likely.append((-likeness, other))
    return f"; nearest: {', '.join(other for _, other in sorted(likely)[:MAX_NAMES])}" if likely else ""


def present(label: str) -> str:
    """Return a label as it is today: in 1.0.0, ready-made rules had the labels policies:NAME."""
    name = label.removeprefix("policies:")
    return label if name == label else f"rule:{name}"


def renamed(label: str) -> str:
    """Return what follows an unknown label in a finding if it has another name today, otherwise an empty text."""
    return "" if present(label) == label else f"; it is called {present(label)} now"


def _common(places: dict[str, int], size: int, other: str) -> int:
    """Return the length of the longest common subsequence of a name and another one.

    A bit of ``rest`` stands for each character of the name; it is 0 once the character belongs to the subsequence
    (Hyyrö, "Bit-parallel LCS-length computation revisited", 2004).

    ``places`` has the places of each character in the name, as bits; ``size`` is its length.
    """
    every = rest = (1 << size) - 1
    for char in other:
        match = rest & places.get(char, 0)
        rest = (rest + match | rest - match) & every
    return size - rest.bit_count()
