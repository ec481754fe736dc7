# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmctld kills process groups by the ids that the supervisor sends, and must not trust these blindly."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.native.building import PLAIN, ROOT
from tests.native.conftest import built

pytestmark = pytest.mark.slow

# Run in a new PID namespace, where kill(-1) of a broken client reaches only the processes of this test.
NAMESPACE = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--pid", "--fork"]
SUPERVISOR = f"""
import os, socket, sys
sys.path.insert(0, {str(ROOT)!r})
from slurmhooks.worker import control
channel = socket.socket(fileno=3)
for pid in (0, 1, 2**31, 2**32 - 1):
    ends = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)[0].detach() for _ in range(2)]
    control.send(channel, control.Message(control.WORKER, 1, pid, fds=tuple(ends)))
    # A client that takes the worker says nothing.
    channel.settimeout(10)
    answer = control.receive(channel)
    print(answer.kind == control.RELEASED and answer.pid == pid and answer.value, flush=True)
channel.settimeout(None)
control.receive(channel)
"""


def test_no_process_ids_of_groups(tmp_path: Path) -> None:
    """A worker whose process id stands for all processes, for our own group or for none is released unused."""
    able = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True)
    if able.returncode:
        pytest.skip(f"no process namespace: {able.stderr}")
    script = tmp_path / "supervisor.py"
    script.write_text(SUPERVISOR)
    exchanger = built(PLAIN).host.with_name("exchanger")
    command = [*NAMESPACE, "--kill-child", str(exchanger), sys.executable, "-I", str(script)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        lines = [process.stderr.readline() for _ in range(4)]
        process.stdin.write("stop\n")
        process.stdin.close()
        assert process.wait() == 0
    assert [line.split()[1:] for line in lines] == [["1"]] * 4
