# SPDX-License-Identifier: GPL-2.0-or-later
"""`try spank`: run the callbacks of a whole launch without Slurm."""

import sys
from pathlib import Path

import click

from slurmhooks.cli import output
from slurmhooks.testing import FakeOptions, Launch
from slurmhooks.workshop.cli.commands.try_.site_handlers import (
    common,
    env_option,
    load,
    options_of,
    show_verdict,
    spank_lines,
)
from slurmhooks.workshop.testing.environments import OPTIONS
from slurmhooks.workshop.testing.launch import launch_lines
from slurmhooks.workshop.testing.options import command_lines


@click.command("spank")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTION... [PROGRAM] [ARGUMENT...]]")
@click.option("--tasks", type=click.IntRange(1), help="Number of tasks of the step. Default: that of -n, or 1.")
@env_option("A variable of srun's environment.")
@click.option("--arg", "arguments", multiple=True, metavar="WORD",
              help="With --hooks: an argument after the GLOB on the line of plugstack.conf.")  # fmt: skip
@common(Launch)
def command(
    words: tuple[str, ...],
    tasks: int | None,
    environment: dict[str, str],
    arguments: tuple[str, ...],
    sysconfdir: Path,
    files: tuple[Path, ...],
) -> None:
    """Run an srun through the handlers of SPANK: from its options to the end of its tasks, with prolog and epilog.

    The hook files are those of the lines of plugstack.conf, each with its arguments; without such a line, those of
    slurmhooks.toml. Write the options of srun after "--", those that the hook files add and its own, then the program
    and its arguments. The handlers of srun, prolog, slurmstepd, each task and epilog run in processes of their own, as
    you; nothing else is run.
    """
    if arguments and not files:
        raise click.UsageError("--arg needs --hooks: plugstack.conf has the arguments of its lines")
    lines = spank_lines(sysconfdir, files, arguments, load(sysconfdir, files))
    known = {option.name: option for option in options_of(lines)}
    try:
        line = command_lines.read("srun", words, known.values())
        of_variables = command_lines.of_environment("srun", environment, known.values())
        in_force = [*of_variables, *line.given]
        own = FakeOptions("srun", options=command_lines.own_options(in_force))
        count = tasks or own.num_tasks or own.ntasks_per_node or 1
        given = command_lines.each_text(of_variables) | command_lines.each_text(line.given)
        options = {name: [True if text is None else text for text in texts] for name, texts in given.items()}
        result = launch_lines(
            lines, line.rest or ["true"], options=options, env=environment, tasks=count, items={}, srun=own
        )
    except (KeyError, ValueError) as error:
        raise click.UsageError(str(error.args[0])) from error
    ignored = sorted(name for name in line.options if name not in OPTIONS)
    output.result(result, show)
    if ignored:
        output.note(f"no effect here: --{', --'.join(ignored)}")
    sys.exit(0 if result.accepted else 1)


def show(result: Launch) -> None:
    """Print the result for people."""
    show_verdict(result, f" in {result.failed}")
    cells = []
    for number, task in enumerate(result.tasks):
        cells += [(f"task {number}", name, "-" if value is None else value) for name, value in task.changes.items()]
        cells.append((f"task {number}", "runs", " ".join(task.argv)))
    cells += [("prolog, epilog", f"SPANK_{name}", value) for name, value in result.job_control_env.items()]
    if cells:
        output.table(("where", "what", "value"), cells)
    output.show("handlers", result.ran)
    output.show("log", result.log)
