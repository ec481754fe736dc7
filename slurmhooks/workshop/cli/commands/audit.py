# SPDX-License-Identifier: GPL-2.0-or-later
"""Show which jobs of the running slurmctld the rules about submissions would refuse."""

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import output, progress
from slurmhooks.cli.findings import shown, word
from slurmhooks.errors import LoadError
from slurmhooks.slurmctld.actions import target_of
from slurmhooks.slurmctld.asking import Asking
from slurmhooks.slurmctld.effects import LAST_STATE
from slurmhooks.slurmctld.views import Views
from slurmhooks.workshop.cli.commands.try_.site_handlers import common, load
from slurmhooks.workshop.cli.slurmctld import connect
from slurmhooks.workshop.replay.audit import Audited, Auditor


@dataclass(kw_only=True)
class Refused:
    """A job that a rule would refuse.

    Attributes:
        job: as users write it.
        user: name of its owner, or the user id.
        account: its account, or null.
        partition: its partitions.
        state: "pending", "running" or "suspended".
        verdict: "refused"; or "failed" if the rule has a bug.
        rule: the label of the handler.
        text: what the user would read.
    """

    job: str
    user: str
    account: str | None
    partition: str | None
    state: str
    verdict: str
    rule: str
    text: str | None


@dataclass(kw_only=True)
class Exempt:
    """A job that is exempt from rules until a day or a time.

    Attributes:
        job: its id.
        user: name of its owner, or the user id.
        rules: until when, and why, by the labels of the rules.
    """

    job: str
    user: str
    rules: dict[str, str]


@dataclass(kw_only=True)
class NotCompared:
    """Jobs about which nothing can be said, for the same reason.

    Attributes:
        why: the reason.
        jobs: the first ones, at most 10.
        count: how many there are.
    """

    why: str
    jobs: list[str]
    count: int


@dataclass(kw_only=True)
class Audit:
    """The result.

    Attributes:
        jobs: number of pending, running and suspended jobs.
        accepted: how many of them all rules accept.
        refused: those that a rule would refuse.
        not_compared: those about which the rules need to know more.
        exempt: those that are exempt from a rule until a day or a time; they are also counted above.
    """

    jobs: int
    accepted: int
    refused: list[Refused]
    not_compared: list[NotCompared]
    exempt: list[Exempt] = field(default_factory=list)


STATES = ("pending", "running", "suspended")
EXAMPLES = 10


@click.command("audit")
@click.option("--enforce-all", is_flag=True, help="Treat every rule as enforced for all, regardless of mode and share.")
@common(Audit)
def command(enforce_all: bool, sysconfdir: Path, files: tuple[Path, ...]) -> None:
    """Show which pending and running jobs the rules would refuse if they were submitted as they are now.

    The rules are those in force, or those of --hooks, for job_submit. Run this command as root or SlurmUser on the
    machine of slurmctld. If a rule reads what slurmctld does not store, or its verdict depends on whether Slurm filled
    in a field, the job is not compared. Exit codes: 0 no finding, 1 jobs would be refused, 2 wrong use.
    """
    registry = load(sysconfdir, files, scripts=True, in_force=True)
    slurmctld = connect(sysconfdir)
    auditor = Auditor(slurmctld.tables, registry, slurmctld.query, enforce_all=enforce_all)
    table = Views(slurmctld.tables).table("jobs", Asking(slurmctld.tables, slurmctld.query()))
    jobs = [job for job in table.values() if int(job.job_state) <= LAST_STATE]
    result = Audit(jobs=len(jobs), accepted=0, refused=[], not_compared=[])
    try:
        with auditor.running(), progress.bar("auditing") as advance:
            for number, job in enumerate(jobs):
                _add(result, job, auditor.audit(job))
                advance(number + 1, len(jobs))
    except LoadError as error:
        raise click.ClickException("; ".join(error.findings)) from error
    output.result(result, _show)
    sys.exit(1 if result.refused else 0)


def _add(result: Audit, job: Any, audited: Audited) -> None:
    decision, name = audited.decision, target_of(job)
    if decision.exempt:
        result.exempt.append(Exempt(job=name, user=job.user_name or str(job.user_id), rules=decision.exempt))
    if audited.unsure:
        group = next((each for each in result.not_compared if each.why == audited.unsure), None)
        if group is None:
            group = NotCompared(why=audited.unsure, jobs=[], count=0)
            result.not_compared.append(group)
        group.count += 1
        group.jobs += [name] if len(group.jobs) < EXAMPLES else []
    elif decision.code:
        result.refused.append(
            Refused(
                job=name,
                user=job.user_name or str(job.user_id),
                account=job.account,
                partition=job.partition,
                state=STATES[int(job.job_state)],
                verdict=decision.verdict,
                rule=decision.decided,
                text=decision.text,
            )
        )
    else:
        result.accepted += 1


def _show(result: Audit) -> None:
    from slurmhooks.rules.kinds import counted

    cells = [
        (each.job, each.user, each.account or "-", each.partition or "-", each.state, each.rule, each.text or "-")
        for each in result.refused
    ]
    if cells:
        output.table(("job", "user", "account", "partition", "state", "rule", "text"), cells)
    for job in result.exempt:
        rules = "; ".join(f"{label}: {why}" for label, why in job.rules.items())
        click.echo(shown(f"{job.job} of {job.user} is exempt: {rules}"))
    for each in result.not_compared:
        more = ", ..." if each.count > len(each.jobs) else ""
        click.echo(f"{each.count} not compared: {shown(each.why)}: {', '.join(map(word, each.jobs))}{more}")
    refusing = Counter(each.rule for each in result.refused)
    if len(refusing) > 1:
        click.echo(", ".join(f"{shown(rule)} refuses {count}" for rule, count in refusing.most_common()))
    left = result.jobs - result.accepted - len(result.refused)
    counts = f"{result.accepted} accepted, {len(result.refused)} refused, {left} not compared"
    click.echo(f"{counted(result.jobs, 'job')}: {counts}")
