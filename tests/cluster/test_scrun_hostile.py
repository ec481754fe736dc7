# SPDX-License-Identifier: GPL-2.0-or-later
"""Staging functions that hang, crash or end their process, in a real scrun: the container is refused."""

import pytest

from tests.cluster.containers import User, install
from tests.cluster.scrun_lab import alice, lab

pytestmark = pytest.mark.one_release("24.11", "26.05")

__all__ = ["alice", "lab"]

HOOKS = """
import ctypes, itertools, subprocess
import slurmhooks.handlers.deadline

slurmhooks.handlers.deadline.AGAIN = 0.5

@hook.scrun.stage_in(timeout=1)
def stage_in(container):
    name = container.id.partition("-")[0]
    trace(container, "in")
    if name == "waits":
        subprocess.run(["sleep", "1000"])
    while name == "spins":
        pass
    if name == "stuck":
        sum(itertools.repeat(1))
    if name == "crashes":
        ctypes.string_at(0)
    if name == "exits":
        os._exit(0)
@hook.scrun.stage_out
def stage_out(container):
    trace(container, "out")
"""
LATE = "scrun.stage_in handler life:stage_in took more than 1 s"


@pytest.mark.parametrize(
    ("name", "line", "manifest"),
    [
        ("waits", f"DeadlineExceeded: {LATE}", True),
        ("spins", f"DeadlineExceeded: {LATE}", True),
        ("exits", "SystemExit: os._exit(0)", True),
        ("stuck", f"{LATE} cannot be interrupted", True),
        ("crashes", "scrun.stage_in handler life:stage_in: killed by signal 11", True),
        ("waits", f"{LATE} cannot be interrupted", False),
    ],
    ids=["waits", "spins", "exits", "stuck", "crashes", "no manifest"],
)
def test_the_container_is_refused(alice: User, name: str, line: str, manifest: bool) -> None:
    """The user gets one line, the log the reason; the container does not run, its job ends, and no process is left."""
    install(alice.cluster, HOOKS)
    if not manifest:  # Python starts before scrun forks, and cannot be interrupted in the thread that stages
        alice.cluster.deploy()
        alice.cluster.root("rm", "/etc/slurm/slurmhooks.set/.manifest", check=True)
    alice.bundle("/bin/sh", "-c", "echo never")
    code, _ = alice.create(name, options="-v")
    alice.wait_output(name, line)
    if "Exceeded" in line or "Exit" in line:
        alice.wait_output(name, "please tell your administrators")
        alice.wait_trace(f"{name} out")
    assert code != 124
    alice.wait_job_over()
    assert "never" not in alice.output(name).replace("never returns", "")
    assert alice.sh("pgrep -u alice sleep; true") == ""
    alice.wait(lambda: not alice.anchors(), "end of the anchor")
