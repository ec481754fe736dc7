# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of ``slurmhooks replay``."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from slurmhooks.cli.names import Numbered
from slurmhooks.cli.pages.markup import element, number, table
from slurmhooks.cli.pages.page import Page
from slurmhooks.recording.contents import ACCOUNTING
from slurmhooks.replay.report import NO_ACCOUNT, Example, Report, Share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmhooks.cli.names import Name

KEPT = ("slurmhooks", "slurm", "python", "source", "assumed")
"""What an anonymous report says of a recording; the name of the machine is not in it."""
MOST = 15
"""Maximum number of bars in a chart; the table has all rows."""


def anonymous(report: Report) -> Report:
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
    recorded = {key: report.recorded[key] for key in KEPT if key in report.recorded}
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


def page(report: Report) -> Page:
    """Return the page."""
    page = Page("What other rules would have decided", _about(report))
    page.figures(
        {
            "requests": report.requests,
            "refused more": report.more_refused,
            "refused fewer": report.fewer_refused,
            "refused by the new rules": report.refused,
            "failed": report.failed,
            "not compared": report.unknown,
        }
    )
    if report.unknown:
        page.note("Requests that are not compared lack something that rules wanted to read; they may be refused, too.")
    page.section(
        "By rule", "Requests that a rule refuses with the new rules, and did not refuse before; and vice versa."
    )
    rows = report.rules[:MOST]
    page.chart(
        "bars",
        [rule.rule for rule in rows],
        {"more": [rule.more for rule in rows], "fewer": [rule.fewer for rule in rows]},
        stacked=False,
    )
    numbers = [
        (rule.rule, rule.more, report.share(rule.more).strip(" ()"), rule.fewer, report.share(rule.fewer).strip(" ()"))
        for rule in report.rules
    ]
    page.add(table(("rule", "more", "of those compared", "fewer", "of those compared"), numbers))
    for rule in report.rules:
        page.add(element("h3", rule.rule))
        for title, shares in (("user", rule.users), ("account", rule.accounts)):
            page.add(table((title, "requests"), [(share.name, share.requests) for share in shares]))
        _examples(page, report, rule.examples)
    if report.changes:
        page.section("Verdicts")
        page.add(table(("before", "now", "requests"), [(each.old, each.new, each.requests) for each in report.changes]))
    if report.fields:
        page.section("Fields", "Fields with other values, of requests that are accepted before and now.")
        page.add(table(("field", "requests"), [(field.field, field.requests) for field in report.fields]))
        for field in report.fields:
            if field.values:
                page.add(element("h3", field.field))
                page.add(table(("before", "now", "requests"), [(v.old, v.new, v.requests) for v in field.values]))
    if report.bugs:
        page.section("Bugs", "Exceptions in handlers.")
        for bug in report.bugs:
            page.add(element("h3", f"{bug.rule}, {bug.hooks} rules: {bug.requests} requests"))
            page.add(element("pre", bug.traceback.rstrip("\n")))
            _examples(page, report, bug.examples)
    if report.needs:
        page.section("Not compared", "What rules wanted to read although it was not recorded.")
        page.add(
            table(
                ("rules", "what", "requests", "how to know it"),
                [(need.hooks, need.what, need.requests, need.advice) for need in report.needs],
            )
        )
    if report.notes:
        page.section("Notes")
        page.add(element("ul", *(element("li", note) for note in report.notes)))
    return page


def _about(report: Report) -> str:
    span = "" if report.first is None or report.last is None else f", {_at(report.first)} to {_at(report.last)}"
    verb = "imported" if _is_imported(report) else "recorded"
    by = f"{verb} by slurmhooks {report.recorded.get('slurmhooks')} on Slurm {report.recorded.get('slurm')}"
    return f"{number(report.requests)} requests to submit or change jobs{span}, {by}, decided again by other rules."


def _is_imported(report: Report) -> bool:
    return report.recorded.get("source") == ACCOUNTING


def _examples(page: Page, report: Report, examples: Sequence[Example]) -> None:
    if examples:
        known = "sacct knows these jobs" if _is_imported(report) else "the decision log has these ids"
        rows = [(each.id, _at(each.time), each.hook, each.user, each.name or "") for each in examples]
        page.add(table(("request", "time", "hook", "user", "job"), rows, f"Examples; {known}"))


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).isoformat(" ", "minutes")
