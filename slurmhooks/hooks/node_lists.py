# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of nodes as health checks name them: Slurm's, in which ``*`` stands for any characters.

Without ``re``: docs/decisions/node-lists.md says why.
"""

from __future__ import annotations

Range = tuple[int, int, int]
"""First number, last number, and the width to which zeros pad them."""


class NodeList:
    """A list such as ``gpu[01-16],viz*``."""

    def __init__(self, text: str) -> None:
        """Parse the list.

        Raises:
            ValueError: it is not such a list, or a part of it cannot be the name of any node.
        """
        self._words = [_pieces(word) for word in _split(text)]

    def has(self, name: str) -> bool:
        """Tell whether a node is in the list."""
        return any(_fits(name, word) for word in self._words)


def _split(text: str) -> list[str]:
    """Split a list at the commas that are not in brackets."""
    words: list[str] = []
    for part in text.split(","):
        if words and words[-1].rfind("[") > words[-1].rfind("]"):
            words[-1] += f",{part}"
        else:
            words.append(part.strip())
    return words


def _pieces(word: str) -> list[str | list[Range]]:
    """Return the parts of a word: texts, and the ranges of brackets."""
    if not word or not word.isprintable() or " " in word:
        raise ValueError(f"not a list of nodes: {word!r}")
    first, *rest = word.split("[")
    pieces: list[str | list[Range]] = [first]
    for each in rest:
        body, bracket, after = each.partition("]")
        if not bracket:
            raise ValueError(f"not a list of nodes: {word!r}")
        pieces += [[_range(item) for item in body.split(",")], after]
    if any(isinstance(piece, str) and "]" in piece for piece in pieces):
        raise ValueError(f"not a list of nodes: {word!r}")
    return pieces


def _range(item: str) -> Range:
    first, dash, last = item.partition("-")
    last = last if dash else first
    if not (first.isdecimal() and last.isdecimal() and item.isascii() and int(first) <= int(last)):
        raise ValueError(f"not a list of nodes: {item!r} is not a range")
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
