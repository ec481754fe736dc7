# SPDX-License-Identifier: GPL-2.0-or-later
"""Show job records or calls of programs that wait for delivery, and dead letters; deliver them now, or discard them."""

import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import configuration, documents, output, parameters
from slurmhooks.cli import slurm as programs
from slurmhooks.cli.findings import Finding, Findings, shown
from slurmhooks.collector.folders import spool_folder
from slurmhooks.errors import SlurmhooksError
from slurmhooks.files import slurm_conf
from slurmhooks.handover import calls
from slurmhooks.jobcomp.delivery import IDLE, UNREADABLE
from slurmhooks.jobcomp.segment import Record
from slurmhooks.jobcomp.spool import Spool
from slurmhooks.power import overtaken
from slurmhooks.power.calls import Call
from slurmhooks.power.model import scontrol
from slurmhooks.processes import deliverer, process
from slurmhooks.site import sources as site

START = "from slurmhooks.processes import deliverer; deliverer.start(deliverer.folder('{point}'))"
SHOWN = 20
"""Waiting records that are printed."""


@dataclass(kw_only=True)
class Letter:
    """A record that could not be delivered.

    Attributes:
        nodes: of a power call; of another call, what Slurm gave to the program.
        overtaken: nodes of a power call that Slurm no longer wants to be so, and what they are; "": none is known.
    """

    id: str
    hook: str = ""
    job_id: int = 0
    time: int = 0
    tries: int = 0
    reasons: dict[str, str] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)
    nodes: str = ""
    overtaken: str = ""


@dataclass(kw_only=True)
class SpoolReport:
    """The output of `spool`; with --json it is printed as it is.

    Attributes:
        oldest: when the oldest record was written.
        next: when the next attempt begins of a record that has failed.
        why: why the last attempt of the oldest such record has failed, by handler.
        records: those that wait, oldest first.
    """

    folder: Path
    waiting: int
    failing: int
    oldest: float | None
    next: float | None
    why: dict[str, str]
    dead: list[Letter]
    lost: list[dict[str, Any]]
    records: list[Letter]


class Place:
    """A spool, and how texts speak of it.

    Attributes:
        point: the plugin point whose calls it has; None: it has job records.
        name: of the command for it.
    """

    def __init__(self, spool: Spool, point: str | None) -> None:
        self.spool = spool
        self.point = point
        self.name = f"slurmhooks spool{f' --{point}' if point else ''}"

    def deliver(self) -> None:
        """See that what waits is delivered, and say by whom.

        Raises:
            Finding: nobody can be started.
        """
        if self.point is None:
            click.echo(
                f"slurmctld's workers look for them within {IDLE:.0f} seconds, while it runs with JobCompType="
                "jobcomp/python"
            )
        elif deliverer.waits(self.spool.folder):
            # As the programs do, which Slurm gives no environment either. Another process may deliver already.
            tool = programs.find_program("scontrol")
            folders = [programs.PROGRAM_PATH, "/sbin", "/bin", *([str(tool.parent)] if tool else [])]
            options = ["-X", f"slurmhooks_sysconfdir={slurm_conf.directory()}"]
            plugins = configuration.installed_in(Path(slurm_conf.directory()))
            options += ["-X", f"slurmhooks_plugins={plugins}/slurmhooks"] if plugins else []
            done = subprocess.run(
                (sys.executable, "-I", "-W", "ignore", *options, "-c", START.format(point=self.point)),
                env={"PATH": os.pathsep.join(folders)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
            if done.returncode:
                raise Finding(f"their delivery cannot be started: {done.stderr.strip()}")
            click.echo(shown(f"their delivery has begun; its log is {self.spool.folder / deliverer.LOG}"))


@click.command("spool")
@click.argument("action", type=click.Choice(["redeliver", "retry", "discard"]), required=False, metavar="[ACTION]")
@click.argument("ids", nargs=-1)
@parameters.sysconfdir_option
@click.option("--power", "point", flag_value="power", help="Show power calls instead of job records.")
@click.option("--mail", "point", flag_value="mail", help="Show mails instead.")
@click.option("--reservation", "point", flag_value="reservation", help="Show starts and ends of reservations instead.")
@click.option("--overtaken", "anyway", is_flag=True, help="Redeliver also power calls that Slurm no longer wants.")
@output.json_option(SpoolReport)
def command(action: str | None, ids: tuple[str, ...], sysconfdir: Path, point: str | None, anyway: bool) -> None:
    """Show job records or calls of programs that wait, and dead letters; deliver them now, or discard them.

    ACTION is "redeliver" to deliver dead letters again, all or those with IDS, to the handlers that have not got them
    (a power call whose nodes are not as they were is left: it might start a machine that nobody has asked for);
    "retry" to deliver what waits after a failure now, without the rest of its pause; "discard" to remove dead letters,
    or records that wait, by their IDS (a handler that is running goes on).

    Run this command as root or SlurmUser on the machine of slurmctld; it works as SlurmUser. Exit codes: 0 fine, 1
    there are dead letters or lost records, 2 wrong use.
    """
    if ids and action == "retry":
        raise click.UsageError("retry takes no IDS: it is for all that waits")
    if not ids and action == "discard":
        raise click.UsageError("discard needs the IDS of what it removes")
    if anyway and action != "redeliver":
        raise click.UsageError("--overtaken is for redeliver")
    parameters.use(sysconfdir)
    if point is not None:
        folder, maker = deliverer.folder(point), f"the first {point} program that slurmctld runs makes it"
    else:
        folder = Path(spool_folder(site.shown_config().jobcomp.spool))
        maker = "slurmctld with JobCompType=jobcomp/python makes it"
    user = slurm_conf.slurm_user()
    if os.getuid() == 0 and user:
        process.become(user)  # slurmctld and its workers must be able to read and remove what this command writes
    place = Place(Spool(folder, in_memory=False), point)
    if not folder.is_dir():
        raise Finding(f"{folder}: there is no spool: {maker}")
    if action == "redeliver":
        redeliver(place, ids, anyway)
    elif action == "retry":
        retry(place)
    elif action == "discard":
        discard(place, ids)
    else:
        _show_all(place)


def _show_all(place: Place) -> None:
    """Print what is in a spool.

    Raises:
        Findings: there are dead letters or lost records.
    """
    report = collect(place)
    output.result(report, lambda report: show(report, place))
    findings = [f"{len(report.dead)} dead letters: '{place.name} redeliver' or 'discard'"] if report.dead else []
    if report.lost:
        findings.append(
            f"{len(report.lost)} records were not kept: {report.folder}/lost.jsonl names the jobs; remove it when done"
        )
    if findings:
        raise Findings(findings)


def redeliver(place: Place, ids: tuple[str, ...], anyway: bool) -> None:
    """Deliver dead letters again, all or some; ``anyway``: also power calls that Slurm no longer wants."""
    letters = _dead(place)
    _require(place, ids, [letter.id for letter in letters], "")
    chosen = [letter for letter in letters if not ids or letter.id in ids]
    left = [letter for letter in chosen if letter.overtaken and not anyway]
    queued = 0
    for letter in chosen:
        if letter not in left:
            with suppress(FileNotFoundError):  # another command has taken it meanwhile
                place.spool.redeliver(letter.id)
                queued += 1
    if queued:
        click.echo(f"queued for delivery: {queued}")
        place.deliver()
    if left:
        raise Findings(
            f"{letter.id} is not delivered, because Slurm no longer wants {letter.hook} of {letter.nodes}:"
            f" {letter.overtaken}; '{place.name} discard {letter.id}', or redeliver it with --overtaken"
            for letter in left
        )


def retry(place: Place) -> None:
    """Deliver what waits after a failure now."""
    place.spool.refresh()
    for record in place.spool.records():
        if record.tries:
            record.segment.note(record, "now")
    if any(True for _ in place.spool.records()):
        place.deliver()


def discard(place: Place, ids: tuple[str, ...]) -> None:
    """Remove dead letters, or records that wait."""
    place.spool.refresh()
    dead = [str(letter["id"]) for letter in place.spool.letters()]
    waiting = {record.frame.id: record for record in place.spool.records()}
    _require(place, ids, [*dead, *waiting], ", and no record that waits")
    for name in ids:
        if name in dead:
            with suppress(FileNotFoundError):  # as above
                place.spool.discard(name)
        else:
            waiting[name].segment.note(waiting[name], "dead")


def _require(place: Place, ids: Iterable[str], known: Collection[str], more: str) -> None:
    unknown = [name for name in ids if name not in known]
    if unknown:
        raise Findings(f"no dead letter {name}{more}: '{place.name}' shows them" for name in unknown)


def collect(place: Place) -> SpoolReport:
    """Collect the report; remove only segments that are finished."""
    spool = place.spool
    spool.refresh()
    records = list(spool.records())
    failing = [record for record in records if record.tries > 0]
    return SpoolReport(
        folder=spool.folder,
        waiting=len(records),
        failing=len(failing),
        oldest=min((record.frame.time / 1e9 for record in records), default=None),
        next=min((record.due for record in failing), default=None),
        why=failing[0].reasons if failing else {},
        dead=_dead(place),
        lost=spool.lost(),
        records=[_waiting(place, record) for record in records],
    )


def _dead(place: Place) -> list[Letter]:
    letters = [documents.build(Letter, letter) for letter in place.spool.letters()]
    for letter in letters if place.point else ():
        letter.nodes = _nodes(place, place.spool.message(letter.id))
    if place.point == "power" and letters:
        try:
            known = overtaken.states()
        except SlurmhooksError as error:
            output.note(f"whether Slurm still wants what these calls are about is not known: {error}")
            known = None
        for letter in letters:
            if known is not None and letter.nodes and letter.hook in overtaken.WANTS:
                letter.overtaken = _overtaken(letter, known)
    return letters


def _overtaken(letter: Letter, known: dict[str, frozenset[str]]) -> str:
    try:
        names = scontrol("show", "hostnames", letter.nodes).split()
    except SlurmhooksError as error:
        return str(error)
    return overtaken.overtaken(letter.hook, names, known)


def _waiting(place: Place, record: Record) -> Letter:
    frame = record.frame
    return Letter(
        id=frame.id,
        hook=frame.hook,
        job_id=frame.job_id,
        time=frame.time // 10**9,
        tries=record.tries,
        reasons=record.reasons,
        passed=sorted(record.passed),
        nodes=_nodes(place, record.segment.message(frame)) if place.point else "",
    )


def _nodes(place: Place, message: bytes) -> str:
    """Return the nodes of a power call, or what another call is about; what it begins with if it is damaged."""
    try:
        if place.point == "power":
            return Call.of(message).nodes
        return " ".join(calls.read(message)[0]).removeprefix("-s ")
    except UNREADABLE:
        return message.partition(b"\0")[0].decode(errors="replace")


def show(report: SpoolReport, place: Place) -> None:
    """Print the report."""
    age = "" if report.oldest is None else f", the oldest for {time.time() - report.oldest:.0f} s"
    click.echo(shown(f"{report.folder}: {report.waiting} records wait, {report.failing} of them after a failure{age}"))
    if report.next is not None:
        click.echo(f"next attempt in {max(0, report.next - time.time()):.0f} s; '{place.name} retry' begins it now")
    for handler, reason in report.why.items():
        click.echo(shown(f"last failure: {handler}: {reason}"))
    _table("waiting", report.records[:SHOWN], place)
    if len(report.records) > SHOWN:
        click.echo(f"and {len(report.records) - SHOWN} more: '{place.name} --json' shows all")
    _table("dead letter", report.dead, place)


def _table(title: str, letters: list[Letter], place: Place) -> None:
    cells = [
        [
            letter.id,
            letter.hook,
            letter.nodes if place.point else str(letter.job_id),
            datetime.fromtimestamp(letter.time).isoformat(sep=" "),
            str(letter.tries),
            "; ".join(
                [
                    *([f"Slurm no longer wants it: {letter.overtaken}"] if letter.overtaken else []),
                    *(f"{handler}: {reason}" for handler, reason in letter.reasons.items()),
                ]
            ),
        ]
        for letter in letters
    ]
    if cells:
        about = {None: "job", "power": "nodes"}.get(place.point, "about")
        output.table((title, "hook", about, "time", "tries", "why"), cells)
