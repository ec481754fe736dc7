# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for srun and salloc outside of jobs: compute the fields of the request for an allocation.

Source: allocate.c:_job_desc_msg_create_from_opts of srun, salloc.c:_fill_job_desc_from_opts.
"""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING

from slurmhooks.fields.constants import OpenMode
from slurmhooks.workshop.testing import sbatch
from slurmhooks.workshop.testing.environments import CLUSTER
from slurmhooks.workshop.testing.options import command_lines
from slurmhooks.workshop.testing.options.command_lines import CommandLineError
from slurmhooks.workshop.testing.options.values import SbatchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slurmhooks.hooks.option import Option
    from slurmhooks.workshop.testing.sbatch.setters import Fields

COMMANDS = ("srun", "salloc")
PORT = 60001
"""Stands for the ports on which the command waits."""
OF_STEPS = ("async", "parsable", "relative")
"""Options with which srun refuses to request an allocation."""
OF_BATCH = ("environment", "std_in", "std_out", "std_err")
"""Fields that only sbatch sends."""


def request(
    program: str,
    words: Sequence[str],
    notes: list[str],
    *,
    release: str,
    component: int = 0,
    environment: Mapping[str, str] | None = None,
    options: Iterable[Option] = (),
) -> Fields:
    """Return the fields of the request that a command would send.

    ``words`` come after the name of the command, srun or salloc; ``environment`` is by default that of this process.
    Notes on options without effect are added to ``notes``.

    Raises:
        SbatchError: the command would refuse the command line.
    """
    environment = os.environ if environment is None else environment
    by_name = {option.name: option for option in options}
    try:
        lines = command_lines.read_components(program, words, list(by_name.values()), notes)
    except CommandLineError as error:
        raise SbatchError(str(error)) from error
    variables = command_lines.of_environment(program, environment, by_name.values())
    given = command_lines.in_force(program, [], variables, [line.given for line in lines], component)
    rest = lines[component if program == "srun" else -1].rest
    if program == "srun":
        rest = command_lines.sent_program(rest, given, environment)
    if program == "srun" and not rest:
        raise SbatchError("srun needs a program")
    for each in given if program == "srun" else ():
        if each.name in OF_STEPS:
            raise SbatchError(f"{each.how} is for steps within a job")
    no_shell = any(each.name == "no-shell" for each in given)
    if program == "salloc" and len(lines) > 1 and component < len(lines) - 1:
        rest = []
    if program == "salloc" and not rest and not no_shell:
        rest = [environment.get("SHELL") or pwd.getpwuid(os.getuid()).pw_shell]
    fields: Fields = {"argv": list(rest), "submit_line": " ".join([program, *words])}
    if program == "salloc" and component:
        fields["submit_line"] = " ".join(words[_separator(words, component) :])
    if not any(each.name == "job-name" for each in given):
        alone = "no-shell" if no_shell else "interactive"
        # A component of srun has the name of the first one, which is in the environment by then.
        fields["name"] = os.path.basename(lines[0].rest[0]) if program == "srun" else alone
    sbatch.compute(
        fields,
        given,
        notes,
        environment=environment,
        work_dir=os.getcwd(),
        release=release,
        options=by_name,
        program=program,
    )
    for name in OF_BATCH:
        fields.pop(name, None)
    fields |= {"alloc_resp_port": PORT, "other_port": 0 if no_shell else PORT, "origin_cluster": CLUSTER}
    if program == "srun":
        fields["wait_all_nodes"] = 1
    else:  # salloc has changed to the folder of --chdir before, and then takes the first one for it
        fields["work_dir"] = os.getcwd()
    if len(lines) > 1:
        fields["het_job_offset"] = component
        if program == "srun":
            fields["open_mode"] = int(OpenMode.OPEN_MODE_APPEND)
    return fields


def _separator(words: Sequence[str], number: int) -> int:
    """Return the place of the separator before a component."""
    return [place for place, word in enumerate(words) if word == command_lines.SEPARATOR][number - 1]
