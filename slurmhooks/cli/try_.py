# SPDX-License-Identifier: GPL-2.0-or-later
"""Run handlers without Slurm, and show what they do."""

import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import _site, _trial
from slurmhooks.cli._findings import Finding

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def common(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say which handlers, and how to print."""
    for option in (
        click.option("--json", "in_json", is_flag=True, help="Print a JSON object."),
        click.option("--hooks", "files", type=FILE, multiple=True, metavar="FILE",
                     help="Hook file to load instead of what slurmhooks.toml names; may be given several times."),
        _site.sysconfdir_option,
    ):  # fmt: skip
        function = option(function)
    return function


@click.group("try")
def command() -> None:
    """Run handlers without Slurm, and show what they do.

    Nothing is submitted, no daemon is asked. Exit codes: 0 accepted, 1 a handler refused or failed, 2 wrong use.
    """


def _release(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Return a release without its third part, which changes no field."""
    del context, option
    found = re.fullmatch(r"(\d+\.\d+)(\.\d+)?(-\d+)?", value) if value is not None else None
    if value is not None and found is None:
        raise click.BadParameter(f"a release is such as 24.11 or 24.11.5, not {value}")
    return found and found[1]


@command.command("job_submit", context_settings={"ignore_unknown_options": False})
@click.argument("source", type=click.Path(dir_okay=False, allow_dash=True))
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[-- SBATCH_OPTION...]")
@click.option("--uid", type=click.IntRange(0), help="Who submits, by number. Default: you.")
@click.option("--user", help="Who submits, by name.")
@click.option("--modify", type=FILE, metavar="RECORD", help="Try an update of the job whose fields this JSON file has.")
@click.option("--tables", type=FILE, help='JSON: {"partitions": {NAME: {...}}, "reservations": ..., "jobs": [{...}]}.')
@click.option("--release", callback=_release, help="Of Slurm, such as 24.11: decides which fields there are.")
@common
def job_submit(
    source: str,
    options: tuple[str, ...],
    uid: int | None,
    user: str | None,
    modify: Path | None,
    tables: Path | None,
    release: str | None,
    sysconfdir: Path,
    files: tuple[Path, ...],
    in_json: bool,
) -> None:
    """Run a submission through the handlers of job_submit.

    SOURCE is a batch script, whose #SBATCH lines are read as sbatch reads them, or a JSON object of fields by name; "-"
    is standard input. Behind "--" stand options of sbatch. With --modify, the handlers of job_modify run.
    """
    from slurmhooks.cli import _try_job_submit as trial
    from slurmhooks.testing.job_submit import RELEASE

    if uid is not None and user is not None:
        raise click.UsageError("--uid and --user exclude each other")
    release = release or RELEASE
    notes: list[str] = []
    number, identity = trial.user(uid, user)
    fields = trial.read_source(source, _text(source), options, release, notes)
    request = trial.Request(
        fields=fields if modify else {**identity, **fields},
        release=release,
        uid=number,
        record=trial.read_file(modify) if modify else None,
        tables=trial.read_file(tables) if tables else {},
        notes=notes,
    )
    registry = _trial.load(sysconfdir, files, scripts=True)
    result, changes = request.run(registry)
    if in_json:
        click.echo(trial.as_json(result, changes, notes))
    else:
        trial.show(result, changes, notes)
    sys.exit(0 if result.accepted else 1)


def _text(source: str) -> str:
    try:
        with click.open_file(source, encoding="utf-8", errors="surrogateescape") as file:
            text: str = file.read()
    except OSError as error:
        raise click.UsageError(f"{source}: {error.strerror}") from error
    return text


@command.group("scrun")
def scrun() -> None:
    """Stage a bundle in or out, as scrun's anchor would."""


def staging(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that both stagings take."""
    for option in (
        click.option("--env", "environment", multiple=True, metavar="NAME=VALUE",
                     help="A variable of the job's environment, besides those that scrun sets."),
        click.option("--gid", "group_id", type=click.IntRange(0), help="Group of the job. Default: yours."),
        click.option("--uid", "user_id", type=click.IntRange(0), help="User of the job. Default: you."),
        click.option("--id", "container_id", help="Name of the container. Default: the bundle's."),
        click.option("--in-place", is_flag=True, help="Let the handlers have the bundle itself, not a copy."),
        click.option("--bundle", required=True, help="The bundle: a folder with config.json.",
                     type=click.Path(exists=True, file_okay=False, path_type=Path)),
    ):  # fmt: skip
        function = option(function)
    return common(function)


@scrun.command("stage-in")
@staging
def stage_in(**options: Any) -> None:
    """Run the handlers of stage_in on a copy of a bundle.

    They run for real, as you: what they stage elsewhere stays. allocator_command and remote_command run here.
    """
    _stage(("stage_in",), **options)


@scrun.command("stage-out")
@staging
def stage_out(**options: Any) -> None:
    """Run the handlers of stage_in and then those of stage_out on a copy of a bundle.

    stage_out needs what stage_in left, in the same process. If stage_in fails, it runs all the same, as in scrun.
    """
    _stage(("stage_in", "stage_out"), **options)


def _stage(
    functions: tuple[str, ...],
    *,
    sysconfdir: Path,
    files: tuple[Path, ...],
    in_json: bool,
    bundle: Path,
    environment: tuple[str, ...],
    **options: Any,
) -> None:
    from slurmhooks.cli import _try_scrun as trial
    from slurmhooks.scrun.errors import StagingError
    from slurmhooks.scrun.trial import Trial

    wrong = [pair for pair in environment if not pair.partition("=")[0] or "=" not in pair]
    if wrong:
        raise click.UsageError(f"--env needs NAME=VALUE, not {wrong[0]!r}")
    registry = _trial.load(sysconfdir, files)
    try:
        made = Trial(registry, os.fspath(bundle), **options)
    except StagingError as error:
        raise Finding(error.text) from error
    with made:
        made.job_env.update((name, value) for name, _, value in (pair.partition("=") for pair in environment))
        original = made.bundle
        stages = list(map(partial(trial.Staged, made), functions))
        trial.report(stages, original, in_json)
    sys.exit(0 if all(stage.passed for stage in stages) else 1)
