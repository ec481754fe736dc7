# SPDX-License-Identifier: GPL-2.0-or-later
"""Convert node lists."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from slurmhooks.hooks.node_lists import Range, pieces_of, words_of
from slurmhooks.job_submit.strings.notation import NotationError

NODE_NAME = re.compile(r"(.*?)(\d{0,18})", re.DOTALL | re.ASCII)
MOST_NODES = 64 * 1024
"""MAX_SLURM_NODES of slurm.h."""
LONGEST_NAME = 255
"""_POSIX_HOST_NAME_MAX of limits.h, in characters."""


def expand_nodes(text: str | None) -> list[str]:
    """Return the names in a node list such as ``n[01-03,7],gpu1``, in the order of ``scontrol show hostnames``.

    Raises:
        NotationError: the text is not a node list, has more than 65536 nodes (the most that Slurm supports), or a name
            of more than 255 characters.
    """
    if not text:
        return []
    # Users write node lists, so count the names before making them.
    words = [_Word(word) for part in text.split() for word in words_of(part) if word]
    if sum(word.count for word in words) > MOST_NODES:
        raise NotationError(f"more than {MOST_NODES} nodes: {text!r}", code="ESLURM_INVALID_NODE_NAME")
    return [name for word in words for name in word.names()]


class _Word:
    """One or several names: ``n[01-03,7]-ib``.

    Attributes:
        count: the number of names.
    """

    def __init__(self, text: str) -> None:
        """Parse a text without making the names.

        Raises:
            NotationError: the text is invalid, has more than 65536 names, or a name of more than 255 characters.
        """
        try:
            pieces = pieces_of(text)
        except ValueError as error:
            raise NotationError(str(error), code="ESLURM_INVALID_NODE_NAME") from error
        self._fixed = [piece for piece in pieces if isinstance(piece, str)]
        self._brackets = [piece for piece in pieces if not isinstance(piece, str)]
        longest = sum(map(len, self._fixed)) + sum(max(map(_width, bracket)) for bracket in self._brackets)
        if longest > LONGEST_NAME:
            raise NotationError(
                f"not a node list: {text!r}; a name has more than {LONGEST_NAME} characters",
                code="ESLURM_INVALID_NODE_NAME",
            )
        self.count = 1
        for bracket in self._brackets:
            self.count *= sum(last - first + 1 for first, last, _ in bracket)
            if self.count > MOST_NODES:
                raise NotationError(f"more than {MOST_NODES} nodes: {text!r}", code="ESLURM_INVALID_NODE_NAME")

    def names(self) -> Iterator[str]:
        if not self._brackets:
            yield self._fixed[0]
            return
        # In Slurm's order the last bracket varies fastest, then the first, the second and so on.
        *outer, last = [_numbers(bracket) for bracket in self._brackets]
        before, after = self._fixed[:-1], self._fixed[-1]
        for chosen in itertools.product(*reversed(outer)):
            start = "".join(itertools.chain(*itertools.zip_longest(before, reversed(chosen), fillvalue="")))
            for number in last:
                yield f"{start}{number}{after}"


def _width(numbers: Range) -> int:
    _, last, width = numbers
    return max(width, len(str(last)))


def _numbers(ranges: list[Range]) -> list[str]:
    return [f"{number:0{width}d}" for first, last, width in ranges for number in range(first, last + 1)]


def collapse_nodes(names: Iterable[str]) -> str:
    """Return a node list of names, as ``scontrol show hostlist``: joins neighbours and keeps the order."""
    words: list[str] = []
    # A name without a number at its end is not joined with others.
    for (prefix, numbered), group in itertools.groupby(map(_node_name, names), lambda name: (name[0], name[1] != "")):
        digits = [number for _, number in group]
        if not numbered:
            words += [prefix] * len(digits)
            continue
        joined = ",".join(first if first == last else f"{first}-{last}" for first, last in _ranges(digits))
        words.append(f"{prefix}{joined}" if len(digits) == 1 else f"{prefix}[{joined}]")
    return ",".join(words)


def _node_name(name: str) -> tuple[str, str]:
    match = NODE_NAME.fullmatch(name)
    assert match is not None  # every text matches
    return match.group(1), match.group(2)


def _ranges(digits: list[str]) -> Iterator[tuple[str, str]]:
    """Join consecutive numbers to ranges, as hostlist.c does: only numbers whose widths agree."""
    start = end = digits[0]
    for number in digits[1:]:
        if int(number) != int(end) + 1 or not _widths_agree(start, number):
            yield start, end
            start = number
        end = number
    yield start, end


def _widths_agree(one: str, other: str) -> bool:
    """Return whether two numbers have the same number of leading zeros when one has the width of the other."""

    def zeros(number: str, width: int) -> int:
        return max(0, width - len(str(int(number))))

    first = zeros(one, len(one)) == zeros(one, len(other))
    return first or zeros(other, len(other)) == zeros(other, len(one))
