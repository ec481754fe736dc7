# SPDX-License-Identifier: GPL-2.0-or-later
"""The supervisor without slurmctld; with the client in C, see tests/native/test_workers.py."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmhooks.wire.protocol import Control
from tests.unit.worker.supervisors import Supervisor

pytestmark = pytest.mark.slow


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisor that ends with the test."""
    instance = Supervisor(tmp_path)
    yield instance
    instance.end()


def test_what_failed_is_tried_again(supervisor: Supervisor, tmp_path: Path) -> None:
    """A failed load is tried and reported again, even if no watched file has changed."""
    repaired = tmp_path / "repaired"
    failing = f"if not os.path.exists({str(repaired)!r}): raise LoadError(['a.py:3: wrong'])"
    supervisor.put(load=failing, settings={"on_unavailable": "accept"})
    supervisor.start()
    for _ in range(3):
        assert supervisor.receive().kind == Control.UNAVAILABLE
    repaired.touch()
    while (message := supervisor.receive()).kind != Control.SERVING:
        assert message.kind in (Control.UNAVAILABLE, Control.WORKER)
    assert message.value == 2000
    supervisor.end()
    assert supervisor.errors().count("a.py:3: wrong") >= 3


def test_what_failed_is_tried_again_without_watching(supervisor: Supervisor) -> None:
    """With reload = false, too: the generation in service has ended, so no request can be answered otherwise."""
    settings = {"reload": False}
    supervisor.put(settings=settings)
    supervisor.start()
    supervisor.receive(Control.SERVING)
    supervisor.put(settings=settings, load="raise LoadError(['wrong'])")
    supervisor.kill_generation()
    supervisor.receive(Control.UNAVAILABLE)
    supervisor.put(settings=settings)
    assert supervisor.receive(Control.SERVING).generation > 2


def test_changed_files_that_crash_are_not_loaded_all_the_time(supervisor: Supervisor) -> None:
    """While no generation serves, there are pauses between the attempts, also after a change of the files."""
    supervisor.put(load="raise LoadError(['wrong'])")
    supervisor.start(hurried="")
    supervisor.receive(Control.UNAVAILABLE)
    supervisor.put(load="os._exit(7)")
    supervisor.receive(Control.UNAVAILABLE)
    time.sleep(1)
    assert supervisor.errors().count("ended unexpectedly") < 20


def test_a_process_that_a_hook_file_has_forked(supervisor: Supervisor) -> None:
    """The end of a generation is noticed even if such a process keeps its sockets open."""
    supervisor.put(load="if not os.fork():\n    time.sleep(1000)\n    os._exit(0)")
    supervisor.start()
    first = supervisor.receive(Control.SERVING)
    supervisor.kill_generation()
    assert supervisor.receive(Control.DIED).generation == first.generation
    assert supervisor.receive(Control.SERVING).generation == first.generation + 1
