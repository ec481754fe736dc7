# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that runs periodic handlers: what its generations share, and how it is told to end."""

import os
import select
import signal
import socket
import time
from types import SimpleNamespace
from typing import Any

import pytest

from slurmhooks.worker import periodic
from slurmhooks.worker.companion import BUSY, IDLE, STARTING, Page
from slurmhooks.worker.generation import Generation
from slurmhooks.worker.periodic import SharedState
from slurmhooks.workshop.testing.log_capture import CapturedLog


def test_state_is_what_was_written_last() -> None:
    """The state survives its writer, and a longer value is replaced by a shorter one; what is not JSON is empty."""
    state = SharedState()
    assert state.read() == {}
    state.write({"sent": ["a", "b"]})
    state.write({"sent": []})
    assert state.read() == {"sent": []}
    os.pwrite(state._fd, b"{", 0)
    os.ftruncate(state._fd, 1)
    assert state.read() == {}


def test_a_timer_is_not_left() -> None:
    """A timer of a rule is ended with its run: it would end the process during the run of another rule."""
    periodic.state = SharedState()
    ends = [*socket.socketpair(), *socket.socketpair()]
    turns = periodic.Turns(Page(), ends[0], ends[2], SharedState())
    before = signal.setitimer(signal.ITIMER_REAL, 0)  # that of pytest-timeout
    try:
        turns.begin("rules:leaves", 10)
        signal.setitimer(signal.ITIMER_REAL, 1000)
        captured = CapturedLog()
        with captured.capturing():
            turns.end()
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        assert "rules:leaves has left a timer, which is ended" in "".join(captured.lines)
        with captured.capturing():
            turns.end()
        assert len(captured.lines) == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)
        periodic.state = None
        for end in ends:
            end.close()


@pytest.mark.parametrize("kind", [STARTING, IDLE, BUSY])
def test_its_end_is_noted(monkeypatch: pytest.MonkeyPatch, kind: int) -> None:
    """The next process learns when this one ended, which may be long before it begins, and what is left stays.

    One that ended while no rule ran would do so again at once: it is started ever more rarely.
    """
    ours, theirs = socket.socketpair()
    rules = periodic.Periodic(SimpleNamespace(), 1, ours)
    rules._reached.write({"next": 1, "began": 5.0})
    monkeypatch.setattr(time, "time", lambda: 8.0)
    for _ in range(2):
        rules._pid = os.fork()
        if not rules._pid:
            os._exit(0)
        rules._page.write(kind, 1)
        rules._forget("")
    assert rules._reached.read() == {"next": 1, "began": 5.0, "ended": 8.0}
    assert (rules._backoff.failures, rules._backoff.is_over) == ((0, True) if kind == BUSY else (2, False))
    rules.finish(at_once=False)
    for end in (ours, theirs):
        end.close()


def test_an_observer_does_not_keep_it_from_ending() -> None:
    """The process learns that it is to end as soon as the generation says so, while an observer goes on."""
    service: Any = SimpleNamespace(observes=True, repeats=True, observed_by=lambda send: None)
    before = signal.getsignal(signal.SIGCHLD)
    ours, theirs = socket.socketpair()
    generation = Generation(1, ours, service)
    observer, rules = generation._companions
    waits = os.dup(rules._waits.fileno())  # type: ignore[union-attr]
    pid = os.fork()
    try:
        if not pid:
            generation._leave(observer)
            theirs.send(b"1")
            signal.pause()
        assert ours.recv(1) == b"1"
        assert not select.select([waits], [], [], 0)[0]
        rules.finish(at_once=False)
        assert select.select([waits], [], [], 0)[0]
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        observer.finish(at_once=True)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, before)
        os.close(waits)
        for end in (ours, theirs, generation._wake, generation._wakes):
            end.close()
