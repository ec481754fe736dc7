# SPDX-License-Identifier: GPL-2.0-or-later
"""Show job records or power calls that wait for delivery, and dead letters; deliver them now, or discard them."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import documents, output, parameters
from slurmhooks.cli.findings import Finding, Findings, shown
from slurmhooks.cli.groups import Group
from slurmhooks.files import slurm_conf
from slurmhooks.jobcomp.settings import spool_folder
from slurmhooks.jobcomp.spool import Spool
from slurmhooks.processes import deliverer, process
from slurmhooks.site import sources as site


@dataclass(kw_only=True)
class Letter:
    """A record that could not be delivered."""

    id: str
    hook: str = ""
    job_id: int = 0
    time: int = 0
    tries: int = 0
    reasons: dict[str, str] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class Report:
    """The output of `spool`; with --json it is printed as it is.

    Attributes:
        oldest: when the oldest record was written.
        next: when the next attempt begins of a record that has failed.
        why: why the last attempt of the oldest such record has failed, by handler.
    """

    folder: Path
    waiting: int
    failing: int
    oldest: float | None
    next: float | None
    why: dict[str, str]
    dead: list[Letter]
    lost: list[dict[str, Any]]


@click.group("spool", cls=Group, invoke_without_command=True)
@parameters.sysconfdir_option
@click.option("--power", "of_power", is_flag=True, help="Show power calls instead of job records.")
@output.json_option(Report)
@click.pass_context
def command(context: click.Context, sysconfdir: Path, of_power: bool) -> None:
    """Show job records or power calls that wait for delivery, and dead letters; deliver them now, or discard them.

    Run this command as root or SlurmUser on the machine of slurmctld; it works as SlurmUser. Exit codes: 0 fine, 1
    there are dead letters or lost records, 2 wrong use.
    """
    parameters.use(sysconfdir)
    if of_power:
        folder, maker = deliverer.folder(), "the first power program that slurmctld runs makes it"
    else:
        folder = Path(spool_folder(site.read_config(site.config_name()).job_end))
        maker = "slurmctld with JobCompType=jobcomp/python makes it"
    user = slurm_conf.slurm_user()
    if os.getuid() == 0 and user:
        process.become(user)  # slurmctld and its workers must be able to read and remove what this command writes
    context.obj = Spool(folder, in_memory=False)
    if not folder.is_dir():
        raise Finding(f"{folder}: there is no spool: {maker}")
    if context.invoked_subcommand is not None:
        return
    report = collect(context.obj)
    output.result(report, show)
    findings = [f"{len(report.dead)} dead letters: 'slurmhooks spool redeliver' or 'discard'"] if report.dead else []
    if report.lost:
        findings.append(
            f"{len(report.lost)} records were not kept: {folder}/lost.jsonl names the jobs; remove it when done"
        )
    if findings:
        raise Findings(findings)


@command.command("redeliver")
@click.argument("ids", nargs=-1)
@click.pass_obj
def redeliver(spool: Spool, ids: tuple[str, ...]) -> None:
    """Deliver dead letters again, to the handlers that have not got them; without IDS, all dead letters."""
    _each(spool, ids, spool.redeliver)


@command.command("retry")
@click.pass_obj
def retry(spool: Spool) -> None:
    """Deliver what waits after a failure now, without the rest of its pause."""
    spool.refresh()
    for record in spool.records():
        if record.tries:
            record.segment.note(record, "now")


@command.command("discard")
@click.argument("ids", nargs=-1, required=True)
@click.pass_obj
def discard(spool: Spool, ids: tuple[str, ...]) -> None:
    """Remove dead letters."""
    _each(spool, ids, spool.discard)


def _each(spool: Spool, ids: tuple[str, ...], act: Callable[[str], None]) -> None:
    known = [letter["id"] for letter in spool.letters()]
    unknown = [name for name in ids if name not in known]
    if unknown:
        raise Findings(f"no dead letter {name}: 'slurmhooks spool' shows them" for name in unknown)
    for name in ids or known:
        act(name)


def collect(spool: Spool) -> Report:
    """Collect the report; remove only segments that are finished."""
    spool.refresh()
    records = list(spool.records())
    failing = [record for record in records if record.tries > 0]
    return Report(
        folder=spool.folder,
        waiting=len(records),
        failing=len(failing),
        oldest=min((record.frame.time / 1e9 for record in records), default=None),
        next=min((record.due for record in failing), default=None),
        why=failing[0].reasons if failing else {},
        dead=[documents.build(Letter, letter) for letter in spool.letters()],
        lost=spool.lost(),
    )


def show(report: Report) -> None:
    """Print the report."""
    age = "" if report.oldest is None else f", the oldest for {time.time() - report.oldest:.0f} s"
    click.echo(shown(f"{report.folder}: {report.waiting} records wait, {report.failing} of them after a failure{age}"))
    if report.next is not None:
        click.echo(f"next attempt in {max(0, report.next - time.time()):.0f} s; 'slurmhooks spool retry' begins it now")
    for handler, reason in report.why.items():
        click.echo(shown(f"last failure: {handler}: {reason}"))
    cells = [
        [
            letter.id,
            letter.hook,
            str(letter.job_id),
            datetime.fromtimestamp(letter.time).isoformat(sep=" "),
            str(letter.tries),
            "; ".join(f"{handler}: {reason}" for handler, reason in letter.reasons.items()),
        ]
        for letter in report.dead
    ]
    if cells:
        output.table(("dead letter", "hook", "job", "time", "tries", "why"), cells)
