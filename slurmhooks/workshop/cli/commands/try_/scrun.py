# SPDX-License-Identifier: GPL-2.0-or-later
"""`try scrun`: run staging handlers on a bundle, without Slurm."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import output
from slurmhooks.cli.findings import Finding, shown
from slurmhooks.handlers.dispatch import Outcome
from slurmhooks.scrun.errors import StagingError
from slurmhooks.workshop.cli import file_copies
from slurmhooks.workshop.cli.commands.try_.site_handlers import common, env_option, load
from slurmhooks.workshop.testing.anchor import FakeAnchor
from slurmhooks.workshop.testing.log_capture import CapturedLog


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


FUNCTIONS = {"stage-in": ("stage_in",), "stage-out": ("stage_in", "stage_out")}
"""What runs to try a function: stage_out needs the results of stage_in, in the same process."""


@click.command("scrun")
@click.argument("function", type=click.Choice(list(FUNCTIONS)), metavar="stage-in|stage-out")
@click.option(
    "--bundle",
    required=True,
    help="The bundle: a folder with config.json.",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--in-place", is_flag=True, help="Give handlers the bundle itself, not a copy. Root needs --really, too.")
@click.option("--id", "container_id", help="Name of the container. Default: name of the bundle.")
@click.option("--uid", "user_id", type=click.IntRange(0), help="User id of the job. Default: yours.")
@click.option("--gid", "group_id", type=click.IntRange(0), help="Group id of the job. Default: yours.")
@env_option("A variable of the job's environment, in addition to those that scrun sets.")
@common(dict[str, Document])
def command(
    function: str,
    sysconfdir: Path,
    files: tuple[Path, ...],
    bundle: Path,
    environment: dict[str, str],
    **options: Any,
) -> None:
    """Stage a copy of a bundle in, or in and out, as the anchor process of scrun would.

    stage-out runs the handlers of stage_in and then those of stage_out, even if stage_in fails, as in scrun. Handlers
    really run, with your permissions: files that they stage elsewhere remain, except without --really as root. Their
    allocator_command and remote_command run on this machine.
    """
    registry = load(sysconfdir, files, of_scrun=True)
    try:
        anchor = FakeAnchor(registry, os.fspath(bundle), **options)
    except StagingError as error:
        raise Finding(error.text) from error
    with anchor:
        anchor.job_env.update(environment)
        original = anchor.bundle
        results = {each: _run(anchor, each) for each in FUNCTIONS[function]}
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
    """Print the results of all functions."""
    if output.wants_json():
        output.document(results)
        return
    for function, result in results.items():
        _show(function, result)
    *_, last = results.values()
    if last.bundle != bundle and os.path.exists(last.bundle) and not file_copies.discards:
        output.note(f"the staged bundle remains: {last.bundle}")
