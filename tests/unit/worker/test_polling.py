# SPDX-License-Identifier: GPL-2.0-or-later
"""Looking in a thread at what is in force."""

import os
import threading

import pytest

from slurmhooks.files.watch import Watch
from slurmhooks.log import log
from slurmhooks.worker import polling
from slurmhooks.worker.polling import Poller
from tests.native.workers import wait_for


class StuckWatch(Watch):
    """A set whose file system does not answer before ``answer`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.answer, self.looks = threading.Event(), 0

    def changed(self) -> bool:
        """Wait."""
        self.looks += 1
        self.answer.wait()
        return True


def test_a_file_system_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """No caller waits, the log says so once, at most one look waits, and its result counts when it arrives."""
    monkeypatch.setattr(polling, "POLL", 0.0)
    monkeypatch.setattr(polling, "PATIENCE", 0.0)
    errors: list[str] = []
    before = log.attach(lambda _, text: errors.append(text), errors.append)
    read, write = os.pipe()
    poller, stuck, files = Poller(lambda: os.write(write, b".")), StuckWatch(), Watch()
    try:
        assert not poller.changed(stuck)
        wait_for(lambda: stuck.looks, "the first look")
        for _ in range(5):
            assert not poller.changed(stuck)
        assert stuck.looks == 1
        assert errors == ["slurmhooks: the file system of the sets does not answer: deployments are not seen"]
        files.place = "/no/such/set"
        wait_for(lambda: poller.changed(files), "another set")
        stuck.answer.set()
        assert os.read(read, 2)
        wait_for(lambda: poller.changed(stuck), "the answer")
    finally:
        stuck.answer.set()
        os.close(read)
        log.attach(*before)


def test_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failed polling, the next one is tried again."""
    monkeypatch.setattr(polling, "POLL", 0.0)
    poller, files = Poller(bool), Watch("/no/such/set")

    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr("_thread.start_new_thread", refuse)
        assert not poller.changed(files)
    wait_for(lambda: poller.changed(files), "the change")


def test_a_thread_that_ends_before_it_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without memory for its first call, a thread ends at once: the next look is tried again."""
    monkeypatch.setattr(polling, "POLL", 0.0)
    poller, files = Poller(bool), Watch("/no/such/set")
    with monkeypatch.context() as patched:
        patched.setattr("_thread.start_new_thread", lambda *_: 1)
        assert not poller.changed(files)
    wait_for(lambda: poller.changed(files), "the change")
