# SPDX-License-Identifier: GPL-2.0-or-later
"""`try spank`: run the callbacks of a whole launch without Slurm."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from slurmhooks.cli import output
from slurmhooks.cli.commands.try_.site_handlers import common, load
from slurmhooks.cli.findings import shown
from slurmhooks.option import Option
from slurmhooks.registry import Registry
from slurmhooks.testing import Launch, launch


@click.command("spank")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTION... [PROGRAM] [ARGUMENT...]]")
@click.option("--tasks", type=click.IntRange(1), default=1, show_default=True, help="Number of tasks of the step.")
@click.option("--env", "environment", multiple=True, metavar="NAME=VALUE", help="A variable of srun's environment.")
@common(Launch)
def command(
    words: tuple[str, ...],
    tasks: int,
    environment: tuple[str, ...],
    sysconfdir: Path,
    files: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Run an srun through the handlers of SPANK: from its options to the end of its tasks, with prolog and epilog.

    Write options that the hook files add after "--", then the program and its arguments. Handlers run in this process
    and as you, one after the other; nothing else is run.
    """
    wrong = next((pair for pair in environment if not pair.partition("=")[0] or "=" not in pair), None)
    if wrong is not None:
        raise click.UsageError(f"--env needs NAME=VALUE, not {wrong!r}")
    variables = {name: value for name, _, value in (pair.partition("=") for pair in environment)}
    registry = load(sysconfdir, files)
    options, argv = read_words(words, registry)
    try:
        result = launch(registry, argv or ["true"], options=options, env=variables, tasks=tasks)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        output.document(asdict(result))
    else:
        show(result)
    sys.exit(0 if result.accepted else 1)


def read_words(words: Sequence[str], registry: Registry) -> tuple[dict[str, str | bool], list[str]]:
    """Return the options, and the program with its arguments.

    Raises:
        click.UsageError: no hook file adds the option, or it lacks its argument.
    """
    known: Mapping[str, Option] = {option.name: option for option in registry.options}
    options: dict[str, str | bool] = {}
    rest = list(words)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        name, equals, value = word.removeprefix("--").partition("=")
        option = known.get(name)
        if option is None:
            raise click.UsageError(f"no hook file adds --{name}; they add: {', '.join(known) or 'no option'}")
        if equals:
            options[name] = value
        elif option.arginfo is None or option.optional:
            options[name] = True
        elif rest:
            options[name] = rest.pop(0)
        else:
            raise click.UsageError(f"--{name} takes an argument")
    return options, rest


def show(result: Launch) -> None:
    """Print the result for people."""
    if result.accepted:
        click.echo(click.style("accepted", fg="green", bold=True))
    else:
        code = f" ({result.code})" if result.code is not None else ""
        place = f" in {result.failed}"
        click.echo(f"{click.style('refused', fg='red', bold=True)}{place}{code}: {shown(result.text or '')}")
    output.show("to the user", result.user_messages)
    cells = []
    for number, task in enumerate(result.tasks):
        cells += [(f"task {number}", name, "-" if value is None else value) for name, value in task.changes.items()]
        cells.append((f"task {number}", "runs", " ".join(task.argv)))
    cells += [("prolog, epilog", f"SPANK_{name}", value) for name, value in result.job_control_env.items()]
    if cells:
        output.table(("where", "what", "value"), cells)
    output.show("handlers", result.ran)
    output.show("log", result.log)
