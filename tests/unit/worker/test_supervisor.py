# SPDX-License-Identifier: GPL-2.0-or-later
"""The supervisor without slurmctld; with the client in C, see tests/native/test_workers.py."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from slurmhooks.worker import control
from tests.native.workers import PATIENCE, START

pytestmark = pytest.mark.slow

HURRIED = "from slurmhooks.worker import supervisor; supervisor.REPEAT = 0.05;"


def received(ours: socket.socket) -> control.Message:
    """Return the next message of the supervisor."""
    message = control.receive(ours)
    assert message is not None, "the supervisor has ended"
    return message


def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    """A failed load is tried and reported again, even if no watched file has changed."""
    state, repaired = tmp_path / "state.json", tmp_path / "repaired"
    failing = f"if not os.path.exists({str(repaired)!r}): raise LoadError(['a.py:3: wrong'])"
    state.write_text(json.dumps({"load": failing, "settings": {"accept": True}}))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(PATIENCE)

    def become_third() -> None:
        os.dup2(theirs.fileno(), 3)
        os.set_inheritable(3, True)

    path, insert, rest = START.split("; ", 2)
    program = [sys.executable, "-c", f"{path}; {insert}; {HURRIED} {rest}", "tests.native.worker_service:load"]
    environment = os.environ | {"WORKER_TEST": str(state), "SLURM_CONF": str(tmp_path / "slurm.conf")}
    supervisor = subprocess.Popen(
        program, env=environment, preexec_fn=become_third, close_fds=False, stderr=subprocess.PIPE, text=True
    )
    theirs.close()
    with ours:
        for _ in range(3):
            message = received(ours)
            assert message.kind == control.UNAVAILABLE
        repaired.touch()
        while message.kind != control.SERVING:
            message = received(ours)
            assert message.kind in (control.UNAVAILABLE, control.WORKER, control.SERVING)
        assert message.value == 2000
    _, errors = supervisor.communicate(timeout=PATIENCE)
    assert errors.count("a.py:3: wrong") >= 3
