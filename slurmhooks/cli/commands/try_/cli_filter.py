# SPDX-License-Identifier: GPL-2.0-or-later
"""`try cli_filter`: run a command's options through handlers without Slurm."""

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import output
from slurmhooks.cli.commands.try_.site_handlers import common, load
from slurmhooks.cli.findings import shown
from slurmhooks.hook_specs import COMMANDS
from slurmhooks.testing import FakeOptions, Result, run
from slurmhooks.testing.option_texts import ALONE

CALLS = ("setup_defaults", "pre_submit")
"""The calls that are tried; post_submit is not, because nothing is submitted."""


@click.command("cli_filter", context_settings={"ignore_unknown_options": False})
@click.argument("program", type=click.Choice(COMMANDS), metavar="COMMAND")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTION... [SCRIPT] [ARGUMENT...]]")
@click.option("--env", "environment", multiple=True, metavar="NAME=VALUE", help="A variable, in addition to your own.")
@common(dict[str, Result])
def command(
    program: str,
    words: tuple[str, ...],
    environment: tuple[str, ...],
    sysconfdir: Path,
    files: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Run the options of sbatch, salloc, srun or scrontab through the handlers of cli_filter.

    setup_defaults runs first, then pre_submit with the user's options. Write long options after "--", as --name=VALUE
    or --name for flags, then the words that follow them.
    """
    wrong = next((pair for pair in environment if not pair.partition("=")[0] or "=" not in pair), None)
    if wrong is not None:
        raise click.UsageError(f"--env needs NAME=VALUE, not {wrong!r}")
    given, argv = read_words(words)
    variables = os.environ | {name: value for name, _, value in (pair.partition("=") for pair in environment)}
    registry = load(sysconfdir, files, scripts=True)
    defaults = FakeOptions(program, environment=variables, early=program in ("sbatch", "srun"))
    results = {"setup_defaults": run(registry, "cli_filter.setup_defaults", options=defaults)}
    if results["setup_defaults"].accepted:
        try:
            options = FakeOptions(
                program, options=given, defaults=defaults, argv=argv, environment=defaults.environment
            )
        except (KeyError, ValueError) as error:
            raise click.UsageError(f"{program} does not take this: {error.args[0]}") from error
        results["pre_submit"] = run(registry, "cli_filter.pre_submit", options=options)
    if as_json:
        output.document({name: asdict(result) for name, result in results.items()})
    else:
        for name, result in results.items():
            show(name, result)
    sys.exit(0 if all(result.accepted for result in results.values()) else 1)


def read_words(words: tuple[str, ...]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the options of a command line, and the words after them.

    Raises:
        click.UsageError: an option is not spelt as ``--name=VALUE``.
    """
    given: dict[str, str] = {}
    for at, word in enumerate(words):
        if not word.startswith("-"):
            return given, words[at:]
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or (not equals and name not in ALONE):
            raise click.UsageError(f"write {word} as --name=VALUE, by its long name")
        given[name] = value if equals else ALONE[name]
    return given, ()


def show(name: str, result: Result) -> None:
    """Print the result of one call."""
    state = (
        click.style("passed", fg="green", bold=True) if result.accepted else click.style("refused", fg="red", bold=True)
    )
    click.echo(f"{name}: {state}" + (f": {shown(result.text)}" if result.text else ""))
    output.show("to the user", result.user_messages)
    output.show("log", result.log)
    output.show("changes", [f"{option}: {_value(value)}" for option, value in result.changes.items()])


def _value(value: Any) -> str:
    return "back to its default" if value is None else str(value)
