# SPDX-License-Identifier: GPL-2.0-or-later
"""Make a recording of the jobs that Slurm's accounting knows, for 'slurmhooks replay'."""

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import output, parameters, progress
from slurmhooks.cli.findings import BadInput, Finding, Findings
from slurmhooks.log import visible
from slurmhooks.recording.file import create
from slurmhooks.workshop.accounting import export, recording
from slurmhooks.workshop.accounting.assumed import ASSUMABLE, OPTIONS_ASSUMED, VARIABLES_ASSUMED, WORDS_ASSUMED
from slurmhooks.workshop.accounting.saved import Saved, SavedError

LAST_MONTH = 30
"""Days that are imported by default."""
SHOWN = ("partition", "account", "qos", "time_limit", "pn_min_memory", "num_tasks", "min_nodes")
"""Fields for which the command says how many jobs have a known value."""


@dataclass(kw_only=True)
class Imported:
    """The result of an import.

    Attributes:
        file: the recording.
        slurm: the release of the cluster.
        jobs: number of submissions in the recording.
        records: number of records of sacct: tasks of arrays and requeued jobs have several.
        scripts: number of jobs whose script is known.
        environments: number of jobs whose environment is known.
        known: for each field, the number of jobs for which its value is known.
    """

    file: str
    slurm: str
    jobs: int
    records: int
    scripts: int
    environments: int
    known: dict[str, int]


class Day(parameters.ParamType[date]):
    """A date such as 2026-10-01."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """Return the date."""
        if isinstance(value, date):
            return value
        try:
            return date.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a date such as 2026-10-01", param, ctx)


@click.command("import")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--since", type=Day(), help=f"First day. Default: {LAST_MONTH} days ago.")
@click.option("--until", type=Day(), help="The day after the last one. Default: tomorrow.")
@click.option("--users", default="", metavar="USER,...", help="Only jobs of these users.")
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="SAVED",
    help="Read what the script of --print has printed on the cluster, instead of running it here.",
)
@click.option("--print", "as_script", is_flag=True, help="Only print the shell script that asks sacct; import nothing.")
@click.option("--no-scripts", is_flag=True, help="Do not ask for scripts and environments.")
@click.option(
    "--assume",
    type=parameters.Words(*ASSUMABLE, OPTIONS_ASSUMED, VARIABLES_ASSUMED, WORDS_ASSUMED),
    default="",
    metavar="WORDS",
    help=f"Take for granted what is unknown: for a field ({', '.join(ASSUMABLE)}), that users requested what jobs got; "
    f"{OPTIONS_ASSUMED}: that no user of sbatch gives options that accounting does not show; "
    f"{VARIABLES_ASSUMED}: that no user gives options by variables such as SBATCH_ACCOUNT; "
    f"{WORDS_ASSUMED}: that no value has a blank and a hyphen after it.",
)
@output.json_option(Imported)
def command(
    file: Path | None,
    since: date | None,
    until: date | None,
    users: str,
    source: Path | None,
    as_script: bool,
    no_scripts: bool,
    assume: list[str],
) -> None:
    """Make FILE, a recording of the jobs that Slurm's accounting knows, for 'slurmhooks replay'.

    This command runs sacct, as an operator who may see the jobs of all users, or reads what a script has printed on the
    cluster. What accounting does not know of a request stays unknown in the recording: a replay does not compare
    requests for which a rule reads it. Exit codes: 0 fine, 1 sacct failed, 2 the saved output cannot be used.
    """
    if source is not None and (since or until or users or no_scripts or as_script):
        raise click.UsageError("--from excludes the options that choose jobs: the script has chosen them")
    script = (
        None
        if source is not None
        else export.script(days_of(since, until), users=users.split(",") if users else (), kept=not no_scripts)
    )
    if as_script:
        click.echo(script, nl=False)
        return
    if file is None:
        raise click.UsageError("name the FILE to make")
    with tempfile.TemporaryFile(dir=file.parent) as made:
        if script is not None:
            run(script, made.fileno())
        result = read(source, made.fileno(), file, frozenset(assume))
    output.result(result, show)


def days_of(since: date | None, until: date | None) -> list[tuple[date, date]]:
    """Return the days from which and until which sacct is asked for jobs.

    Raises:
        click.UsageError: there are none.
    """
    end = until or date.today() + timedelta(days=1)
    day = since or end - timedelta(days=LAST_MONTH)
    if day >= end:
        raise click.UsageError(f"--since {day} is not before --until {end}")
    return [(day + timedelta(days=number), day + timedelta(days=number + 1)) for number in range((end - day).days)]


def run(script: str, fd: int) -> None:
    """Run the script, and write its output to a file.

    Raises:
        Finding: there is no sacct, or the script failed.
    """
    if shutil.which("sacct") is None:
        raise Finding(
            "there is no sacct here: run 'slurmhooks import --print > ask.sh', 'sh ask.sh > saved' on the cluster, "
            "and 'slurmhooks import --from saved FILE' here"
        )
    with progress.waiting("asking sacct"):
        done = subprocess.run(["sh", "-c", script], stdout=fd, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-3:]
        raise Findings([f"sacct failed with exit code {done.returncode}", *said])


def read(source: Path | None, made: int, path: Path, assume: frozenset[str]) -> Imported:
    """Make the recording; without a ``source``, the saved output is in ``made``.

    Raises:
        Findings: the output cannot be used, or the recording cannot be written.
    """
    fd = made if source is None else os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with progress.bar("reading") as advance:
            saved = Saved(fd, advance)
    except SavedError as error:
        raise BadInput([f"{source or 'sacct'}: {error}"]) from error
    finally:
        if source is not None:
            os.close(fd)
    try:
        target = create(str(path))
    except OSError as error:
        raise Finding(f"{path}: {error.strerror}") from error
    try:
        with progress.bar("importing") as advance:
            counts = recording.write(target, saved, assume, users_here=source is None, progress=advance)
    except BaseException as error:
        path.unlink()  # a part of a recording is of no use
        if isinstance(error, OSError):
            raise Finding(f"{path}: {error.strerror}") from error
        if isinstance(error, SavedError):
            raise BadInput([f"{source or 'sacct'}: {error}"]) from error
        raise
    finally:
        os.close(target)
    return Imported(
        file=str(path),
        slurm=saved.release,
        jobs=counts.jobs,
        records=counts.records,
        scripts=counts.scripts,
        environments=counts.environments,
        known=counts.known,
    )


def show(result: Imported) -> None:
    """Print the result for people."""
    click.echo(visible(f"{result.file}: {result.jobs} jobs of Slurm {result.slurm}, from {result.records} records"))
    output.table(
        ("field", "known in"),
        [(name, f"{result.known[name]} ({100 * result.known[name] // max(result.jobs, 1)} %)") for name in SHOWN],
    )
    click.echo(f"{result.scripts} scripts and {result.environments} environments are kept")
    if result.jobs and not result.scripts:
        click.echo(
            "no scripts: what #SBATCH lines may set is unknown; "
            "AccountingStoreFlags=job_script,job_env keeps them from now on"
        )
