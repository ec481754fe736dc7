# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers that do not return, in srun, slurmstepd, a task, the prolog and the epilog, do not make Slurm hang."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import Site, site
from tests.cluster.turns import moved_from

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

HANGS = "/run/hangs"
"""The file that says which handler hangs, and how."""
HOOKS = f"""
import itertools, os, time
import slurmhooks.handlers.deadline
from slurmhooks import hook

hangs, _, how = open("{HANGS}").read().partition(" ") if os.path.exists("{HANGS}") else ("", "", "")
# All that is to end by itself has much time, because the machine may be busy.
slurmhooks.handlers.deadline.AGAIN = 0.5 if how == "in C" else 60

def limit(name):
    return 0.5 if name == hangs else 60

def run(name):
    if name != hangs:
        return
    if how == "sleeps":
        time.sleep(1000)
    elif how == "spins":
        while True:
            pass
    elif how == "in C":
        sum(itertools.repeat(1))

@hook.spank.init(contexts="local", timeout=limit("local"))
def local(spank):
    run("local")

@hook.spank.user_init(timeout=limit("user"))
def user(spank):
    run("user")

@hook.spank.task_init(timeout=limit("task"))
def task(spank):
    run("task")

@hook.spank.exit(contexts="remote", timeout=limit("exit"))
def exit(spank):
    run("exit")

@hook.spank.job_prolog(timeout=limit("prolog"))
def prolog(spank):
    run("prolog")
"""


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """The cluster with the hook file."""
    lent = site(cluster)
    lent.hooks(hangs=HOOKS)
    lent.plugstack("required spank_python.so hooks.d/hangs.py")
    return lent


@contextmanager
def hanging(lent: Site, where: str, how: str) -> Iterator[None]:
    """Let a handler hang."""
    lent.cluster.put(f"{where} {how}", HANGS)
    try:
        yield
    finally:
        lent.root(f"rm {HANGS}")


@pytest.mark.parametrize("how", moved_from(1, ["sleeps", "spins"]))
@pytest.mark.parametrize("where", moved_from(2, ["local", "user", "task"]))
def test_a_step_fails(lent: Site, where: str, how: str) -> None:
    """The step fails with a line for the user, its program does not run, and the next step does."""
    with hanging(lent, where, how):
        failed = lent.shell("srun echo ran")
    if lent.since >= (23, 11) or where != "user":  # where srun ends with 0 after any failed user_init
        assert failed.returncode != 0
    assert "ran" not in failed.stdout.split()
    assert f"handler hangs:{where} failed (error " in failed.stdout
    lent.wait_until_idle()
    assert lent.drained() == []
    assert lent.shell("srun echo ran").stdout.split() == ["ran"]


@pytest.mark.parametrize("where", moved_from(1, ["local", "user", "task"]))
def test_a_process_ends(lent: Site, where: str) -> None:
    """If a handler cannot be interrupted, its srun, slurmstepd or task ends; the log names the handler."""
    with hanging(lent, where, "in C"):
        failed = lent.shell("srun echo ran")
    if where == "user":  # srun itself then ends with 0
        assert "aborted before step completely launched" in failed.stdout
    else:
        assert failed.returncode != 0
    assert "ran" not in failed.stdout.split()
    log = failed.stdout + lent.cluster.log("slurmd")
    assert f"handler hangs:{where} took more than 0.5 s cannot be interrupted" in log
    lent.wait_until_idle()
    assert lent.shell("srun echo ran").stdout.split() == ["ran"]


def test_the_end_of_a_step(lent: Site) -> None:
    """A step whose exit handler hangs ends, and so does its job."""
    with hanging(lent, "exit", "sleeps"):
        done = lent.shell("srun echo ran")
        assert "ran" in done.stdout.split()
        lent.wait_until_idle()
    lent.cluster.wait(
        lambda: "spank.exit handler hangs:exit took more than 0.5 s" in lent.cluster.log("slurmd"), what="log"
    )


def test_a_prolog_fails(lent: Site) -> None:
    """A prolog whose handler spins fails, which drains the node as any failed prolog, and its job does not run."""
    try:
        with hanging(lent, "prolog", "spins"):
            job = lent.shell("sbatch --parsable --no-requeue -o /dev/null --wrap true").stdout.strip()
            lent.cluster.wait(lambda: lent.drained(), what="drained node")
        assert "spank.job_prolog handler hangs:prolog took more than 0.5 s" in lent.cluster.log("slurmd")
    finally:
        lent.shell(f"scancel {job}")
        lent.wait_until_idle()
        lent.resume()
