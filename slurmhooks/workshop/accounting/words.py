# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the command line of a job as accounting has it: the words with blanks between them, and no quotes.

A value with blanks looks like several words, and words like options of the command may belong to a value. What the line
leaves open is not guessed: such options are possible, not given.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from slurmhooks.cli_filter.command_options import ALIASES, NAMES, short
from slurmhooks.workshop.testing.options import command_lines
from slurmhooks.workshop.testing.options.command_lines import SEPARATOR, CommandLineError, Given

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PROGRAMS = ("sbatch", "srun", "salloc")
LOST = "?"
"""What a database writes for a character that it cannot store."""
_ANY = re.compile("")
_NO_OPTION = re.compile(r"[^-]|-?[0-9]")
_NEVER = re.compile(r"(?!)")
_CLOSED = """
    constraint core-spec cores-per-socket cpus-per-gpu cpus-per-task distribution exclusive gpus gpus-per-node
    gpus-per-socket gpus-per-task gres gres-flags hint licenses mem mem-per-cpu mem-per-gpu mincpus no-kill nodes
    ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres oom-kill-step partition
    reservation segment sockets-per-node thread-spec threads-per-core time time-min tmp wait-all-nodes
"""
FOLLOWED = {
    **dict.fromkeys(_CLOSED.split(), _NEVER),
    **dict.fromkeys(("array", "begin", "deadline", "dependency", "exclude", "signal"), _NO_OPTION),
}
"""How the word begins that may follow a blank in the value of an option; of other options, any word may follow. Slurm
refuses values with other blanks; test_import.py shows it."""
WRAP = "wrap"
"""Stands for a column with the commands of the script that --wrap made."""
COLUMNS = {
    "account": "Account",
    "chdir": "WorkDir",
    "comment": "Comment",
    "constraint": "Constraints",
    "job-name": "JobName",
    "qos": "QOS",
    "reservation": "Reservation",
    "wckey": "WCKey",
    "wrap": WRAP,
}
"""The columns of sacct that show where the value of an option ends."""

IGNORING = frozenset({"mail-type", "nice", "nodelist", "profile", "switches"})
"""Options that do not read all of a value with blanks; what they read depends on the release."""
_SHORT, _OPTIONS = 100, 1 << 14
"""Characters of options that are kept for the next lines, and their number."""
LONGEST_NAME = 256
"""Characters, and words, of an account or a wckey."""
LOWERED = ("account", "wckey")
"""The options whose values slurmctld writes in lower case."""


@dataclass
class SubmitLine:
    """A command line.

    Attributes:
        program: sbatch, srun or salloc; empty if it is none of them.
        given: the options that are certainly given, in order.
        possible: the long names of those that may be given, or have another value than that in ``given``.
        rest: the words after the options; None: not known.
        components: it may be the line of a heterogeneous job.
    """

    program: str = ""
    given: list[Given] = field(default_factory=list)
    possible: set[str] = field(default_factory=set)
    rest: list[str] | None = None
    components: bool = False


def read(text: str, columns: Mapping[str, str], *, plain: bool = False) -> SubmitLine:
    """Read a command line.

    The words have blanks between them. ``columns`` are what sacct says about the job. ``plain``: a word that begins
    like an option is one.
    """
    words = text.split(" ")
    program = os.path.basename(words[0])
    if program not in PROGRAMS:
        return SubmitLine()
    line = SubmitLine(program)
    values = _Values(text, columns)
    at, place = 1, len(words[0]) + 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            at += 1
            break
        count = _option(line, words, at, place, values, plain=plain)
        if count is None:
            line.possible |= {name for word in words[at:] for name in _options_in(program, word)}
            line.components = SEPARATOR in words[at:]
            line.possible |= {each.name for each in line.given if LOST in (each.text or "")}
            return line
        place += sum(map(len, words[at : at + count])) + count
        at += count
    line.rest = words[at:]
    line.components = line.rest[:1] == [SEPARATOR] or (program == "srun" and SEPARATOR in line.rest)
    line.possible |= {each.name for each in line.given if LOST in (each.text or "")}
    return line


def _option(line: SubmitLine, words: Sequence[str], at: int, place: int, values: _Values, *, plain: bool) -> int | None:
    """Read the option at a word; return the number of its words, None if it is uncertain. A user may write very many.

    ``line`` gets the option; ``place`` is where it begins in the text. ``plain``: a word that begins like an option is
    one.
    """
    match = _given(line.program, words[at : at + 2])
    if match is None:
        return None
    given, count = match
    last = given[-1]
    if last.text is None:
        line.given += given
        return count
    text, after = last.text, at + count
    start = place + sum(map(len, words[at:after])) + count - 1 - len(text)
    whole = values.whole(last.name, start, text, words[after : after + LONGEST_NAME])
    if whole is not None:
        line.given += [*given[:-1], Given(last.name, last.how, whole)]
        return count + whole.count(" ") - text.count(" ")
    line.given += given
    following = words[after : after + 1]
    goes_on = FOLLOWED.get(last.name, _NO_OPTION if plain else _ANY)
    if following and goes_on is not _NEVER and (not following[0] or goes_on.match(following[0])):
        line.possible.add(last.name)
        return None
    return count


NOT_LOOKED_FOR = -2


class _Values:
    """Where the values that sacct shows are in a command line: each is looked for once, however often it could be."""

    def __init__(self, text: str, columns: Mapping[str, str]) -> None:
        self._text = text
        self._columns = columns
        self._next: dict[str, int] = {}

    def whole(self, name: str, start: int, value: str, words: Sequence[str]) -> str | None:
        """Return the value of an option that goes on in the following words as its column says; None if it does not.

        ``start`` is where its value begins, ``value`` the value until the end of the word; ``words`` are those after
        it, as many as an account may have.
        """
        column = self._columns.get(COLUMNS.get(name, ""))
        if not column:
            return None
        if name in LOWERED and len(column) <= LONGEST_NAME:
            extra = column.count(" ") - value.count(" ")
            joined = " ".join([value, *words[: max(extra, 0)]])
            return joined if extra >= 0 and column in (joined, joined.lower()) else None
        place = self._next.get(name, NOT_LOOKED_FOR)
        if place == NOT_LOOKED_FOR or 0 <= place < start:
            place = self._next[name] = self._text.find(column, start)
        end = start + len(column)
        whole = place == start and len(column) >= len(value) and self._text[end : end + 1] in ("", " ")
        return column if whole else None


def _given(program: str, words: Sequence[str]) -> tuple[Sequence[Given], int] | None:
    """Return the options of one or two words, and how many they are; None if the command has no such option."""
    for count in (1, 2):
        tried = words[:count]
        given = (_read_short if sum(map(len, tried)) < _SHORT else _read)(program, *tried)
        if given is not None:
            return (given, count) if given and count <= len(words) else None
    return None


def _read(program: str, *words: str) -> tuple[Given, ...] | None:
    """Return the options of some words, of which there are none if one is unknown; None if an argument is missing."""
    unknown: list[str] = []
    try:
        given = command_lines.read(program, words, (), unknown).given
    except CommandLineError:
        return None
    return () if unknown else tuple(given)


_read_short = lru_cache(_OPTIONS)(_read)


def _options_in(program: str, word: str) -> Iterator[str]:
    """Yield the long names of the options that a word may give."""
    if word.startswith("--"):
        begin = word[2:].partition("=")[0]
        for name in NAMES[program]:
            if name.startswith(begin):
                yield ALIASES.get(name, name)
    elif word.startswith("-"):
        for letter in word[1:]:
            if (long := short(program, letter)) is not None:
                yield long
