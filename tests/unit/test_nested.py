# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON from elsewhere that is nested more deeply than Python reads counts as damaged, wherever it is read."""

import os
from pathlib import Path

import pytest

from slurmhooks.collector import recording_orders
from slurmhooks.handover.metrics import COUNTS, Counts
from slurmhooks.power.calls import Call
from slurmhooks.recording.page import RecordingPage
from slurmhooks.rules.asking import InvalidAnswerError, table
from slurmhooks.worker.periodic import SharedState

NESTED = "[" * 100_000


def test_the_file_of_a_power_call() -> None:
    """The call has its nodes, and no jobs."""
    call = Call.of(b"\0".join([b"c1", b"", b"7", NESTED.encode()]))
    assert (call.nodes, call.jobs) == ("c1", ({"job_id": 7},))


def test_counts_of_power_calls(tmp_path: Path) -> None:
    """They begin again."""
    (tmp_path / COUNTS).write_text(NESTED)
    Counts(tmp_path).add("power.resume", "delivered")
    assert (tmp_path / COUNTS).read_text() == '[["power.resume", "delivered", 1]]'


def test_a_request_to_record() -> None:
    """It is refused, and the supervisor goes on."""
    assert "findings" in recording_orders.answer(f"record {NESTED}", RecordingPage())


def test_the_answer_of_a_service() -> None:
    """It is no answer to the question."""
    with pytest.raises(InvalidAnswerError):
        table(NESTED)


def test_what_rules_have_left() -> None:
    """Users may read a line again."""
    state = SharedState()
    os.pwrite(state._fd, NESTED.encode(), 0)
    assert state.read() == {}
