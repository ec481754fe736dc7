# SPDX-License-Identifier: GPL-2.0-or-later
"""Show what users, accounts and groups have in the queue, and what the rules `quota` permit."""

import pwd
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from slurmhooks.cli import output, parameters
from slurmhooks.cli.findings import Findings
from slurmhooks.errors import ConfigError, Reject

if TYPE_CHECKING:
    from slurmhooks.rules.ready.quota import Quota


@dataclass(kw_only=True)
class Row:
    """One limit of a quota, and what a user, an account or a group has of it.

    Attributes:
        rule: the label of the rule.
        per: "user", "account" or "group".
        whose: the name of the user, or the user id without one; or of the account or the group.
        what: the key of the limit, such as cpu_hours.
        used: what pending and running jobs have; null: without an end, as of a job without a time limit.
        limit: the most.
    """

    rule: str
    per: str
    whose: str
    what: str
    used: float | None
    limit: float


@click.command("quota")
@click.option("--user", help="Only this user, and the group for which the user's jobs count.")
@click.option("--account", help="Only this account.")
@click.option("--group", help="Only this group.")
@parameters.sysconfdir_option
@output.json_option(list[Row])
def command(user: str | None, account: str | None, group: str | None, sysconfdir: Path) -> None:
    """Show what users, accounts and groups have in the queue, and what the rules `quota` permit.

    Run this command as root or SlurmUser on the machine of slurmctld. Users, accounts and groups without jobs that
    count are not shown.
    """
    # pydantic, on which rules stand, is slow to import.
    from slurmhooks.job_submit.bounds.cluster import Cluster
    from slurmhooks.job_submit.users import name_and_groups
    from slurmhooks.job_submit.views import Views
    from slurmhooks.rules import catalogue
    from slurmhooks.rules.ready.quota import Quota, in_records
    from slurmhooks.site import sources as site
    from slurmhooks.slurmctld.asking import Asking
    from slurmhooks.workshop.cli.slurmctld import connect

    parameters.use(sysconfdir)
    path = site.config_path()
    try:
        rules = catalogue.of_config(path, site.located_config(path)[1])
    except ConfigError as error:
        raise Findings(error.findings) from error
    slurmctld = connect(sysconfdir)
    views, asking = Views(slurmctld.tables), Asking(slurmctld.tables, slurmctld.query())
    jobs, cluster = views.table("jobs", asking), Cluster(lambda name: views.table(name, asking))
    # What a quota asks of a request, although there is none.
    no_request: Any = SimpleNamespace(_release=views.job._release, _cluster=cluster, default_partition=None)
    rows = []
    wanted = {"user": user, "account": account and in_records(account), "group": group}
    for rule in (rule for rule in rules if isinstance(rule, Quota)):
        try:
            totals = rule.of_each(jobs, no_request)
            if user and rule.per == "group":
                wanted["group"] = group or _group_of(rule, user)
        except Reject as error:
            raise Findings([f"{rule.label}: {error.text}"]) from None
        for whose, total in totals.items():
            name = (name_and_groups(int(whose))[0] or whose) if rule.per == "user" else whose
            if not any(wanted.values()) or wanted[rule.per] == name:
                rows += _rows(rule, name, total)
    output.result(sorted(rows, key=lambda row: (row.rule, row.whose)), _show)


def _group_of(rule: "Quota", user: str) -> str | None:
    try:
        return rule.group_of(pwd.getpwnam(user).pw_uid)
    except KeyError:
        return None


def _rows(rule: "Quota", name: str, total: dict[str, int]) -> list[Row]:
    return [
        Row(
            rule=rule.label,
            per=rule.per,
            whose=name,
            what=what,
            used=None if total[what] == float("inf") else float(total[what]),
            limit=float(limit),
        )
        for what, limit in rule.limits.items()
    ]


def _show(rows: list[Row]) -> None:
    cells = [
        (
            each.rule,
            f"{each.per} {each.whose}",
            each.what,
            "unlimited" if each.used is None else f"{each.used:.10g}",
            f"{each.limit:.10g}",
        )
        for each in rows
    ]
    if cells:
        output.table(("rule", "whose", "what", "in the queue", "limit"), cells)
    else:
        click.echo("no job counts for a rule `quota` in force")
