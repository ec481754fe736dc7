# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions to nodes whether scripts have begun."""

import os
import time
from contextlib import closing

import pytest

from slurmhooks.processes import process
from slurmhooks.slurmctld import hearing


def begun(job: int, node: str) -> bool | None:
    """Answer for a node: one hangs, one has an error, and on the others scripts with an odd number have begun."""
    if node == "hangs":
        time.sleep(1000)
    return None if node == "errs" else job % 2 == 1


def test_a_node_that_hangs_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """All others have answered before its time is over; it is asked once, and its process ends."""
    jobs = [(1, "hangs"), (2, "hangs"), (3, "fine"), (4, "fine"), (5, "errs"), (6, "errs"), (7, "also")]
    monkeypatch.setattr(hearing, "SECONDS", 2)  # the others need more on a busy machine than on an idle one
    before = process.children()
    answers = list(hearing.heard(jobs, begun))
    assert dict(answers) == {1: None, 2: None, 3: True, 4: False, 5: None, 6: None, 7: True}
    assert [job for job, _ in answers][-2:] == [1, 2]
    assert process.children() == before


def test_more_nodes_than_are_asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them is asked in the end, if some cannot be asked, too."""
    monkeypatch.setattr(hearing, "AT_ONCE", 2)
    jobs = [(number, f"n{number // 2}") for number in range(14)]
    assert dict(hearing.heard(jobs, begun)) == {number: number % 2 == 1 for number in range(14)}

    def fork() -> None:
        raise BlockingIOError(11, "no more processes")

    monkeypatch.setattr(hearing.process, "fork", fork)  # type: ignore[attr-defined]
    assert set(dict(hearing.heard(jobs, begun)).values()) == {None}


def test_time_of_an_action_is_not_that_of_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that answers while an action on another job takes longer than a node may take has answered."""
    now = 0.0
    monkeypatch.setattr(hearing.time, "monotonic", lambda: now)  # type: ignore[attr-defined]
    waits, goes_on = os.pipe()
    ends, lives = os.pipe()

    def answer(job: int, node: str) -> bool:
        if node == "later":
            os.read(waits, 1)
        return bool(job)

    with closing(hearing.heard([(1, "now"), (2, "later"), (3, "now")], answer)) as answers:
        assert {next(answers), next(answers)} == {(1, True), (3, True)}
        os.write(goes_on, b"x")
        os.close(lives)
        assert os.read(ends, 1) == b""  # all nodes have answered: the processes have ended
        now += 10 * hearing.SECONDS
        assert list(answers) == [(2, True)]
    for fd in (waits, goes_on, ends):
        os.close(fd)


def test_processes_end_with_the_questions() -> None:
    """Whoever stops to wait leaves no process."""
    before = process.children()
    with closing(hearing.heard([(1, "fine"), (2, "hangs")], begun)) as answers:
        assert next(answers) == (1, True)
        assert len(process.children()) > len(before)
    assert process.children() == before
    assert os.getpid()  # this process goes on
