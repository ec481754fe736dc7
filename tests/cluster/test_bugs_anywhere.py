# SPDX-License-Identifier: GPL-2.0-or-later
"""Bugs of handlers in a real slurmstepd whose root folder or mounts a handler has changed."""

import re

import pytest

from tests.cluster.conftest import Cluster

ERROR_ID = re.compile(r"error ([0-9a-f]{8})")

HOOKS = """\
import ctypes
import glob
import os
import subprocess

from slurmhooks import Reject, hook, log

state = hook.spank.option("state", "STATE", usage="how the process changes")
what = hook.spank.option("what", "BUG", usage="what goes wrong")
libc = ctypes.CDLL(None, use_errno=True)


@hook.spank.init_post_opt(contexts="remote")
def hide(spank):
    if state.value == "hidden":
        libc.unshare(0x20000)
        libc.mount(b"none", b"/", None, ctypes.c_ulong(0x4000 | 1 << 18), None)
        for folder in (*glob.glob("/usr/lib/python3.*"), "/opt/slurmhooks"):
            libc.mount(b"none", folder.encode(), b"tmpfs", ctypes.c_ulong(0), None)


def bug(spank):
    if what.value == "exception":
        1 / 0
    if what.value == "item":
        spank.jobb_id
    if what.value == "late":
        import slurmhooks_no_such_module
    if what.value == "program":
        subprocess.run(["/no/such/program"])
    if what.value == "exit":
        raise SystemExit(3)
    if what.value == "endless":
        while True:
            pass
    if what.value == "code":
        raise Reject("refused inside", code="ESPANK_" + "WRONG")


@hook.spank.user_init
def of_step(spank):
    if state.value == "hidden":
        bug(spank)


@hook.spank.task_init_privileged
def enter(spank):
    if state.value == "chroot":
        os.chroot("/opt/empty")
        os.chdir("/")


@hook.spank.task_init(timeout=1, on_error="ignore")
def lenient(spank):
    if state.value == "chroot" and what.value != "strict":
        bug(spank)


@hook.spank.task_init(order=60)
def strict(spank):
    log.info("after the bug")
    if what.value == "strict":
        1 / 0
"""

RAISED = {
    "exception": "ZeroDivisionError: division by zero",
    "item": "nearest: job_id",
    "late": "ModuleNotFoundError: No module named 'slurmhooks_no_such_module'",
    "program": "FileNotFoundError",
    "exit": "SystemExit: 3",
    "endless": "DeadlineExceeded",
    "strict": "ZeroDivisionError: division by zero",
}


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster with the handlers, and a root folder with nothing but the current folder that slurmstepd needs."""
    cluster.put(HOOKS, "/etc/slurm/hooks.d/hooks.py")
    cluster.root("mkdir", "-p", "-m", "1777", "/opt/empty/tmp", check=True)
    cluster.deploy()
    return cluster


def check(site: Cluster, output: str, where: str, what: str) -> None:
    """Assert that the user has a line with an id, and the log of the node the traceback under this id."""
    (line,) = {line for line in output.splitlines() if ERROR_ID.search(line)}
    assert f"slurmhooks: spank.{where} failed" in line
    assert "Traceback" not in output
    (error_id,) = ERROR_ID.findall(line)

    def reported() -> list[str]:
        return [row for row in site.log("slurmd").splitlines() if f"error {error_id}: " in row]

    site.wait(lambda: any(RAISED[what] in row for row in reported()), what="traceback")
    rows = reported()
    assert any("hooks.py" in row and " raised " in row for row in rows), rows
    assert any("Traceback (most recent call last)" in row for row in rows), rows


@pytest.mark.parametrize("what", RAISED)
def test_after_chroot(site: Cluster, what: str) -> None:
    """A bug of a task in another root folder is reported as always; the next handler runs if bugs are ignored."""
    done = site.user("alice", "srun", "--quiet", "--state=chroot", f"--what={what}", "/true")
    where = "task_init handler hooks:strict" if what == "strict" else "task_init handler hooks:lenient"
    check(site, done.stderr + done.stdout, where, what)
    assert ("task_init() failed" in done.stderr) == (what == "strict"), done.stderr
    assert done.returncode != 0  # there is no program


def test_a_refusal_after_chroot(site: Cluster) -> None:
    """A refusal with a misspelt code keeps its text, and refuses, although bugs of this handler are ignored."""
    done = site.user("alice", "srun", "--state=chroot", "--what=code", "/true")
    assert "refused inside" in done.stderr
    assert "task_init() failed" in done.stderr
    site.wait(lambda: "Slurm has no such code; nearest: ESPANK_ERROR" in site.log("slurmd"), what="log")


@pytest.mark.parametrize("what", ["exception", "item", "exit"])
def test_without_the_standard_library(site: Cluster, what: str) -> None:
    """A bug in slurmstepd is reported after a mount has hidden Python's standard library and slurmhooks."""
    done = site.user("alice", "srun", "--state=hidden", f"--what={what}", "true")
    check(site, done.stderr + done.stdout, "user_init handler hooks:of_step", what)
