# SPDX-License-Identifier: GPL-2.0-or-later
"""`try cli_filter`: run a command's options through handlers without Slurm."""

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import output
from slurmhooks.cli.findings import shown
from slurmhooks.cli_filter.model import EARLY
from slurmhooks.handlers.registry import Registry
from slurmhooks.hooks.option import Option, inherited
from slurmhooks.hooks.points import COMMANDS
from slurmhooks.hooks.requested import OMITTED
from slurmhooks.testing import FakeOptions, Result, run
from slurmhooks.workshop.cli.commands.try_ import site_handlers
from slurmhooks.workshop.cli.commands.try_.site_handlers import as_read, common, load, options_of, spank_lines
from slurmhooks.workshop.testing import invocation
from slurmhooks.workshop.testing.options import command_lines
from slurmhooks.workshop.testing.runner import check_options

Results = dict[str, Result]
"""The results of one component, by what ran: ``setup_defaults``, ``options`` if one is refused, ``pre_submit``."""


@click.command("cli_filter", context_settings={"ignore_unknown_options": False})
@click.argument("program", type=click.Choice(COMMANDS), metavar="COMMAND")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTION... [SCRIPT] [ARGUMENT...]]")
@site_handlers.env_option("A variable, in addition to your own.")
@common(Results | list[Results])
def command(
    program: str,
    words: tuple[str, ...],
    environment: dict[str, str],
    sysconfdir: Path,
    files: tuple[Path, ...],
) -> None:
    """Run the options of sbatch, salloc, srun or scrontab through the handlers of cli_filter.

    setup_defaults runs first, then pre_submit with the user's options: those after "--", which are followed by the
    script or program, those of variables such as SBATCH_ACCOUNT, and for sbatch those of the #SBATCH lines of the
    script. Each component of a heterogeneous job is run; --json then prints a list.
    """
    variables = os.environ | environment
    registry = load(sysconfdir, files, scripts=True)
    options = options_of(spank_lines(sysconfdir, files, (), registry))
    notes: list[str] = []
    try:
        called = invocation.read(program, words, options, variables, notes)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    for note in notes:
        output.note(note)
    trial = Trial(registry, called, options)
    components = trial.run()
    if output.wants_json():
        documents = [{name: asdict(result) for name, result in results.items()} for results in components]
        output.document(documents[0] if called.components == 1 else documents)
    else:
        for number, results in enumerate(components):
            if called.components > 1:
                click.echo(click.style(f"component {number}:", bold=True))
            for name, result in results.items():
                show(name, result)
    sys.exit(0 if all(result.accepted for results in components for result in results.values()) else 1)


class Trial:
    """The calls of one command, which share its environment."""

    def __init__(self, registry: Registry, called: invocation.Invocation, options: Sequence[Option]) -> None:
        self._registry = registry
        self._called = called
        self._options = options
        self._defaults = FakeOptions(
            called.program,
            environment=called.environment,
            early=called.program in EARLY,
            spank=self._spank({}),
        )

    def run(self) -> list[Results]:
        """Return the results of each component, up to the first refusal."""
        components: list[Results] = []
        early = self._setup_defaults() if self._called.program in EARLY else None
        for number in range(self._called.components):
            results: Results = {}
            components.append(results)
            if early is not None and not early.accepted:
                results["setup_defaults"] = early
            else:
                self._component(number, results, early if number == 0 else None)
            if not all(result.accepted for result in results.values()):
                break
        return components

    def _component(self, number: int, results: Results, early: Result | None) -> None:
        called = self._called
        if number == 0 and called.program != "sbatch":
            results["setup_defaults"] = early or self._setup_defaults()
        elif called.program != "salloc":  # sbatch and srun call again for each component
            before = command_lines.texts(called.in_force(number - 1), plugin=True) if number else {}
            self._defaults = FakeOptions(
                called.program,
                environment=self._defaults.environment,
                spank=self._spank(before),
                argv=called.argv_of_defaults(number),
                defaults=self._defaults,
            )
            results["setup_defaults"] = _joined(early, self._setup_defaults())
        given = called.in_force(number)
        spank = command_lines.texts(given, plugin=True)
        environment = self._defaults.environment  # handlers may have given defaults in it
        for option in self._options:
            text = environment.get(inherited("python", option.name))
            if text is not None:
                spank.setdefault(option.name, None if text == OMITTED else text)
        checked = check_options(self._options, spank)
        if not checked.accepted:
            results["options"] = checked
        if not all(result.accepted for result in results.values()):
            return
        try:
            options = FakeOptions(
                called.program,
                options=command_lines.own_options(given),
                defaults=self._defaults,
                argv=called.argv_of(number),
                script=called.text,
                environment=self._defaults.environment,
                spank=self._spank(spank),
            )
        except (KeyError, ValueError) as error:
            raise click.UsageError(f"{called.program} does not take this: {error.args[0]}") from error
        results["pre_submit"] = run(self._registry, "cli_filter.pre_submit", options=options, offset=number)

    def _setup_defaults(self) -> Result:
        return run(self._registry, "cli_filter.setup_defaults", options=self._defaults)

    def _spank(self, given: dict[str, str | None]) -> dict[str, dict[str, str | None]]:
        """Return the options of SPANK plugins with the texts of those that are given."""
        plugin: dict[str, str | None] = {option.name: None for option in self._options}
        plugin |= {name: "set" if text is None else text for name, text in given.items()}
        return {"python": plugin} if plugin else {}


def _joined(first: Result | None, second: Result) -> Result:
    """Return one result of two calls of the same hook."""
    if first is None:
        return second
    return replace(
        second,
        user_messages=first.user_messages + second.user_messages,
        changes=first.changes | second.changes,
        log=first.log + second.log,
        error_id=first.error_id or second.error_id,
        errors=first.errors + second.errors,
        ran=first.ran + second.ran,
    )


def show(name: str, result: Result) -> None:
    """Print the result of one call."""
    state = output.verdict(result.accepted, "passed", "refused")
    click.echo(f"{name}: {state}" + (f": {shown(as_read(result) or '')}" if result.text else ""))
    output.show("to the user", result.user_messages)
    output.show("log", result.log)
    output.show("changes", [f"{option}: {_value(value)}" for option, value in result.changes.items()])


def _value(value: Any) -> str:
    return "back to its default" if value is None else str(value)
