# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers that do not return, in srun, slurmstepd, a task, the prolog and the epilog, do not make Slurm hang."""

from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

HOOKS = """
import itertools, os, time
import slurmhooks.handlers.deadline
from slurmhooks import hook

slurmhooks.handlers.deadline.AGAIN = 1.5  # long enough to write a traceback on a busy machine

def hang(how):
    if how == "sleeps":
        time.sleep(1000)
    elif how == "spins":
        while True:
            pass
    elif how == "in C":
        sum(itertools.repeat(1))

@hook.spank.init(contexts="local", timeout=0.5)
def local(spank):
    hang(os.environ.get("HANG_LOCAL"))

@hook.spank.user_init(timeout=0.5)
def user(spank):
    hang(spank.env.get("HANG_USER"))

@hook.spank.task_init(timeout=0.5)
def task(spank):
    hang(spank.env.get("HANG_TASK"))

@hook.spank.exit(contexts="remote", timeout=0.5)
def exit(spank):
    hang(os.path.exists("/run/hang_exit") and "sleeps")

@hook.spank.job_prolog(timeout=0.5)
def prolog(spank):
    hang(os.path.exists("/run/hang_prolog") and "spins")
"""


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """The cluster with the hook file."""
    lent = site(cluster)
    lent.hooks(hangs=HOOKS)
    lent.plugstack("required spank_python.so hooks.d/hangs.py")
    return lent


@pytest.mark.parametrize("how", ["sleeps", "spins"])
@pytest.mark.parametrize("where", ["local", "user", "task"])
def test_a_step_fails(lent: Site, where: str, how: str) -> None:
    """The step fails with a line for the user, its program does not run, and the next step does."""
    failed = lent.shell("srun echo ran", **{f"HANG_{where.upper()}": how})
    if lent.since >= (23, 11) or where != "user":  # where srun ends with 0 after any failed user_init
        assert failed.returncode != 0
    assert "ran" not in failed.stdout.split()
    assert f"handler hangs:{where} failed (error " in failed.stdout
    lent.wait_until_idle()
    assert lent.drained() == []
    assert lent.shell("srun echo ran").stdout.split() == ["ran"]


@pytest.mark.parametrize("where", ["local", "user", "task"])
def test_a_process_ends(lent: Site, where: str) -> None:
    """If a handler cannot be interrupted, its srun, slurmstepd or task ends; the log names the handler."""
    failed = lent.shell("srun echo ran", **{f"HANG_{where.upper()}": "in C"})
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
    lent.root("touch /run/hang_exit")
    try:
        done = lent.shell("srun echo ran")
        assert "ran" in done.stdout.split()
        lent.wait_until_idle()
    finally:
        lent.root("rm /run/hang_exit")
    lent.cluster.wait(
        lambda: "spank.exit handler hangs:exit took more than 0.5 s" in lent.cluster.log("slurmd"), what="log"
    )


def test_a_prolog_fails(lent: Site) -> None:
    """A prolog whose handler spins fails, which drains the node as any failed prolog, and its job does not run."""
    lent.root("touch /run/hang_prolog")
    try:
        job = lent.shell("sbatch --parsable --no-requeue -o /dev/null --wrap true").stdout.strip()
        lent.cluster.wait(lambda: lent.drained(), what="drained node")
        assert "spank.job_prolog handler hangs:prolog took more than 0.5 s" in lent.cluster.log("slurmd")
    finally:
        lent.root("rm /run/hang_prolog")
        lent.shell(f"scancel {job}")
        lent.wait_until_idle()
        lent.resume()
