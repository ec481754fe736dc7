# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmctld names workers by the process ids that the supervisor sends, and must not use these ids itself."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.native.building import PLAIN, ROOT
from tests.native.conftest import built

pytestmark = pytest.mark.slow

# Run in a new PID namespace, where kill(-1) of a broken client reaches only the processes of this test.
NAMESPACE = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--pid", "--fork"]
PIDS = (0, 1, 2**31, 2**32 - 1)
SUPERVISOR = f"""
import os, socket, sys
sys.path.insert(0, {str(ROOT)!r})
from slurmhooks.wire.protocol import Control
from slurmhooks.processes import control
channel = socket.socket(fileno=3)
kept = []
for pid in {PIDS}:
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    kept.append(ends[1])
    page = os.memfd_create("page")
    control.send(channel, control.Message(Control.WORKER, 1, pid, fds=(ends[0].detach(), page)))
control.send(channel, control.Message(Control.SERVING, 1, 1, value=100))
while (message := control.receive(channel)) is not None:
    if message.kind == Control.KILL:
        print("kill", message.pid, flush=True)
"""


def test_no_process_ids_of_groups(tmp_path: Path) -> None:
    """slurmctld signals no process by such an id: workers that miss a deadline are killed by their parent."""
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
        assert process.stdout is not None
        assert process.stderr is not None
        # A request that times out before there are workers would use none of them. SERVING, the last message, is read
        # when accepts says 1.
        for _ in range(6000):
            process.stdin.write("accepts\n")
            process.stdin.flush()
            if process.stdout.readline() == "1\n":
                break
            time.sleep(0.01)
        else:
            raise AssertionError("slurmctld's part has seen no worker within a minute")
        process.stdin.write("exchange 100 echo\n" * len(PIDS))
        process.stdin.flush()
        results = [process.stdout.readline().split("\t")[0] for _ in PIDS]
        lines = [process.stderr.readline().split()[2:] for _ in PIDS]
        process.stdin.write("stop\n")
        process.stdin.close()
        assert process.wait() == 0
    assert results == ["TIMED_OUT"] * len(PIDS)
    assert sorted(lines) == sorted(["kill", str(pid)] for pid in PIDS)
