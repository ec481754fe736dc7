# SPDX-License-Identifier: GPL-2.0-or-later
"""From results of checks to the reason of the node."""

from typing import Any

import pytest

from slurmhooks.node.model import BUG, HUNG, LEFT, PASSED, REFUSED, Result
from slurmhooks.node.state import NodeMemory
from slurmhooks.node.verdict import count, due, forget, texts
from tests.unit.node.making import check

REFUSAL = Result(REFUSED, "disk is full")


def one(result: Result, state: NodeMemory, **terms: Any) -> tuple[str | None, list[str]]:
    """Count one result of one check; return the reason and the lines for the log."""
    checks = [check(lambda: None, **terms)]
    lines = count(checks, [result], state, 100.0)
    return "; ".join(texts(checks, state)) or None, lines


def test_a_check_must_fail_as_often_as_it_says() -> None:
    """A pass in between starts the count again."""
    state = NodeMemory()
    kinds = [REFUSAL, REFUSAL, Result(PASSED), REFUSAL, REFUSAL, REFUSAL, REFUSAL, Result(PASSED)]
    reasons = [one(result, state, fails=3)[0] for result in kinds]
    assert reasons == [None, None, None, None, None, "disk is full", "disk is full", None]


@pytest.mark.parametrize("kind", [BUG, LEFT])
@pytest.mark.parametrize("failing", [True, False])
def test_what_says_nothing_changes_nothing(kind: str, failing: bool) -> None:
    """A bug and a check that did not run neither drain a node nor return one."""
    state = NodeMemory()
    before = one(REFUSAL if failing else Result(PASSED), state)[0]
    after, lines = one(Result(kind, "h:check raised KeyError"), state)
    assert after == before
    assert lines


def test_a_bug_drains_if_it_is_to() -> None:
    """With on_error="drain", the reason names the check and is always the same; the log has the traceback's id."""
    state = NodeMemory()
    reasons = {one(Result(BUG, f"failed (error {number})"), state, lenient=True)[0] for number in range(3)}
    assert reasons == {"health check h:check failed"}


def test_a_hang_is_a_refusal() -> None:
    """A check that did not end in its time drains the node."""
    assert one(Result(HUNG, "h:check did not end within 10 s"), NodeMemory())[0] == "h:check did not end within 10 s"


@pytest.mark.parametrize(("mode", "lines"), [("warn", 3), ("observe", 1)])
def test_other_modes_drain_nothing(mode: str, lines: int) -> None:
    """A check that warns says each time what it would do, one that observes when that changes."""
    state = NodeMemory()
    results = [one(REFUSAL, state, mode=mode) for _ in range(3)]
    assert [reason for reason, _ in results] == [None] * 3
    assert sum(len(said) for _, said in results) == lines


def test_several_reasons_are_joined_in_order() -> None:
    """Each reason is there once."""
    state = NodeMemory()
    checks = [check(lambda: None, f"h:{number}") for number in range(4)]
    results = [Result(REFUSED, "a"), Result(PASSED), Result(REFUSED, "b"), Result(REFUSED, "a")]
    count(checks, results, state, 0.0)
    assert texts(checks, state) == ["a", "b"]


def test_contexts_modes_and_pauses_select_checks() -> None:
    """A check runs in its contexts, unless it is off or has run less than its pause ago, by any clock."""
    state = NodeMemory()
    checks = [
        check(lambda: None, "start", contexts=("start",)),
        check(lambda: None, "idle", contexts=("idle", "start")),
        check(lambda: None, "off", mode="off"),
        check(lambda: None, "hourly", every="1h"),
    ]

    def names(contexts: list[str], now: float) -> list[str]:
        chosen = due(checks, state, contexts, now, lambda process: False)
        count(chosen, [Result(PASSED)] * len(chosen), state, now)
        return [each.label for each in chosen]

    assert names(["start"], 10000.0) == ["start", "idle", "hourly"]
    assert names(["cycle", "idle"], 13599.0) == ["idle"]
    assert names(["cycle"], 13601.0) == ["hourly"]
    assert names(["cycle"], 5000.0) == ["hourly"]  # the clock was put back


def test_a_check_that_hangs_in_the_kernel_is_not_started_again() -> None:
    """It keeps failing, and runs again when its process has gone."""
    state = NodeMemory()
    checks = [check(lambda: None)]
    count(checks, [Result(HUNG, "hangs", "17 4711")], state, 0.0)
    assert due(checks, state, ["cycle"], 1.0, lambda process: process == "17 4711") == []
    assert texts(checks, state) == ["hangs"]
    assert due(checks, state, ["cycle"], 2.0, lambda process: False) == checks


def test_a_check_that_was_removed_is_forgotten() -> None:
    """Its last result no longer drains the node."""
    state = NodeMemory()
    one(REFUSAL, state)
    forget([], state)
    assert state.checks == {}
