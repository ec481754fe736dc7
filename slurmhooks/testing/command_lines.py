# SPDX-License-Identifier: GPL-2.0-or-later
"""Read command lines of srun, sbatch, salloc and scrontab, with options of SPANK plugins, as getopt_long() does."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slurmhooks.testing.option_names import FLAGS, NAMES, OPTIONAL, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slurmhooks.option import Option

NONE, REQUIRED, OMITTABLE = 0, 1, 2
"""As has_arg of getopt_long()."""


class CommandLineError(ValueError):
    """The command would refuse its command line."""


@dataclass
class CommandLine:
    """A command line.

    Attributes:
        options: the command's own options by long name, each with its argument; None if it has none.
        spank: the same for options of SPANK plugins; of several arguments the last one.
        spank_each: all arguments of an option of a SPANK plugin, in order.
        rest: the words after the options.
    """

    options: dict[str, str | None] = field(default_factory=dict)
    spank: dict[str, str | None] = field(default_factory=dict)
    spank_each: dict[str, list[str | None]] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)


def read(command: str, words: Sequence[str], options: Iterable[Option]) -> CommandLine:
    """Return the parts of a command line.

    Args:
        command: ``srun``, ``sbatch``, ``salloc`` or ``scrontab``.
        words: the words after the command's name.
        options: of SPANK plugins.

    Raises:
        CommandLineError: the command has no such option, or it lacks its argument, or takes none.
    """
    plugins = {option.name: option.has_arg for option in options}
    line = CommandLine()
    rest = deque(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.popleft()
        if word == "--":
            break
        if word.startswith("--"):
            given, equals, text = word[2:].partition("=")
            name = _resolve(command, given, plugins)
            has_arg = plugins[name] if name in plugins else takes(command, name)
            value = text if equals else None
            if value is not None and has_arg == NONE:
                raise CommandLineError(f"--{name} takes no argument")
            if value is None and has_arg == REQUIRED:
                value = _next(f"--{name}", rest)
            (line.spank if name in plugins else line.options)[name] = value
            if name in plugins:
                line.spank_each.setdefault(name, []).append(value)
        else:
            _letters(command, word[1:], rest, line)
    line.rest = list(rest)
    return line


def _resolve(command: str, given: str, plugins: Iterable[str]) -> str:
    names = [*NAMES[command], *plugins]
    found = [given] if given in names else [name for name in names if name.startswith(given)]
    if len(found) > 1:
        raise CommandLineError(f"--{given} is ambiguous: it may be --{', --'.join(sorted(found))}")
    if not found:
        added = ", ".join(f"--{name}" for name in plugins) or "no option"
        raise CommandLineError(f"{command} has no option --{given}; hook files add {added}")
    return found[0]


def _letters(command: str, letters: str, rest: deque[str], line: CommandLine) -> None:
    while letters:
        letter, letters = letters[0], letters[1:]
        name = short(command, letter)
        if name is None:
            raise CommandLineError(f"{command} has no option -{letter}")
        has_arg, value = takes(command, name), None
        if has_arg != NONE:
            value, letters = letters or None, ""
        if has_arg == REQUIRED and value is None:
            value = _next(f"-{letter}", rest)
        line.options[name] = value


def takes(command: str, name: str) -> int:
    """Return whether an option of a command takes an argument: NONE, REQUIRED or OMITTABLE."""
    if name in FLAGS or (name == "wait" and command == "sbatch"):
        return NONE
    return OMITTABLE if name in OPTIONAL else REQUIRED


def _next(option: str, rest: deque[str]) -> str:
    if not rest:
        raise CommandLineError(f"{option} needs an argument")
    return rest.popleft()
