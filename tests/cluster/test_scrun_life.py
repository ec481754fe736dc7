# SPDX-License-Identifier: GPL-2.0-or-later
"""The life of containers under a real scrun, from create to delete."""

from __future__ import annotations

import re

import pytest

from tests.cluster.containers import TRACE, User, install
from tests.cluster.scrun_lab import COPY, LONG, SLOW, alice, bob, lab
from tests.cluster.turns import moved_from

pytestmark = pytest.mark.one_release("24.11", "26.05")

__all__ = ["alice", "bob", "lab"]  # fixtures


def test_create_start_state_delete(alice: User) -> None:
    """A container is staged in, runs, is staged out, and leaves nothing behind."""
    install(alice.cluster, COPY)
    # While the anchor ends, other commands of scrun may get no answer.
    alice.bundle("/bin/sh", "-c", "echo inside; while test ! -e /etc/go; do sleep 0.1; done")
    code, output = alice.create("demo")
    assert code == 0, output
    assert alice.status("demo") in ("created", "running")
    assert "staged-alice-demo" in alice.sh(f"{alice.scrun} state demo")
    alice.start("demo")
    alice.sh("touch /tmp/staged-alice-demo/rootfs/etc/go")
    alice.wait_status("demo", "stopped")
    assert "inside" in alice.output("demo")
    alice.delete("demo")
    alice.wait_job_over()
    assert alice.job()["JobState"] == "COMPLETED"
    assert alice.trace() == ["demo in", "demo staged", "demo out"]
    alice.expect_nothing_left()


@pytest.mark.parametrize("ending", moved_from(1, ["kill demo KILL", "delete --force demo"]))
def test_end_of_a_running_container(alice: User, ending: str) -> None:
    """A killed or deleted container is staged out, and its job ends."""
    install(alice.cluster, COPY)
    alice.bundle(*LONG)
    assert alice.create("demo")[0] == 0
    alice.start("demo")
    alice.wait_output("demo", "started")
    assert alice.status("demo") == "running"
    alice.sh(f"{alice.scrun} {ending}", check=not ending.startswith("delete"))
    alice.wait_trace("demo out")
    alice.wait_job_over()
    alice.expect_nothing_left()


def test_exits_at_once(alice: User) -> None:
    """A container that ends at once is staged in and out like any other."""
    install(alice.cluster, COPY)
    alice.bundle("/bin/true")
    code, output = alice.create("demo")
    assert code == 0, output
    alice.wait_trace("demo out")
    alice.wait_job_over()
    assert alice.trace() == ["demo in", "demo staged", "demo out"]
    alice.expect_nothing_left()


@pytest.mark.moved
def test_several_containers_of_several_users(alice: User, bob: User) -> None:
    """Containers of two users at the same time do not interfere."""
    install(alice.cluster, COPY)
    names = ("one", "two", "three")
    for user in (alice, bob):
        user.bundle("/bin/sh", "-c", f"echo I am {user.name}; cat /etc/name; sleep 1")
        user.sh(f"echo of {user.name} > ~/bundle/rootfs/etc/name")
        for name in names:
            user.create_in_background(name)
    for user in (alice, bob):
        for name in names:
            assert user.exit_code(name) == 0, user.output(name)
        for name in [user.kept(name) for name in names]:
            user.wait_trace(f"{name} out")
            assert f"I am {user.name}\nof {user.name}\n" in user.output(name)
    for user in (alice, bob):
        user.expect_nothing_left()


@pytest.mark.parametrize("way", moved_from(1, ["salloc", "sbatch"]))
def test_inside_an_allocation(alice: User, way: str) -> None:
    """In a job, the container runs in that job, which continues after it."""
    install(alice.cluster, COPY)
    alice.bundle("/bin/sh", "-c", "echo in job $SLURM_JOB_ID")
    script = (
        f"#!/bin/sh\\n{alice.create_command('demo')}; echo create=$?\\n"
        f"for i in $(seq 600); do grep -q out {TRACE.format(user='alice')} && break; sleep 0.1; done\\n"
        "sleep 1; echo still job $SLURM_JOB_ID\\n"
    )
    alice.sh(f"printf '{script}' > script.sh; chmod +x script.sh")
    start = {"salloc": "salloc -n1 ./script.sh", "sbatch": "sbatch --wait -n1 -o job.out script.sh; cat job.out"}
    output = alice.sh(start[way], timeout=180)
    assert "create=0" in output
    assert re.search(r"still job \d+", output), output
    assert alice.trace() == ["demo in", "demo staged", "demo out"]
    assert "JobName=scrun" not in alice.sh("scontrol --oneliner show jobs | tail -n 1")
    alice.expect_nothing_left()


def test_python_starts_only_to_stage(alice: User) -> None:
    """Commands that stage nothing open neither the plugin nor Python, according to the dynamic linker."""
    install(alice.cluster, COPY)
    alice.bundle(*LONG)
    assert alice.create("demo")[0] == 0
    alice.wait_output("demo", "started")
    assert alice.status("demo") == "running"
    for command in ("--version", "state demo", "start demo", "kill demo KILL", "delete --force demo"):
        account = alice.sh(f"LD_DEBUG=files {alice.scrun} {command}", check=False)
        assert "calling init: " in account
        assert "libpython" not in account, command
        assert "scrun_python" not in account, command
    alice.wait_trace("demo out")
    alice.expect_nothing_left()


def test_create_itself_has_no_python(alice: User) -> None:
    """`scrun create` does not load libpython while it waits for the anchor's staging."""
    install(alice.cluster, SLOW)
    alice.bundle("/bin/true")
    alice.create_in_background("demo")
    alice.wait_trace("demo in")
    maps = alice.cluster.root(
        "sh",
        "-c",
        "for p in $(pgrep -u alice -x scrun) $(pgrep -u alice -f '^: demo'); do"
        " echo $(tr '\\0' ' ' < /proc/$p/cmdline | cut -c1-20): $(grep -c libpython /proc/$p/maps); done",
    ).stdout
    alice.sh("scancel -u alice")
    alice.wait_trace("demo out True")
    create = [line for line in maps.splitlines() if line.startswith("scrun")]
    anchor = [line for line in maps.splitlines() if line.startswith(":")]
    assert create, maps
    assert all(line.endswith(": 0") for line in create), maps
    assert not anchor[0].endswith(": 0"), maps
    alice.expect_nothing_left()
