# SPDX-License-Identifier: GPL-2.0-or-later
"""Read command lines of srun, sbatch, salloc and scrontab, with options of SPANK plugins, as the commands do."""

from __future__ import annotations

import os
import shutil
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slurmhooks.cli_filter.command_options import ALIASES, FLAGS, NAMES, OF_COMPONENT, OPTIONAL, SAME, short
from slurmhooks.cli_filter.model import EARLY
from slurmhooks.hooks.option import inherited
from slurmhooks.workshop.testing.options.numbers import strtol
from slurmhooks.workshop.testing.options.variables import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slurmhooks.hooks.option import Option

NONE, REQUIRED, OMITTABLE = 0, 1, 2
"""As has_arg of getopt_long()."""
SEPARATOR = ":"
"""Separates the components of a heterogeneous job."""


class CommandLineError(ValueError):
    """The command would refuse its command line."""


@dataclass(frozen=True)
class Given:
    """An option that is given.

    Attributes:
        name: its long name.
        how: how it is written, for messages.
        text: its argument; None if it has none.
        plugin: it is one of a SPANK plugin.
        resets: a variable takes the option back, such as SBATCH_OVERCOMMIT=no.
    """

    name: str
    how: str
    text: str | None
    plugin: bool = False
    resets: bool = False


@dataclass
class CommandLine:
    """A command line: the options in order, the words after them, and whether "--" ends the options."""

    given: list[Given] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)
    ended: bool = False

    @property
    def options(self) -> dict[str, str | None]:
        """The command's own options by long name, each with its argument; None if it has none."""
        return texts(self.given, plugin=False)

    @property
    def spank(self) -> dict[str, str | None]:
        """The same for options of SPANK plugins."""
        return texts(self.given, plugin=True)


def texts(given: Iterable[Given], *, plugin: bool) -> dict[str, str | None]:
    """Return the options of the command or of SPANK plugins that are in force, by name."""
    result: dict[str, str | None] = {}
    for each in given:
        if each.resets:
            result.pop(each.name, None)
        elif each.plugin is plugin:
            result[each.name] = each.text
    return result


def each_text(given: Iterable[Given]) -> dict[str, list[str | None]]:
    """Return all arguments of each option of a SPANK plugin, in order, by name."""
    result: dict[str, list[str | None]] = {}
    for each in given:
        if each.plugin:
            result.setdefault(each.name, []).append(each.text)
    return result


def read(
    command: str,
    words: Sequence[str],
    options: Iterable[Option],
    unknown: list[str] | None = None,
) -> CommandLine:
    """Return the parts of a command line, up to the first word that is no option.

    ``words`` come after the command's name. A note on each unknown option is added to ``unknown``; None: such an option
    is an error.

    Raises:
        CommandLineError: the command has no such option, or it lacks its argument, or takes none.
    """
    plugins = {option.name: option.has_arg for option in options}
    line = CommandLine()
    rest = deque(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.popleft()
        if word == "--":
            line.ended = True
            break
        if word.startswith("--"):
            line.given += _long(command, word[2:], plugins, rest, unknown)
        else:
            line.given += _letters(command, word[1:], rest)
    line.rest = list(rest)
    return line


def read_components(
    command: str,
    words: Sequence[str],
    options: Sequence[Option],
    unknown: list[str] | None = None,
) -> list[CommandLine]:
    """Return the command lines of the components of a heterogeneous job; usually there is only one.

    The last one of sbatch and salloc has the words after all options, in srun each has its own. Arguments as for
    :func:`read`.
    """
    lines: list[CommandLine] = []
    rest = list(words)
    while True:
        line = read(command, rest, options, unknown)
        lines.append(line)
        own = line.rest.index(SEPARATOR) if SEPARATOR in line.rest and command == "srun" else 0
        if line.rest[own : own + 1] != [SEPARATOR] or (line.ended and not own):
            line.rest = [word for word in line.rest if word != SEPARATOR]
            return lines
        rest, line.rest = line.rest[own + 1 :], line.rest[:own]


def of_environment(command: str, environment: Mapping[str, str], options: Iterable[Option]) -> list[Given]:
    """Return the options that variables give to a command."""
    given = []
    for variable, name in VARIABLES[command]:
        text = environment.get(variable)
        if text is None:
            continue
        has_arg = takes(command, name)
        resets = has_arg == NONE and not is_set(text)
        given.append(Given(name, variable, (text or None) if has_arg == OMITTABLE else text, resets=resets))
    for option in options:
        variable = inherited("python", option.name)
        if (text := environment.get(variable)) is not None:
            # Slurm does not look at the text of one that takes no argument.
            given.append(Given(option.name, variable, text if option.has_arg else None, plugin=True))
    return given


def own_options(given: Sequence[Given]) -> list[tuple[str, str | None]]:
    """Return names and arguments of the command's own options, in the order of their setting."""
    kept = texts(given, plugin=False)
    return [(each.name, each.text) for each in given if each.name in kept and not (each.plugin or each.resets)]


def in_force(
    command: str,
    lines: Sequence[Sequence[Given]],
    variables: Sequence[Given],
    parts: Sequence[Sequence[Given]],
    component: int,
) -> list[Given]:
    """Return the options that are in force for a component of a heterogeneous job, in the order of their setting.

    sbatch reads all options of the command line, then, like other commands, those of each component: of the script, the
    environment and the command line. What a component does not give is that of the component before, except for
    resources.

    ``lines`` are the options of the script's components, ``variables`` those of the environment, ``parts`` those of the
    components of the command line.
    """
    given: list[Given] = []
    if command == "sbatch" and max(len(lines), len(parts)) > 1:
        for part in parts:  # options of SPANK plugins are not read then
            given = [*_inherited(given), *(each for each in part if not each.plugin)]
        parts = [[each for each in part if each.name not in EARLY[command]] for part in parts]
    for number in range(component + 1):
        here = lines[number] if number < len(lines) else []
        there = parts[min(number, len(parts) - 1)]
        given = [*_inherited(given), *here, *variables, *there]
    return given


def path_in_argv(script: str, parts: Iterable[Iterable[Given]], environment: Mapping[str, str], work_dir: str) -> str:
    """Return the path of a script that sbatch shows: it looks for it in the job's folder, then in those of PATH.

    It is the word itself if that begins with "." or "/", or if ``--chdir`` is given and nothing is found. A script that
    is not found in ``work_dir`` is taken for one of another machine.
    """
    if script.startswith((".", "/")):
        return script
    given = [each for part in parts for each in part if each.name == "chdir"]
    folder = os.path.join(work_dir, given[-1].text or "") if given else work_dir
    names = [os.path.join(place, script) for place in (folder, *environment.get("PATH", "").split(os.pathsep)) if place]
    return next((name for name in names if os.path.isfile(name)), script if given else names[0])


def sent_program(words: list[str], given: Iterable[Given], environment: Mapping[str, str]) -> list[str]:
    """Return the words after srun's options: with ``--bcast``, srun looks for the program, and shows its whole path."""
    names = texts(given, plugin=False)
    if not words or "bcast" not in names or "multi-prog" in names:
        return words
    return [shutil.which(words[0], path=environment.get("PATH")) or words[0], *words[1:]]


def takes(command: str, name: str) -> int:
    """Return whether an option of a command takes an argument: NONE, REQUIRED or OMITTABLE."""
    if name in FLAGS or (name == "wait" and command == "sbatch"):
        return NONE
    return OMITTABLE if name in OPTIONAL else REQUIRED


def _inherited(given: Iterable[Given]) -> list[Given]:
    return [each for each in given if each.name not in OF_COMPONENT]


def is_set(text: str) -> bool:
    """Tell whether a variable sets an option without an argument; another text resets it."""
    number, rest = strtol(text)
    return text == "" or text.lower() == "yes" or (number != 0 and not rest)


def _long(
    command: str,
    word: str,
    plugins: Mapping[str, int],
    rest: deque[str],
    unknown: list[str] | None,
) -> list[Given]:
    given, equals, argument = word.partition("=")
    value = argument if equals else None
    name = _resolve(command, given, plugins, required=unknown is None)
    if name is None:
        assert unknown is not None
        if value is None and rest and not rest[0].startswith("-") and rest[0] != SEPARATOR:
            value = rest.popleft()
        unknown.append(f"--{given}{'' if value is None else f'={value}'}: unknown here, ignored")
        return []
    has_arg = plugins[name] if name in plugins else takes(command, name)
    if value is not None and has_arg == NONE:
        raise CommandLineError(f"--{name} takes no argument")
    if value is None and has_arg == REQUIRED:
        value = _next(f"--{name}", rest)
    if has_arg == OMITTABLE and name not in plugins:
        value = value or None  # as slurm_process_option() does
    return [Given(ALIASES.get(name, name), f"--{name}", value, name in plugins)]


def _resolve(command: str, given: str, plugins: Iterable[str], *, required: bool) -> str | None:
    names = [*NAMES[command], *plugins]
    if given in names:
        return given
    matches = [name for name in names if name.startswith(given)]
    if len({SAME.get(name, name) for name in matches}) > 1:
        raise CommandLineError(f"--{given} is ambiguous: it may be --{', --'.join(sorted(matches))}")
    if not matches and required:
        added = ", ".join(f"--{name}" for name in plugins) or "no option"
        raise CommandLineError(f"{command} has no option --{given}; hook files add {added}")
    return matches[0] if matches else None


def _letters(command: str, letters: str, rest: deque[str]) -> list[Given]:
    given = []
    for at, letter in enumerate(letters, 1):  # without copies of the rest: a user may write very many
        name = short(command, letter)
        if name is None:  # SPANK plugins have no such options
            raise CommandLineError(f"{command} has no option -{letter}")
        has_arg, value = takes(command, name), None
        if has_arg != NONE:
            value = letters[at:] or None
        if has_arg == REQUIRED and value is None:
            value = _next(f"-{letter}", rest)
        given.append(Given(name, f"-{letter}", value))
        if has_arg != NONE:
            break
    return given


def _next(option: str, rest: deque[str]) -> str:
    if not rest:
        raise CommandLineError(f"{option} needs an argument")
    return rest.popleft()
