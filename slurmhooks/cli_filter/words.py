# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of a command line behind its options: the program or script, and its arguments.

Slurm has them as an array, and hands out its words only joined with blanks; which blanks are in words, the process's
own command line tells.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SEPARATOR = ":"
"""Stands between the components of a heterogeneous job on srun's command line."""


def of_process() -> list[str]:
    """Return the command line of this process."""
    with open("/proc/self/cmdline", "rb") as file:
        raw = file.read()
    return [word.decode("utf-8", "surrogateescape") for word in raw.split(b"\0")[:-1]]


def split(joined: str | None, command_line: Sequence[str]) -> tuple[str, ...]:
    """Return the words that Slurm has joined.

    Args:
        joined: with a blank before each word; None if there is none. The first one may have its full path.
        command_line: of the process.
    """
    if not joined:
        return ()
    joined = joined.removeprefix(" ")
    for end in range(len(command_line), 1, -1):
        for start in range(1, end):
            rest = command_line[start + 1 : end]
            behind = "".join(f" {word}" for word in rest)
            first = joined.removesuffix(behind)
            if first + behind == joined and _is_same(first, command_line[start]):
                return (first, *rest)
    return tuple(joined.split(" "))


def _is_same(first: str, word: str) -> bool:
    """Tell whether the first word is one of the command line, or its full path."""
    return first == word or (first.startswith("/") and first.endswith(f"/{word.removeprefix('./')}"))


def of_component(command_line: Sequence[str], index: int, component: int) -> tuple[str, ...]:
    """Return the words of a component, for a release of Slurm that does not tell them.

    Args:
        command_line: of the process.
        index: getopt's, within the component.
        component: which of the command line, from 0.
    """
    starts = [0, *(at for at, word in enumerate(command_line) if word == SEPARATOR)]
    start = starts[min(component, len(starts) - 1)]
    words = command_line[start + index :]
    return tuple(words[: words.index(SEPARATOR)] if SEPARATOR in words else words)
