# SPDX-License-Identifier: GPL-2.0-or-later
"""Run other hooks over recorded requests, and show what they would have decided differently."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from slurmhooks.cli import output, progress
from slurmhooks.cli.findings import BadInput, word
from slurmhooks.log import visible
from slurmhooks.recording.file import RecordingError, check_access
from slurmhooks.wire.message import MessageError
from slurmhooks.wire.tables import FILE_NAME, TableError, Tables, parse
from slurmhooks.workshop.cli.anonymity import Name, Numbered
from slurmhooks.workshop.recorded import ACCOUNTING
from slurmhooks.workshop.replay.report import NO_ACCOUNT, Change, Example, ReplayReport, Share
from slurmhooks.workshop.replay.run import Options, ReplayError, replay
from slurmhooks.workshop.testing.tables import tables_of

HOOKS = click.Path(exists=True, path_type=Path)
SAID = ("slurmhooks", "slurm", "python", "source", "assumed")
"""What an anonymous report says of a recording; the name of the machine is not in it."""


@click.command("replay")
@click.argument("recording", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
@click.option(
    "--hooks",
    "new",
    type=HOOKS,
    required=True,
    metavar="NEW",
    help="The new hooks: a slurmhooks.toml, a folder with one or with hook files, or a hook file.",
)
@click.option(
    "--old",
    type=HOOKS,
    metavar="OLD",
    help="Run these hooks as the old ones. Default: the recorded answers are the old decisions.",
)
@click.option(
    "--release",
    metavar="RELEASE",
    help="Replay for another release of Slurm, such as 26.05, or for the build in this folder of plugins.",
)
@click.option(
    "--enforce-all", is_flag=True, help="Treat every handler as enforced for all, regardless of mode and share."
)
@click.option("--network", is_flag=True, help="Let handlers use the network.")
@click.option(
    "--processes",
    type=click.IntRange(1),
    default=os.cpu_count() or 1,
    show_default="the number of CPUs",
    help="Number of processes for each set of hooks; each process replays one part of the recording.",
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Number of users, accounts and values to show for each difference.",
)
@click.option(
    "--examples", type=click.IntRange(0), default=3, show_default=True, help="Number of requests to show for each."
)
@click.option("--anonymous", is_flag=True, help="Leave out names of users, accounts and jobs, and values of fields.")
@click.option("--expect-same", is_flag=True, help="Exit with 1 if anything differs, or cannot be compared.")
@output.json_option(ReplayReport)
def command(
    recording: Path,
    new: Path,
    old: Path | None,
    release: str | None,
    enforce_all: bool,
    network: bool,
    processes: int,
    top: int,
    examples: int,
    anonymous: bool,
    expect_same: bool,
) -> None:
    """Run other hooks over the requests in FILE, and show what they would have decided differently.

    'slurmhooks record' or 'slurmhooks import' makes FILE. Handlers run again, including their side effects, which they
    can avoid if SLURMHOOKS_REPLAYING is set in their environment. They have no network. Exit codes: 0 fine, 1 something
    differs and --expect-same is given, 2 the file or the hooks cannot be used.
    """
    # Processes that run handlers inherit the descriptor, because their users may not be able to open the file.
    fd = os.open(recording, os.O_RDONLY | os.O_CLOEXEC)
    try:
        check_access(fd, str(recording))
        options = Options(
            new=str(new),
            old=None if old is None else str(old),
            tables=None if release is None else tables_for(release),
            processes=processes,
            network=network,
            guard=True,
            enforce_all=enforce_all,
            top=top,
            examples=examples,
        )
        with progress.bar("replaying") as advance:
            report = replay(fd, options, advance)
    except ReplayError as error:
        raise BadInput(error.findings) from error
    except (RecordingError, MessageError) as error:
        raise BadInput([f"{recording}: {error}" if str(recording) not in str(error) else str(error)]) from error
    finally:
        os.close(fd)
    if anonymous:
        report = without_names(report)
    output.result(report, show)
    if expect_same and not report.same:
        sys.exit(1)


def without_names(report: ReplayReport) -> ReplayReport:
    """Return a report without the names of users, accounts and jobs, and without texts that may contain them.

    The ids of examples stay, so that administrators can find them. So do the notes, which have no names.
    """
    name = Numbered((NO_ACCOUNT,))
    rules = [
        replace(
            rule,
            users=_named(rule.users, "user", name),
            accounts=_named(rule.accounts, "account", name),
            examples=_unnamed(rule.examples, name),
        )
        for rule in report.rules
    ]
    fields = [replace(field, values=[], examples=_unnamed(field.examples, name)) for field in report.fields]
    bugs = [replace(bug, traceback=bug.error, examples=_unnamed(bug.examples, name)) for bug in report.bugs]
    needs = [replace(need, examples=_unnamed(need.examples, name)) for need in report.needs]
    recorded = {key: report.recorded[key] for key in SAID if key in report.recorded}
    return replace(report, rules=rules, fields=fields, bugs=bugs, needs=needs, recorded=recorded)


def _named(shares: Sequence[Share], kind: str, name: Name) -> list[Share]:
    return [replace(share, name=name(kind, share.name)) for share in shares]


def _unnamed(examples: Sequence[Example], name: Name) -> list[Example]:
    return [
        replace(
            example,
            user=name("user", example.user),
            account=None if example.account is None else name("account", example.account),
            name=None,
        )
        for example in examples
    ]


def tables_for(release: str) -> Tables:
    """Return the tables of a release, or of the build in a folder.

    Raises:
        click.BadParameter: the tables do not exist.
    """
    try:
        folder = Path(release, FILE_NAME)
        return parse(folder.read_text()) if folder.exists() else tables_of(release)
    except (TableError, OSError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--release") from error


def show(report: ReplayReport) -> None:
    """Print the report for people."""
    from slurmhooks.rules.kinds import counted

    span = "" if report.first is None or report.last is None else f", {_at(report.first)} to {_at(report.last)}"
    recorded = report.recorded
    verb = "imported" if recorded.get("source") == ACCOUNTING else "recorded"
    by = f"{verb} by slurmhooks {recorded.get('slurmhooks')} on Slurm {recorded.get('slurm')}"
    click.echo(visible(f"{counted(report.requests, 'request')}{span}, {by}"))
    click.echo(f"new hooks: {report.accepted} accepted, {report.refused} refused, {report.failed} failed")
    if report.unknown:
        are = "is" if report.unknown == 1 else "are"
        click.echo(click.style(f"{counted(report.unknown, 'request')} {are} not compared: see below", fg="yellow"))
    if report.same:
        click.echo(click.style("nothing differs", fg="green", bold=True))
    else:
        share, fewer = report.share(report.more_refused), report.share(report.fewer_refused)
        more = f"{report.more_refused} more refused{share}, {report.fewer_refused} fewer{fewer}"
        differ = "differs" if report.different == 1 else "differ"
        click.echo(click.style(f"{counted(report.different, 'request')} {differ}: {more}", fg="yellow", bold=True))
    for rule in report.rules:
        numbers = ((rule.more, "more"), (rule.fewer, "fewer"))
        counts = [f"{number} {which}{report.share(number)}" for number, which in numbers if number]
        lines = [
            f"users: {report.of_users(rule)}: {_shares(rule.users)}",
            f"accounts: {report.of_accounts(rule)}: {_shares(rule.accounts)}",
            *_examples(rule.examples),
        ]
        output.show(f"{rule.rule} refuses {', '.join(counts)}", lines)
    for field in report.fields:
        values = [_change(change) for change in field.values]
        output.show(f"{field.field} differs in {field.requests}", [*values, *_examples(field.examples)])
    if report.other_texts:
        click.echo(f"{report.other_texts} refused or accepted with another text or code")
    for bug in report.bugs:
        lines = [bug.traceback.rstrip("\n"), *_examples(bug.examples)]
        output.show(f"bug in {bug.rule} of the {bug.hooks} hooks, in {bug.requests}", lines)
    for need in report.needs:
        how = f": {need.advice}" if need.advice else ""
        title = f"{need.requests} not compared: the {need.hooks} hooks need {need.what}, which was not recorded{how}"
        output.show(title, _examples(need.examples) or ["(no examples)"])
    output.show("notes", report.notes)


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).isoformat(" ", "seconds")


def _shares(shares: Iterable[Share]) -> str:
    return ", ".join(
        f"{share.name if share.name == NO_ACCOUNT else word(share.name)} {share.requests}" for share in shares
    )


def _change(change: Change) -> str:
    return f"{change.requests}: {visible(change.old, limit=256)} -> {visible(change.new, limit=256)}"


def _examples(examples: Iterable[Example]) -> list[str]:
    return [
        visible(f"for example {example.id}, {_at(example.time)}, {example.hook} of {word(example.user)}")
        + (f", job {word(example.name)}" if example.name else "")
        for example in examples
    ]
