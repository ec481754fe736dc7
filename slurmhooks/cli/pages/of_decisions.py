# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of ``slurmhooks report``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.cli.counts import KINDS
from slurmhooks.cli.pages.markup import Html, table
from slurmhooks.cli.pages.page import Page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from slurmhooks.cli.counts import Change, Handler, Report, Requests

MOST = 15
"""Maximum number of bars in a chart; the table has all rows."""
MEANING = (
    "Warned: the user read a warning of a rule that is not in force yet. Observed: such a rule would have refused the"
    " request, and the user noticed nothing."
)


def page(report: Report, notes: Sequence[str] = ()) -> Page:
    """Return the page.

    Args:
        report: the counts.
        notes: remarks on the log.
    """
    page = Page("Rules for jobs: what they decided", _span(report))
    total = report.total
    page.figures(
        {
            "requests": total.requests,
            "refused": total.refused,
            "failed": total.failed,
            "read a warning": total.warned,
            "observed": total.observed,
            "with --test-only": report.tests,
        }
    )
    for note in notes:
        page.note(note)
    if report.lost:
        page.note(f"{report.lost} lines are missing in the log: it could not be written, or not fast enough.")
    deciding = [rule for rule in report.rules if any(_counts(rule))]
    page.section("By rule", f"Requests that each rule refused, or would have refused. {MEANING}")
    _bars(page, [rule.rule for rule in deciding], deciding)
    page.add(_table(("rule",), [((rule.rule,), rule) for rule in deciding]))
    page.section("By day")
    page.chart("columns", [day.name for day in report.days], _series(report.days))
    page.add(_table(("day", "requests"), [((day.name, day.requests), day) for day in report.days]))
    for title, rows in (("account", report.accounts), ("user", report.users)):
        page.section(f"By {title}", f"Each {title} with the most refusals and warnings first.")
        touched = [each for each in rows if any(_counts(each))]
        _bars(page, [each.name for each in touched], touched)
        page.add(_table((title, "requests"), [((each.name, each.requests), each) for each in rows]))
    if report.change is not None:
        _change(page, report.change)
    page.section("Sets of rules", "Each set of hook files and configuration that was in force, by its hash.")
    page.add(
        _table(
            ("hooks", "first request", "last request", "requests"),
            [((each.name, _at(each.first), _at(each.last), each.requests), each) for each in report.hooks],
        )
    )
    slow = sorted(report.rules, key=lambda rule: -rule.mean)
    page.section("Time", "How long each handler takes on average. slurmctld waits for handlers that are in force.")
    page.chart("bars", [rule.rule for rule in slow[:MOST]], {"mean": [rule.mean for rule in slow[:MOST]]}, "\u202fµs")
    page.add(
        table(
            ("handler", "runs", "mean in µs", "longest in µs"),
            [(rule.rule, rule.runs, rule.mean, rule.most) for rule in slow],
        )
    )
    return page


def _change(page: Page, change: Change) -> None:
    page.section(
        "Before and after the last change",
        f"Since {_at(change.time)} other rules decide: {change.before} requests before, {change.after} after."
        " The chart shows how many of 1,000 requests each rule refused.",
    )
    rows = change.rules[:MOST]
    before, after = [
        [_share(getattr(rule, side), getattr(change, side)) for rule in rows] for side in ("before", "after")
    ]
    page.chart("bars", [rule.rule for rule in rows], {"before": before, "after": after}, stacked=False)
    page.add(
        table(
            ("rule", "refused before", "of 1,000", "refused after", "of 1,000"),
            [
                (
                    *(rule.rule, rule.before, _share(rule.before, change.before)),
                    *(rule.after, _share(rule.after, change.after)),
                )
                for rule in change.rules
            ],
        )
    )


def _share(part: int, whole: int) -> float:
    return round(1000 * part / whole, 1) if whole else 0.0


def _bars(page: Page, names: Sequence[str], rows: Sequence[Requests | Handler]) -> None:
    page.chart("bars", names[:MOST], _series(rows[:MOST]))


def _series(rows: Sequence[Requests | Handler]) -> dict[str, list[int]]:
    return {kind: [getattr(row, kind) for row in rows] for kind in KINDS}


def _counts(row: Requests | Handler) -> list[int]:
    return [getattr(row, kind) for kind in KINDS]


def _table(titles: tuple[str, ...], rows: Sequence[tuple[tuple[object, ...], Requests | Handler]]) -> Html:
    """Return a table of counts, without columns that have only zeros."""
    kinds = [kind for kind in KINDS if kind == "refused" or any(getattr(row, kind) for _, row in rows)]
    return table((*titles, *kinds), [(*start, *(getattr(row, kind) for kind in kinds)) for start, row in rows])


def _span(report: Report) -> str:
    if report.first is None or report.last is None:
        return "The decision log has no requests of this time."
    return f"Requests to submit or change jobs, {_at(report.first)} to {_at(report.last)}, from the decision log."


def _at(time: datetime) -> str:
    return time.isoformat(" ", "minutes")
