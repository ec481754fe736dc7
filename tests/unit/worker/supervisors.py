# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a supervisor in a test, which takes slurmctld's place."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from slurmhooks.processes import control
from slurmhooks.wire.protocol import Control
from tests.native.workers import PATIENCE, START, below

HURRIED = "from slurmhooks.worker import attempts; attempts.REPEAT = 0.05;"
GENERATION = "slurmhooks-gen"


class Supervisor:
    """A supervisor, whose other end is the test instead of slurmctld."""

    def __init__(self, folder: Path) -> None:
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
        conf = self._folder / "slurm.conf"
        if not conf.exists():
            conf.write_text(f"StateSaveLocation={self._folder}\n")
        program = [sys.executable, "-c", f"{path}; {insert}; {hurried} {rest}", "tests.native.worker_service:load"]
        environment = os.environ | {
            "WORKER_TEST": str(self._folder / "state.json"),
            "SLURM_CONF": str(conf),
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
            if message.kind == Control.SERVING:
                control.send(self._ours, control.Message(Control.ACKNOWLEDGED, message.generation))
            if not kinds or message.kind in kinds:
                return message

    def errors(self) -> str:
        """Return what it has logged."""
        return self._errors.read_text()

    @property
    def socket(self) -> socket.socket:
        """The socket on which it sends messages."""
        return self._ours

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended, which it must not do before :meth:`end`."""
        return self._process.poll() is not None

    def send(self, message: control.Message) -> None:
        """Send a message as slurmctld does."""
        control.send(self._ours, message)

    def kill_generation(self) -> None:
        """Kill the only generation, but not what it has forked."""
        pid = self._process.pid
        (generation,) = (each for each in below(pid, GENERATION) if each.parent == pid)
        generation.kill()

    def end(self) -> None:
        """Let it end, as it does with slurmctld."""
        self._ours.close()
        self._process.wait(PATIENCE)
