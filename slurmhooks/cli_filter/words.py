# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of a command line after its options: the program or script, and its arguments.

Slurm has them as an array, but returns them only joined with blanks; the command line of the process shows which blanks
belong to words.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SEPARATOR = ":"
"""Separates the components of a heterogeneous job on srun's command line."""


def of_process() -> list[str]:
    """Return the command line of this process."""
    with open("/proc/self/cmdline", "rb") as file:
        raw = file.read()
    return [word.decode("utf-8", "surrogateescape") for word in raw.split(b"\0")[:-1]]


def split(joined: str | None, command_line: Sequence[str]) -> tuple[str, ...]:
    """Return the words that Slurm has joined.

    Args:
        joined: the words, with a blank before each; None if there are none. The first word may have its full path.
        command_line: of the process.
    """
    if not joined:
        return ()
    joined = joined.removeprefix(" ")
    separators = [at for at, word in enumerate(command_line) if word == SEPARATOR]
    parts = zip([0, *separators], [*separators, len(command_line)], strict=True)
    # The arguments of a batch script may have a separator, too.
    for begin, end in [(0, len(command_line)), *reversed(list(parts))]:
        words = _within(joined, command_line, begin, end)
        if words:
            return words
    return tuple(joined.split(" "))


def _within(joined: str, command_line: Sequence[str], begin: int, end: int) -> tuple[str, ...]:
    """Return the words if a part of the command line ends with them, otherwise an empty tuple.

    The run time is linear in the lengths, because users have command lines of many thousand words.
    """
    longest: tuple[int, int] | None = None
    size = len(joined)  # of the text that has not been matched yet
    for start in range(end - 1, begin, -1):
        word = command_line[start]
        if _is_first(joined, size, word):
            longest = start, size
        if not joined.endswith(f" {word}", 0, size):
            break
        size -= len(word) + 1
    return () if longest is None else (joined[: longest[1]], *command_line[longest[0] + 1 : end])


def _is_first(joined: str, size: int, word: str) -> bool:
    """Tell whether the first ``size`` characters are a word of the command line, or its full path."""
    if size == len(word) and joined.startswith(word):
        return True
    return joined.startswith("/") and joined.endswith(f"/{word.removeprefix('./')}", 0, size)


def of_component(command_line: Sequence[str], index: int, component: int) -> tuple[str, ...]:
    """Return the words of a component, for a release of Slurm that does not give them.

    ``index`` is getopt's, within the component; ``component`` counts from 0.
    """
    starts = [0, *(at for at, word in enumerate(command_line) if word == SEPARATOR)]
    start = starts[min(component, len(starts) - 1)]
    words = command_line[start + index :]
    return tuple(words[: words.index(SEPARATOR)] if SEPARATOR in words else words)
