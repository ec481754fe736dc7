# SPDX-License-Identifier: GPL-2.0-or-later
"""Count the decision log: refusals and warnings by rule, day, account and user, and the time of handlers."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import click

from slurmhooks.cli import output, parameters, progress
from slurmhooks.cli.decisions import Log
from slurmhooks.collector.folders import decisions_folder
from slurmhooks.site import sources as site
from slurmhooks.workshop.cli.anonymity import Numbered, plain
from slurmhooks.workshop.cli.counts import KEPT, KINDS, CountsReport
from slurmhooks.workshop.cli.tally import Tally

CSV = ("rules", "days", "accounts", "users", "hooks")


@click.command("report")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--csv", "of", type=click.Choice(CSV), help="Print one table as CSV, for spreadsheets and notebooks.")
@click.option(
    "--since", callback=parameters.moment, metavar="TIME", help="Leave out what is older, such as 2027-05-01 or 7d."
)
@click.option("--until", callback=parameters.moment, metavar="TIME", help="Leave out what is newer.")
@click.option(
    "--change",
    callback=parameters.moment,
    metavar="TIME",
    help="Compare the requests before and after this time. Default: before and after the last change of the hooks.",
)
@click.option("--anonymous", is_flag=True, help="Leave out names of users and accounts.")
@click.option(
    "--top", type=click.IntRange(1), default=20, show_default=True, help="Number of users and accounts to show."
)
@output.json_option(CountsReport)
@parameters.sysconfdir_option
def command(
    files: tuple[Path, ...],
    of: str | None,
    since: datetime | None,
    until: datetime | None,
    change: datetime | None,
    anonymous: bool,
    top: int,
    sysconfdir: Path,
) -> None:
    """Count the decision log: refusals and warnings by rule, day, account and user, and the time of handlers.

    FILE is a file of the decision log, or a folder of such files, which may come from several machines. The default
    is the log of this machine, which root and SlurmUser can read. Exit codes: 0 fine, 1 there is no log, 2 wrong use.
    """
    notes = []
    if not files:
        parameters.use(sysconfdir)
        read = site.shown_config()
        files = (Path(decisions_folder(read.decisions.folder)),)
        if read.decisions.sample < 1:
            share = f"[decisions] sample = {read.decisions.sample:g}"
            notes.append(f"The log has only a share of the accepted requests ({share}), so they are too few here.")
    logs = [Log(path) for path in files]
    for log in logs:
        log.must_exist()
    tally = Tally(change)
    with progress.waiting("reading the decision log"):
        for log in logs:
            for content in log.contents(since, until):
                tally.add(content)
    report = tally.report(top, Numbered(KEPT) if anonymous else plain)
    if report.first is None:
        notes.append(f"No line of {', '.join(map(str, files))} is about a request of this time.")
    if of is not None:
        rows = [asdict(each) for each in getattr(report, of)]
        output.csv_table(list(rows[0]) if rows else [], [list(row.values()) for row in rows])
    elif output.wants_json():
        output.document(report)
    else:
        show(report, notes)


def show(report: CountsReport, notes: Iterable[str]) -> None:
    """Print the report for people."""
    from slurmhooks.rules.kinds import counted
    from slurmhooks.workshop.replay.report import percent

    def shares(row: object, requests: int) -> list[str]:
        numbers = [getattr(row, kind) for kind in KINDS]
        return [f"{number}{percent(number, requests)}" for number in numbers]

    total = report.total
    span = "" if report.first is None else f", {report.first:%Y-%m-%d %H:%M} to {report.last:%Y-%m-%d %H:%M}"
    requests = counted(total.requests, "request")
    refused, failed, warned, _ = shares(total, total.requests)
    click.echo(f"{requests}{span}: {refused} refused, {failed} failed, {warned} warned")
    for note in notes:
        click.echo(note)
    rules = [rule for rule in report.rules if any(getattr(rule, kind) for kind in KINDS)]
    output.table(
        ("rule", *KINDS, "mean us", "longest us"),
        [(rule.rule, *shares(rule, total.requests), str(rule.mean), str(rule.most)) for rule in rules],
    )
    for name, rows in (("day", report.days), ("account", report.accounts), ("user", report.users)):
        output.table(
            (name, "requests", *KINDS),
            [(row.name, str(row.requests), *shares(row, row.requests)) for row in rows],
        )
    if report.change is not None:
        change = report.change
        before = counted(change.before, "request")
        click.echo(f"changed {change.time:%Y-%m-%d %H:%M}: {before} before, {change.after} after")
        output.table(
            ("rule", "refused before", "refused after"),
            [(each.rule, str(each.before), str(each.after)) for each in change.rules],
        )
