# SPDX-License-Identifier: GPL-2.0-or-later
"""Node lists."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from slurmhooks.job_submit.strings.notation import NotationError

NODE_WORD = re.compile(r"(?:[^\s,\[\]]|\[[^\[\]]*\])+")
BRACKET = re.compile(r"\[([^\[\]]*)\]")
RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
NODE_NAME = re.compile(r"(.*?)(\d{0,18})", re.DOTALL | re.ASCII)
MOST_NODES = 64 * 1024
"""MAX_SLURM_NODES of slurm.h."""


def expand_nodes(text: str | None) -> list[str]:
    """Return the names of a node list, in the order of ``scontrol show hostnames``: ``n[01-03,7],gpu1``.

    Raises:
        NotationError: it is none, or has more nodes than Slurm can have (65536).
    """
    text = text or ""
    if re.search(r"[\[\]]", BRACKET.sub("", text)):
        raise NotationError(f"not a node list: {text!r}; brackets do not match", code="ESLURM_INVALID_NODE_NAME")
    names = itertools.chain.from_iterable(map(_expand_word, NODE_WORD.findall(text)))
    found = list(itertools.islice(names, MOST_NODES + 1))
    if len(found) > MOST_NODES:  # users write them, and slurmctld must not make them all
        raise NotationError(f"more than {MOST_NODES} nodes: {text!r}", code="ESLURM_INVALID_NODE_NAME")
    return found


def _expand_word(word: str) -> Iterator[str]:
    parts = BRACKET.split(word)
    fixed, ranges = parts[::2], [_expand_range(body, word) for body in parts[1::2]]
    if not ranges:
        yield word
        return
    # Slurm counts the last bracket fastest, then the first, the second and so on.
    *outer, last = ranges
    for chosen in itertools.product(*reversed(outer)):
        for number in last:
            yield "".join(itertools.chain(*itertools.zip_longest(fixed, [*reversed(chosen), number], fillvalue="")))


def _expand_range(body: str, word: str) -> list[str]:
    found = []
    for item in body.split(","):
        match = RANGE.fullmatch(item)
        first, last = match.groups() if match else ("", "")
        if not match or int(last or first) < int(first) or int(last or first) - int(first) >= MOST_NODES:
            raise NotationError(f"not a node list: {word!r}; {item!r} is no range", code="ESLURM_INVALID_NODE_NAME")
        found += [f"{number:0{len(first)}d}" for number in range(int(first), int(last or first) + 1)]
    return found


def collapse_nodes(names: Iterable[str]) -> str:
    """Return a node list of names, as ``scontrol show hostlist``: neighbours are joined, the order stays."""
    words: list[str] = []
    # A name without a number at its end is a word of its own, also beside one that only adds a number.
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
    assert match is not None  # everything matches
    return match.group(1), match.group(2)


def _ranges(digits: list[str]) -> Iterator[tuple[str, str]]:
    """Join what follows each other; as hostlist.c, of numbers whose widths can be the same."""
    start = end = digits[0]
    for number in digits[1:]:
        if int(number) != int(end) + 1 or not _widths_agree(start, number):
            yield start, end
            start = number
        end = number
    yield start, end


def _widths_agree(one: str, other: str) -> bool:
    """Tell whether two numbers have the same zeros in front when they are written with the same width."""

    def zeros(number: str, width: int) -> int:
        return max(0, width - len(str(int(number))))

    first = zeros(one, len(one)) == zeros(one, len(other))
    return first or zeros(other, len(other)) == zeros(other, len(one))
