# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the hooks in force in slurmctld and on the nodes, and name machines that differ."""

import os
import sys
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slurmhooks.cli import output, parameters
from slurmhooks.cli.bundles.history import Event
from slurmhooks.cli.findings import Findings, shown
from slurmhooks.files import slurm_conf

if TYPE_CHECKING:
    from slurmhooks.cli.bundles import nodes as machines

CURRENT = "current"
LONGEST = 1000
"""Characters of a report that is cut, with room for its mark: srun mixes lines of more than 1,024 bytes."""


@dataclass
class Row:
    """The bundle in force on one machine, or in one plugin of slurmctld.

    Attributes:
        where: name of the machine or plugin.
        bundle: the id; None if it is unknown.
        state: the state in words.
        at: time of the report.
    """

    where: str
    bundle: str | None
    state: str
    at: datetime


@dataclass
class StatusReport:
    """The output with --json.

    Attributes:
        expected: the id that all should have in force.
        kept: the bundles that this machine keeps, the one that came into force last at the end.
        before: the set that `rollback` puts in force; None if that is not known.
        history: what came into force last on this machine, the latest at the end.
        sources: how the files beside slurm.conf differ from what is in force; None: they do not.
        rows: this machine, its slurmctld, and the nodes that were asked.
        findings: machines that have something else in force, or are unknown.
        not_asked: other controllers of the cluster that have not reported.
        manifests: why launches on a machine start Python in every process.
        packages: what the sets of machines import, and what has changed since their deployment.
    """

    expected: str | None
    kept: list[str]
    rows: list[Row]
    findings: list[str]
    not_asked: list[str] = field(default_factory=list)
    before: str | None = None
    history: list[Event] = field(default_factory=list)
    sources: str | None = None
    manifests: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)


@click.command("status")
@parameters.sysconfdir_option
@click.option("--srun", is_flag=True, help="Ask nodes, by a step with a task on each node.")
@click.option("--srun-option", "options", multiple=True, help="Another option of srun, such as --partition=debug.")
@click.option("--nodes", help="The nodes that must answer, such as n[1-9]; by default those that can run a job.")
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="FILE|HOST",
    help="Read the reports of other machines from a file, from all files of a folder, or from a host by ssh.",
)
@click.option("--expect", metavar="ID", help="The bundle that all should have; by default, that of this machine.")
@click.option("--report", "as_report", is_flag=True, help="Print the report of this machine, for --from.")
@output.json_option(StatusReport)
def command(
    sysconfdir: Path,
    srun: bool,
    options: tuple[str, ...],
    nodes: str | None,
    sources: tuple[str, ...],
    expect: str | None,
    as_report: bool,
) -> None:
    """Compare the hooks in force in slurmctld and on the nodes, and name machines that differ.

    The exit code is 1 if a machine has other files than this one or plugins that do not fit its Slurm, if no slurmctld
    answers on a machine that should have one, or if a machine does not answer.
    """
    from slurmhooks.cli.bundles import nodes as machines

    here = machines.this(sysconfdir)
    if as_report:
        click.echo(machines.MARK + for_others(here))
        return
    others = machines.others(sources)
    wanted: list[str] = []
    if srun:
        program = os.path.abspath(sys.argv[0])
        from slurmhooks.cli import progress

        with progress.waiting("asking the nodes"):
            answers, wanted = machines.over_srun(options, nodes, program)
        others += answers
    elif nodes is not None:
        wanted = machines.hostnames(nodes)
    report = compare(here, others, wanted, expect or here.deployed or here.bundle)
    report.before, report.history, report.sources = here.before, here.history, here.sources
    names = slurm_conf.controllers(str(sysconfdir / "slurm.conf"))
    if here.name in names:
        report.not_asked = [name for name in names if name not in {each.name for each in (here, *others)}]
    output.result(report, show)
    if report.findings:
        raise Findings(report.findings)


def for_others(here: "machines.Machine") -> str:
    """Return the report of this machine in a line that is short enough for srun, which mixes longer ones of tasks.

    Only the machine itself shows its history, and all packages if that are many.
    """
    for count in range(len(here.packages), -1, -1):
        left = len(here.packages) - count
        more = [f"and {left} more packages"] if left else []
        report = output.as_json(replace(here, history=[], packages=[*here.packages[:count], *more]))
        if len(report) < LONGEST:
            break
    return report


def compare(
    here: "machines.Machine", others: "list[machines.Machine]", wanted: list[str], expected: str | None
) -> StatusReport:
    """Compare machines; of two reports of one machine the later one counts."""
    from slurmhooks.cli import manifests

    latest = {each.name: each for each in sorted(others, key=lambda each: each.at)}
    rows = [_row(each, expected, here.kept) for each in (here, *(latest[name] for name in sorted(latest)))]
    findings = []
    for each in (here, *latest.values()):
        findings += [f"{each.name}: {text}" for text in each.findings]
        for point in each.slurmctld:
            state = _state(point.bundle, point.bundle, expected, here.kept)
            where = f"{each.name}: slurmctld, {point.point}"
            rows.append(Row(where=where, bundle=point.bundle, state=state, at=each.at))
            findings += [f"{where}: {text}" for text in point.fault]
    findings += [f"{row.where}: {row.state}" for row in rows if row.state != CURRENT]
    findings += [f"{name}: no answer" for name in wanted if name not in latest]
    unused = [
        f"{each.name}: the hook manifest is not used, so Python starts in every process: {each.manifest};"
        f" {manifests.REMEDY}"
        for each in (here, *latest.values())
        if each.manifest is not None
    ]
    changed = [f"{each.name}: {text}" for each in (here, *latest.values()) for text in each.packages]
    return StatusReport(expected, here.kept, rows, list(dict.fromkeys(findings)), manifests=unused, packages=changed)


def _row(machine: "machines.Machine", expected: str | None, kept: list[str]) -> Row:
    state = _state(machine.bundle, machine.deployed, expected, kept)
    return Row(where=machine.name, bundle=machine.bundle, state=state, at=machine.at)


def _state(bundle: str | None, deployed: str | None, expected: str | None, kept: list[str]) -> str:
    if bundle is None:
        return "not known"
    if bundle == expected:
        return CURRENT
    if deployed is not None and bundle != deployed:
        return f"files of {deployed} were changed by hand"
    if bundle in kept and expected in kept and kept.index(bundle) < kept.index(expected):
        return f"behind: has {bundle}"
    return f"has {bundle} instead"


def _event(event: Event) -> tuple[str, str, str, str, str]:
    at = f"{event.at.astimezone():%Y-%m-%d %H:%M:%S}" if event.at is not None else ""
    words = " ".join(filter(None, (event.message, event.revision and f"({event.revision})")))
    return at, event.bundle, event.by or "", event.verb, words


def show(report: StatusReport) -> None:
    """Print a table."""
    rows = [
        (row.where, row.bundle or "-", row.state, f"{row.at.astimezone():%Y-%m-%d %H:%M:%S}") for row in report.rows
    ]
    output.table(("where", "set", "state", "at"), rows)
    for text in (*report.manifests, *report.packages):
        click.echo(shown(text))
    for name in report.not_asked:
        click.echo(f"{shown(name)}: another controller of this cluster, not asked: slurmhooks status --from {name}")
    if report.sources is not None:
        click.echo(shown(report.sources))
    if report.history:
        output.table(("in force since", "set", "by", "command", "message"), [_event(each) for each in report.history])
    if report.kept:
        click.echo(f"kept for rollback: {', '.join(map(shown, report.kept))}; before: {shown(report.before or 'none')}")
