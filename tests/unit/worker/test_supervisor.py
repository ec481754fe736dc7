# SPDX-License-Identifier: GPL-2.0-or-later
"""The supervisor without slurmctld; with the client in C, see tests/native/test_workers.py."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.worker import control
from tests.native.workers import PATIENCE, START, below

pytestmark = pytest.mark.slow

HURRIED = "from slurmhooks.worker import supervisor; supervisor.REPEAT = 0.05;"
GENERATION = "slurmhooks-gen"


class Supervisor:
    """A supervisor, whose other end is the test instead of slurmctld."""

    def __init__(self, folder: Path) -> None:
        """Start nothing yet."""
        self._folder = folder
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.settimeout(PATIENCE)
        self._errors = folder / "errors"

    def put(self, **state: Any) -> None:
        """Write what stands for the hook files; see tests/native/worker_service.py."""
        new = self._folder / "new"
        new.write_text(json.dumps(state))
        new.rename(self._folder / "state.json")

    def start(self, hurried: str = HURRIED) -> None:
        """Start the process; by default, it tries again soon after a load that failed."""

        def become_third() -> None:
            os.dup2(self._theirs.fileno(), 3)
            os.set_inheritable(3, True)

        path, insert, rest = START.split("; ", 2)
        program = [sys.executable, "-c", f"{path}; {insert}; {hurried} {rest}", "tests.native.worker_service:load"]
        environment = os.environ | {
            "WORKER_TEST": str(self._folder / "state.json"),
            "SLURM_CONF": str(self._folder / "slurm.conf"),
        }
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                program, env=environment, preexec_fn=become_third, close_fds=False, stderr=errors
            )
        self._theirs.close()

    def receive(self, *kinds: int) -> control.Message:
        """Return the next message, or the next of one of these kinds."""
        while True:
            message = control.receive(self._ours)
            assert message is not None, self.errors()
            for fd in message.fds:
                os.close(fd)
            if message.kind == control.SERVING:
                control.send(self._ours, control.Message(control.ACKNOWLEDGED, message.generation))
            if not kinds or message.kind in kinds:
                return message

    def errors(self) -> str:
        """Return what it has logged."""
        return self._errors.read_text()

    def kill_generation(self) -> None:
        """Kill the only generation, but not what it has forked."""
        pid = self._process.pid
        (generation,) = (each for each in below(pid, GENERATION) if each.parent == pid)
        generation.kill()

    def end(self) -> None:
        """Let it end, as it does with slurmctld."""
        self._ours.close()
        self._process.wait(PATIENCE)


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
    supervisor.put(load=failing, settings={"accept": True})
    supervisor.start()
    for _ in range(3):
        assert supervisor.receive().kind == control.UNAVAILABLE
    repaired.touch()
    while (message := supervisor.receive()).kind != control.SERVING:
        assert message.kind in (control.UNAVAILABLE, control.WORKER)
    assert message.value == 2000
    supervisor.end()
    assert supervisor.errors().count("a.py:3: wrong") >= 3


def test_what_failed_is_tried_again_without_watching(supervisor: Supervisor) -> None:
    """With reload = false, too: the generation in service has ended, so no request can be answered otherwise."""
    settings = {"reload": False}
    supervisor.put(settings=settings)
    supervisor.start()
    supervisor.receive(control.SERVING)
    supervisor.put(settings=settings, load="raise LoadError(['wrong'])")
    supervisor.kill_generation()
    supervisor.receive(control.UNAVAILABLE)
    supervisor.put(settings=settings)
    assert supervisor.receive(control.SERVING).generation > 2


def test_changed_files_that_crash_are_not_loaded_all_the_time(supervisor: Supervisor) -> None:
    """While no generation serves, there are pauses between the attempts, also after a change of the files."""
    supervisor.put(load="raise LoadError(['wrong'])")
    supervisor.start(hurried="")
    supervisor.receive(control.UNAVAILABLE)
    supervisor.put(load="os._exit(7)")
    supervisor.receive(control.UNAVAILABLE)
    time.sleep(1)
    assert supervisor.errors().count("ended unexpectedly") < 20


def test_a_process_that_a_hook_file_has_forked(supervisor: Supervisor) -> None:
    """The end of a generation is noticed even if such a process keeps its sockets open."""
    supervisor.put(load="if not os.fork():\n    time.sleep(1000)\n    os._exit(0)")
    supervisor.start()
    first = supervisor.receive(control.SERVING)
    supervisor.kill_generation()
    assert supervisor.receive(control.DIED).generation == first.generation
    assert supervisor.receive(control.SERVING).generation == first.generation + 1
