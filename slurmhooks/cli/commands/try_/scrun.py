# SPDX-License-Identifier: GPL-2.0-or-later
"""`try scrun`: run staging handlers on a bundle, without Slurm."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import isolation, output
from slurmhooks.cli.commands.try_.site_handlers import common, load
from slurmhooks.cli.findings import Finding, shown
from slurmhooks.handlers.dispatch import Outcome
from slurmhooks.scrun.errors import StagingError
from slurmhooks.testing.anchor import FakeAnchor
from slurmhooks.testing.capture import CapturedLog


@dataclass(kw_only=True)
class Document:
    """The result of a staging function.

    Attributes:
        passed: all handlers passed.
        text: what the user reads about a refusal or a bug; null if all passed.
        user_messages: what handlers tell the user.
        log: lines of the log.
        bundle: path of the bundle as set by the handlers.
        root_path: path of the root file system as set by the handlers; null if it is unset.
        config_diff: changes of config.json, as the lines of a unified diff.
    """

    passed: bool
    text: str | None
    user_messages: list[str]
    log: list[str]
    bundle: str
    root_path: str | None
    config_diff: list[str]


@click.group("scrun")
def command() -> None:
    """Stage a bundle in or out, as the anchor process of scrun would."""


def staging(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of both commands."""
    for option in (
        click.option("--env", "environment", multiple=True, metavar="NAME=VALUE",
                     help="A variable of the job's environment, in addition to those that scrun sets."),
        click.option("--gid", "group_id", type=click.IntRange(0), help="Group id of the job. Default: yours."),
        click.option("--uid", "user_id", type=click.IntRange(0), help="User id of the job. Default: yours."),
        click.option("--id", "container_id", help="Name of the container. Default: name of the bundle."),
        click.option("--in-place", is_flag=True,
                     help="Give the handlers the bundle itself, not a copy. Root needs --really, too."),
        click.option("--bundle", required=True, help="The bundle: a folder with config.json.",
                     type=click.Path(exists=True, file_okay=False, path_type=Path)),
    ):  # fmt: skip
        function = option(function)
    return common(dict[str, Document])(function)


@command.command("stage-in")
@staging
def stage_in(**options: Any) -> None:
    """Run the handlers of stage_in on a copy of a bundle.

    Handlers really run, with your permissions: files that they stage elsewhere remain, except without --really as root.
    Their allocator_command and remote_command run on this machine.
    """
    _stage(("stage_in",), **options)


@command.command("stage-out")
@staging
def stage_out(**options: Any) -> None:
    """Run the handlers of stage_in and then those of stage_out on a copy of a bundle.

    stage_out needs the results of stage_in, in the same process. It runs even if stage_in fails, as in scrun.
    """
    _stage(("stage_in", "stage_out"), **options)


def _stage(
    functions: tuple[str, ...],
    *,
    sysconfdir: Path,
    files: tuple[Path, ...],
    bundle: Path,
    environment: tuple[str, ...],
    **options: Any,
) -> None:
    wrong = [pair for pair in environment if not pair.partition("=")[0] or "=" not in pair]
    if wrong:
        raise click.UsageError(f"--env needs NAME=VALUE, not {wrong[0]!r}")
    registry = load(sysconfdir, files)
    try:
        anchor = FakeAnchor(registry, os.fspath(bundle), **options)
    except StagingError as error:
        raise Finding(error.text) from error
    with anchor:
        anchor.job_env.update((name, value) for name, _, value in (pair.partition("=") for pair in environment))
        original = anchor.bundle
        stages = list(map(partial(Staged, anchor), functions))
        report(stages, original)
    sys.exit(0 if all(stage.passed for stage in stages) else 1)


class Staged:
    """The result of one staging function.

    Attributes:
        function: stage_in or stage_out.
        passed: all handlers passed.
        text: what the user reads about a refusal or a bug; None if all passed.
        bundle: path of the bundle as set by the handlers.
        root_path: path of the root file system as set by the handlers; None if it is unset.
        diff: changes of config.json, as the lines of a unified diff.
        captured: what the handlers logged.
    """

    def __init__(self, anchor: FakeAnchor, function: str) -> None:
        """Run the handlers of a staging function."""
        self.function = function
        self.captured = CapturedLog()
        self.diff: list[str] = []
        with self.captured.capturing():
            try:
                outcome: Outcome = getattr(anchor, function)()
                self.passed, self.text = outcome.passed, outcome.text
                if function == "stage_in" and self.passed:
                    self.diff = anchor.config_diff()
            except StagingError as error:
                self.passed, self.text = False, error.text
        self.bundle, self.root_path = anchor.bundle, anchor.root_path

    def show(self) -> None:
        """Print the result for people."""
        state = (
            click.style("passed", fg="green", bold=True) if self.passed else click.style("failed", fg="red", bold=True)
        )
        click.echo(f"{self.function}: {state}" + (f": {shown(self.text)}" if self.text else ""))
        output.show("to the user", self.captured.user_messages)
        output.show("log", self.captured.lines)
        if self.function == "stage_in" and self.passed:
            click.echo(f"bundle: {shown(self.bundle)}")
            click.echo(f"root path: {'-' if self.root_path is None else shown(self.root_path)}")
            output.show("config.json", self.diff or ["not changed"])

    def content(self) -> Document:
        """Return the result for JSON."""
        return Document(
            passed=self.passed,
            text=self.text,
            user_messages=self.captured.user_messages,
            log=self.captured.lines,
            bundle=self.bundle,
            root_path=self.root_path,
            config_diff=self.diff,
        )


def report(stages: list[Staged], bundle: str) -> None:
    """Print the results of all functions.

    Args:
        stages: the results, in order.
        bundle: path of the bundle before the first handler.
    """
    if output.wants_json():
        output.document({stage.function: stage.content() for stage in stages})
        return
    for stage in stages:
        stage.show()
    staged = stages[-1].bundle
    if staged != bundle and os.path.exists(staged) and not isolation.discards:
        click.echo(f"{click.style('note:', bold=True)} the staged bundle remains: {shown(staged)}", err=True)
