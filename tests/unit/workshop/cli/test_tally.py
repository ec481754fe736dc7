# SPDX-License-Identifier: GPL-2.0-or-later
"""The counts of the decision log."""

import contextlib
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.cli import documents
from slurmhooks.cli.decisions import Decision, Step, keys_of
from slurmhooks.workshop.cli.anonymity import plain
from slurmhooks.workshop.cli.counts import NO_USER, REQUESTS, CountsReport, Handler, Requests
from slurmhooks.workshop.cli.tally import Tally
from slurmhooks.workshop.replay.report import NO_ACCOUNT

pytestmark = [pytest.mark.slow, pytest.mark.moved]

START = datetime(2027, 5, 1, 12, tzinfo=UTC)
OUTCOMES = st.sampled_from(["passed", "refused", "failed", "would refuse", "accepted on error"])
STEPS = st.builds(
    Step,
    handler=st.sampled_from(["a:a", "b:b"]),
    outcome=OUTCOMES,
    mode=st.sampled_from([None, "warn", "observe"]),
    microseconds=st.integers(0, 1000),
)
DECISIONS = st.builds(
    Decision,
    time=st.integers(0, 200).map(lambda hours: START + timedelta(hours=hours)),
    event=st.sampled_from(["decision", "observed", "unserved", "dropped"]),
    hook=st.sampled_from(["job_submit", "job_modify", "job_end"]),
    verdict=st.sampled_from(["accepted", "refused", "failed", "unavailable, accepted", None]),
    user=st.sampled_from(["alice", "bob", None]),
    user_id=st.sampled_from([1, None]),
    account=st.sampled_from(["x", None]),
    count=st.just(2),
    handlers=st.lists(STEPS, max_size=3),
    hooks=st.sampled_from(["h1", "h2", None]),
    test_only=st.booleans(),
)


def counted(decisions: list[Decision], change: datetime | None = None) -> CountsReport:
    """Return the counts."""
    tally = Tally(change)
    for decision in decisions:
        tally.add(keys_of(decision))
    return tally.report(100, plain)


@given(st.lists(DECISIONS, max_size=30), st.randoms(use_true_random=False))
def test_order_does_not_matter(decisions: list[Decision], random: Random) -> None:
    """The files of several machines may be read in any order, and parts add up to the whole."""
    report = counted(decisions)
    shuffled = list(decisions)
    random.shuffle(shuffled)
    assert counted(shuffled) == report
    for parts in (report.days, report.accounts, report.users):
        for key in ("requests", "refused", "failed", "warned", "observed"):
            assert sum(getattr(part, key) for part in parts) == getattr(report.total, key)
    assert [day.name for day in report.days] == sorted(day.name for day in report.days)
    assert report.lost == 2 * sum(decision.event == "dropped" for decision in decisions)


@given(st.lists(DECISIONS, max_size=30), st.integers(0, 200))
def test_before_and_after(decisions: list[Decision], hours: int) -> None:
    """With a time of the change, each request is before or after it."""
    report = counted(decisions, START + timedelta(hours=hours))
    assert report.change is not None
    assert report.change.before + report.change.after == report.total.requests


def line(hours: int, hooks: str, *steps: tuple[str, str], **fields: object) -> Decision:
    """Return a line of the log."""
    handlers = [Step(handler=name, outcome=outcome, microseconds=10) for name, outcome in steps]
    refused = any(outcome == "refused" for _, outcome in steps)
    given = {"event": "decision", "hook": "job_submit", "verdict": "refused" if refused else "accepted", **fields}
    values: dict[str, Any] = {"time": START + timedelta(hours=hours), "hooks": hooks, "handlers": handlers, **given}
    return Decision(**{name: value for name, value in values.items() if name in Decision.__dataclass_fields__})


def test_last_change() -> None:
    """Without a given time, the last two sets of hooks are compared."""
    lines = [
        line(0, "old", ("a:a", "refused")),
        line(1, "h1", ("a:a", "refused")),
        line(2, "h1", ("a:a", "passed")),
        line(3, "h2", ("a:a", "passed"), ("b:b", "refused"), user="alice", test_only=True),
    ]
    report = counted(lines)
    assert report.change is not None
    assert (report.change.time, report.change.before, report.change.after) == (lines[3].time, 2, 1)
    assert [(each.rule, each.before, each.after) for each in report.change.rules] == [("a:a", 1, 0), ("b:b", 0, 1)]
    assert [each.name for each in report.hooks] == ["old", "h1", "h2"]
    assert report.tests == 1
    assert {each.name for each in report.users} == {"alice", NO_USER}
    assert [each.name for each in report.accounts] == [NO_ACCOUNT]
    (rule, _) = report.rules
    assert (rule.rule, rule.refused, rule.runs, rule.mean, rule.most) == ("a:a", 2, 4, 10, 10)


def test_nothing() -> None:
    """An empty log has an empty report."""
    report = counted([])
    assert (report.first, report.total.requests, report.change, report.days) == (None, 0, None, [])


def one_by_one(lines: list[Any], kind: Callable[[Decision], str]) -> dict[str, Requests]:
    """Count the lines that are whole, each by itself."""
    found: dict[str, Requests] = {}
    for each in lines:
        try:
            decision = documents.build(Decision, each)
        except ValueError:
            continue
        if decision.event == "dropped" or decision.hook not in REQUESTS:
            continue
        entry = found.setdefault(kind(decision), Requests(name=kind(decision)))
        verdict = decision.verdict or ""
        entry.requests += decision.event != "observed"
        entry.refused += verdict == "refused"
        entry.failed += verdict == "failed" or verdict.startswith("unavailable")
        entry.warned += any(step.outcome == "would refuse" and step.mode == "warn" for step in decision.handlers)
        entry.observed += any(step.outcome == "would refuse" and step.mode != "warn" for step in decision.handlers)
    return found


def ran(lines: list[Any]) -> dict[str, Handler]:
    """Count what each handler did, each run by itself."""
    found: dict[str, Handler] = {}
    times: Counter[str] = Counter()
    for each in lines:
        with contextlib.suppress(ValueError):
            decision = documents.build(Decision, each)
            for step in decision.handlers if decision.event != "dropped" else ():
                rule = found.setdefault(step.handler, Handler(rule=step.handler))
                rule.runs += 1
                rule.most = max(rule.most, step.microseconds or 0)
                times[step.handler] += step.microseconds or 0
                rule.refused += step.outcome == "refused"
                rule.failed += step.outcome in ("failed", "accepted on error")
                rule.warned += step.outcome == "would refuse" and step.mode == "warn"
                rule.observed += step.outcome == "would refuse" and step.mode != "warn"
    for label, rule in found.items():
        rule.mean = round(times[label] / rule.runs)
    return found


WRONG: st.SearchStrategy[Any] = st.sampled_from(
    [None, 1, True, "x", [], {}, [1], [{}], [{"handler": "a:a"}], 1 << 70, "2027-05-01"]
)


@given(
    st.lists(
        st.tuples(
            DECISIONS, st.one_of(st.none(), st.tuples(st.sampled_from(list(Decision.__dataclass_fields__)), WRONG))
        )
    ),
)
def test_counts_are_those_of_line_after_line(given_lines: list[tuple[Decision, tuple[str, Any] | None]]) -> None:
    """A report counts what one finds who reads each line by itself; damaged lines count nothing."""
    used = {"time", "event", "hook", "verdict", "user", "user_id", "account", "hooks", "test_only", "handlers"}
    lines = [
        keys_of(decision) | (dict([wrong]) if wrong is not None and wrong[0] in used else {})
        for decision, wrong in given_lines
    ]
    tally = Tally()
    for each in lines:
        tally.add(each)
    report = tally.report(1000, plain)
    known = [
        ("days", lambda each: f"{each.time:%Y-%m-%d}"),
        ("accounts", lambda each: each.account or NO_ACCOUNT),
        ("users", lambda each: each.user or (NO_USER if each.user_id is None else str(each.user_id))),
        ("hooks", lambda each: each.hooks or ""),
    ]
    for kind, name in known:
        wanted = one_by_one(lines, name)
        wanted.pop("", None) if kind == "hooks" else None
        assert {each.name: vars(each) | vars(wanted[each.name]) for each in getattr(report, kind)} == {
            each.name: vars(each) for each in getattr(report, kind)
        }
        assert len(getattr(report, kind)) == len(wanted)
    assert {rule.rule: rule for rule in report.rules} == ran(lines)
    assert report.total == next(iter(one_by_one(lines, lambda _: "all").values()), Requests(name="all"))
