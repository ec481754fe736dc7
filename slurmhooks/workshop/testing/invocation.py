# SPDX-License-Identifier: GPL-2.0-or-later
"""What a whole command is: its options, those of its environment and of its script, and the words after them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from slurmhooks.workshop.testing import sbatch
from slurmhooks.workshop.testing.options import command_lines
from slurmhooks.workshop.testing.options.command_lines import CommandLine, CommandLineError, Given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmhooks.hooks.option import Option


@dataclass
class Invocation:
    """A command of a user.

    ``lines`` are the command lines of the components, ``variables`` the options that the environment gives. ``script``
    is its path as sbatch shows it; None: it comes from standard input or ``--wrap``. ``text`` is None if the command
    has no batch script.
    """

    program: str
    lines: list[CommandLine]
    environment: dict[str, str]
    variables: list[Given]
    script: str | None = None
    text: str | None = None
    of_script: list[list[Given]] = field(default_factory=list)

    @property
    def components(self) -> int:
        """The number of components; with more than one, the job is heterogeneous."""
        return max(len(self.lines), len(self.of_script), 1)

    @property
    def rest(self) -> list[str]:
        """The words after the options, with the script as it is written."""
        return self.lines[-1].rest

    def argv_of_defaults(self, component: int) -> list[str]:
        """Return the words after the options that the call of setup_defaults for a component sees.

        sbatch has read its command line by then, srun that of the component before.
        """
        if self.program == "sbatch":
            return self.argv_of(component)
        return self.argv_of(component - 1) if component else []

    def argv_of(self, component: int) -> list[str]:
        """Return the words after the options, as handlers see them."""
        if self.program == "sbatch":
            return self.rest if self.script is None else [self.script, *self.rest[1:]]
        words = self.lines[component].rest
        if self.program != "srun":
            return words
        return command_lines.sent_program(words, self.in_force(component), self.environment)

    def in_force(self, component: int) -> list[Given]:
        """Return the options of a component, in the order of their setting."""
        parts = [line.given for line in self.lines]
        return command_lines.in_force(self.program, self.of_script, self.variables, parts, component)


def read(
    program: str,
    words: Sequence[str],
    options: Sequence[Option],
    environment: Mapping[str, str],
    notes: list[str],
) -> Invocation:
    """Read a command, and the script of sbatch.

    ``words`` come after the command. Other than in Slurm, program and script may be missing, and standard input is not
    read. A note is added if the script cannot be read.

    Raises:
        ValueError: the command would refuse the command line or the script.
    """
    lines = command_lines.read_components(program, words, options, None)
    variables = command_lines.of_environment(program, environment, options)
    called = Invocation(program, lines, dict(environment), variables)
    if program != "sbatch":
        return called
    wrapped = wrapped_in(lines)
    if wrapped is not None:
        called.text = wrapped
    elif called.rest:
        name = called.rest[0]
        called.script = command_lines.path_in_argv(name, [line.given for line in lines], environment, os.getcwd())
        try:
            called.text = Path(called.script).read_bytes().decode("utf-8", "surrogateescape")
        except OSError as error:
            called.script = None
            notes.append(f"{name}: {error.strerror}: its options are not read")
    if called.text is not None:
        sbatch.check_script(called.script or "the script", called.text)
        parts = [line.given for line in lines]
        called.of_script = sbatch.options_in(sbatch.text_with_options(called.text, parts), notes, options)
    return called


def wrapped_in(lines: Sequence[CommandLine]) -> str | None:
    """Return the script that ``--wrap`` makes; None without this option.

    Raises:
        CommandLineError: there is a script, too.
    """
    wrapped = [text for line in lines if (text := line.options.get("wrap")) is not None]
    for name in ("wrap", "external"):
        if lines[-1].rest and any(name in line.options for line in lines):
            raise CommandLineError(f"--{name} excludes a script and its arguments")
    return sbatch.WRAPPED.format(wrapped[-1]) if wrapped else None
