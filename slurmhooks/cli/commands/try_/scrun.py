# SPDX-License-Identifier: GPL-2.0-or-later
"""`try scrun`: run staging handlers on a bundle, without Slurm."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import file_copies, output
from slurmhooks.cli.commands.try_.site_handlers import common, env_option, load
from slurmhooks.cli.findings import Finding, shown
from slurmhooks.cli.groups import Group
from slurmhooks.handlers.dispatch import Outcome
from slurmhooks.scrun.errors import StagingError
from slurmhooks.testing.anchor import FakeAnchor
from slurmhooks.testing.log_capture import CapturedLog


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


@click.group("scrun", cls=Group)
def command() -> None:
    """Stage a bundle in or out, as the anchor process of scrun would."""


def staging(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of both commands."""
    for option in (
        env_option("A variable of the job's environment, in addition to those that scrun sets."),
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
    environment: dict[str, str],
    **options: Any,
) -> None:
    registry = load(sysconfdir, files, of_scrun=True)
    try:
        anchor = FakeAnchor(registry, os.fspath(bundle), **options)
    except StagingError as error:
        raise Finding(error.text) from error
    with anchor:
        anchor.job_env.update(environment)
        original = anchor.bundle
        results = {function: _run(anchor, function) for function in functions}
        _report(results, original)
    sys.exit(0 if all(result.passed for result in results.values()) else 1)


def _run(anchor: FakeAnchor, function: str) -> Document:
    """Run the handlers of a staging function."""
    captured = CapturedLog()
    diff: list[str] = []
    with captured.capturing():
        try:
            outcome: Outcome = getattr(anchor, function)()
            passed, text = outcome.passed, outcome.text
            if function == "stage_in" and passed:
                diff = anchor.config_diff()
        except StagingError as error:
            passed, text = False, error.text
    return Document(
        passed=passed,
        text=text,
        user_messages=captured.user_messages,
        log=captured.lines,
        bundle=anchor.bundle,
        root_path=anchor.root_path,
        config_diff=diff,
    )


def _show(function: str, result: Document) -> None:
    """Print the result of a staging function for people."""
    state = output.verdict(result.passed, "passed", "failed")
    click.echo(f"{function}: {state}" + (f": {shown(result.text)}" if result.text else ""))
    output.show("to the user", result.user_messages)
    output.show("log", result.log)
    if function == "stage_in" and result.passed:
        click.echo(f"bundle: {shown(result.bundle)}")
        click.echo(f"root path: {'-' if result.root_path is None else shown(result.root_path)}")
        output.show("config.json", result.config_diff or ["not changed"])


def _report(results: dict[str, Document], bundle: str) -> None:
    """Print the results of all functions.

    Args:
        results: the results by function, in order.
        bundle: path of the bundle before the first handler.
    """
    if output.wants_json():
        output.document(results)
        return
    for function, result in results.items():
        _show(function, result)
    *_, last = results.values()
    if last.bundle != bundle and os.path.exists(last.bundle) and not file_copies.discards:
        output.note(f"the staged bundle remains: {last.bundle}")
