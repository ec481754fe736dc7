# SPDX-License-Identifier: GPL-2.0-or-later
"""`try cli_filter`: run a command's options through handlers without Slurm."""

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import output
from slurmhooks.cli.commands.try_.site_handlers import common, load, options_of, spank_lines
from slurmhooks.cli.findings import shown
from slurmhooks.hook_specs import COMMANDS
from slurmhooks.option import Option
from slurmhooks.testing import FakeOptions, Result, command_lines, run, sbatch
from slurmhooks.testing.command_lines import CommandLine
from slurmhooks.testing.option_texts import ALONE
from slurmhooks.testing.sbatch import spank

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

    setup_defaults runs first, then pre_submit with the user's options: those after "--", which are followed by the
    script or program, and for sbatch those of the #SBATCH lines of the script.
    """
    wrong = next((pair for pair in environment if not pair.partition("=")[0] or "=" not in pair), None)
    if wrong is not None:
        raise click.UsageError(f"--env needs NAME=VALUE, not {wrong!r}")
    variables = os.environ | {name: value for name, _, value in (pair.partition("=") for pair in environment)}
    registry = load(sysconfdir, files, scripts=True)
    known = {option.name: option for option in options_of(spank_lines(sysconfdir, files, (), registry))}
    try:
        line, script = read_words(program, words, list(known.values()))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    no_options = {"python": dict.fromkeys(known)} if known else {}
    defaults = FakeOptions(program, environment=variables, early=program in ("sbatch", "srun"), spank=no_options)
    results = {"setup_defaults": run(registry, "cli_filter.setup_defaults", options=defaults)}
    if results["setup_defaults"].accepted:
        given = {**spank.given_in(defaults.environment, known), **line.spank}
        shown = {name: "set" if text in (None, spank.OMITTED) else text for name, text in given.items()}
        try:
            options = FakeOptions(
                program,
                options={name: ALONE.get(name, "set") if text is None else text for name, text in line.options.items()},
                defaults=defaults,
                argv=line.rest,
                script=script,
                environment=defaults.environment,
                spank={plugin: values | shown for plugin, values in no_options.items()},
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


def read_words(program: str, words: Sequence[str], options: Sequence[Option]) -> tuple[CommandLine, str | None]:
    """Return a command line, and the script of sbatch if it can be read; options of the script are in the result.

    Raises:
        ValueError: the command would refuse the command line or the script.
    """
    line = command_lines.read(program, words, options)
    if program != "sbatch" or not line.rest or "wrap" in line.options:
        return line, None
    try:
        text = Path(line.rest[0]).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        click.echo(
            f"{click.style('note:', bold=True)} {line.rest[0]}: {error.strerror}: its options are not read", err=True
        )
        return line, None
    sbatch.check_script(line.rest[0], text)
    lines = command_lines.read(program, sbatch.script_options(text)[0], options)
    line.options = lines.options | line.options
    line.spank = lines.spank | line.spank
    return line, text


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
