# SPDX-License-Identifier: GPL-2.0-or-later
"""The counts of the decision log."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.cli.decisions import Decision, Step
from slurmhooks.cli.names import plain
from slurmhooks.cli.tally import NO_USER, Report, Tally
from slurmhooks.replay.report import NO_ACCOUNT

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


def counted(decisions: list[Decision], change: datetime | None = None) -> Report:
    """Return the counts."""
    tally = Tally(change)
    for decision in decisions:
        tally.add(decision)
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
