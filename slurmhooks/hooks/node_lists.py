# SPDX-License-Identifier: GPL-2.0-or-later
"""The one reader of Slurm's lists of nodes, and lists as health checks name them, in which ``*`` is any characters.

Without ``re``: a list is checked when the decorator runs, so in each process that loads the hook file, also in srun and
slurmstepd, where the import of ``re`` would take as long as Python itself.
"""

from __future__ import annotations

Range = tuple[int, int, int]
"""First number, last number, and the width to which zeros pad them."""
MOST_DIGITS = 18
"""Of a number: so that no number is longer than those of C."""


class NodeList:
    """A list such as ``gpu[01-16],viz*``."""

    def __init__(self, text: str) -> None:
        """Parse the list.

        Raises:
            ValueError: it is not such a list, or a part of it cannot be the name of any node.
        """
        words = [word.strip() for word in words_of(text)]
        for word in words:
            # Slurm takes n[1-] for n1, but who writes it means something else.
            if not word or not word.isprintable() or any(wrong in word for wrong in (" ", "-,", "-]")):
                raise ValueError(f"not a node list: {word!r}")
        self._words = [pieces_of(word) for word in words]

    def has(self, name: str) -> bool:
        """Tell whether a node is in the list."""
        return any(_fits(name, word) for word in self._words)


def words_of(text: str) -> list[str]:
    """Split a list at the commas that are not in brackets."""
    words: list[str] = []
    for part in text.split(","):
        if words and words[-1].rfind("[") > words[-1].rfind("]"):
            words[-1] += f",{part}"
        else:
            words.append(part)
    return words


def pieces_of(word: str) -> list[str | list[Range]]:
    """Return the parts of a word: texts and, between each two of them, the ranges of brackets.

    Raises:
        ValueError: the brackets do not match, or something in them is not a range.
    """
    first, *rest = word.split("[")
    pieces: list[str | list[Range]] = [first]
    for each in rest:
        body, bracket, after = each.partition("]")
        if not bracket:
            raise ValueError(f"not a node list: {word!r}; brackets do not match")
        pieces += [[_range(item, word) for item in body.split(",")], after]
    if any(isinstance(piece, str) and "]" in piece for piece in pieces):
        raise ValueError(f"not a node list: {word!r}; brackets do not match")
    return pieces


def _range(item: str, word: str) -> Range:
    """Read a number or a range; one without an end is its first number."""
    first, _, last = item.partition("-")
    last = last or first
    digits = first.isdecimal() and last.isdecimal() and item.isascii() and max(len(first), len(last)) <= MOST_DIGITS
    if not digits or int(first) > int(last):
        raise ValueError(f"not a node list: {word!r}; {item!r} is not a range")
    return int(first), int(last), len(first)


def _fits(name: str, pieces: list[str | list[Range]]) -> bool:
    """Tell whether a name is made of these parts."""
    if not pieces:
        return not name
    piece, rest = pieces[0], pieces[1:]
    if isinstance(piece, str):
        start, star, after = piece.partition("*")
        if not name.startswith(start):
            return False
        name = name[len(start) :]
        if not star:
            return _fits(name, rest)
        return any(_fits(name[place:], [after, *rest]) for place in range(len(name) + 1))
    digits = len(name) - len(name.lstrip("0123456789"))
    return any(_is_in(name[:size], piece) and _fits(name[size:], rest) for size in range(1, digits + 1))


def _is_in(digits: str, ranges: list[Range]) -> bool:
    number = int(digits)
    return any(first <= number <= last and digits == str(number).zfill(width) for first, last, width in ranges)
