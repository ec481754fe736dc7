# SPDX-License-Identifier: GPL-2.0-or-later
"""SlurmdParameters=contain_spank: callbacks run in a clone(CLONE_VM) child, on a stack from the heap."""

import pytest

from tests.native.hosting import Host

pytestmark = pytest.mark.slow

SITE = """
import os, time

state = {"count": 0}

def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)

@hook.spank.init
def init(spank):
    state["init"] = os.getpid()

@hook.spank.user_init
@hook.spank.task_post_fork
@hook.spank.task_exit
def say(spank):
    state["count"] += 1
    spank.env["COUNT"] = str(state["count"])
    log.info("ran", count=state["count"], other=os.getpid() != state["init"], callback=spank.callback)
"""


def test_a_contained_step(each_host: Host) -> None:
    """user_init, task_post_fork and task_exit run in the child and use the parent's objects; the parent continues."""
    each_host.site(SITE)
    run = each_host.run(
        """
        open sp $spank hooks.py
        context remote
        call sp init
        clone
        call sp user_init
        end
        fork
        call sp task_init
        end
        clone
        call sp task_post_fork
        end
        clone
        call sp task_exit exit_status=256
        end
        call sp exit
        show
        """,
        quiet=False,  # AddressSanitizer warns about the stack
    )
    assert {result.rc for result in run.of("call")} == {0}
    assert [(result["status"], result["signal"]) for result in run.of("clone")] == [(0, 0)] * 3
    assert run.said("ran") == [
        "count=1 other=True callback='user_init'",
        "count=2 other=True callback='task_post_fork'",
        "count=3 other=True callback='task_exit'",
    ]
    assert run.one("show").lists["env"] == ["COUNT=3"]


def test_deep_recursion(host: Host) -> None:
    """On that stack, handlers can recurse as deeply as usual.

    Deeper recursion raises RecursionError and does not crash.
    """
    host.site(
        SITE
        + """
@hook.spank.user_init
def deep(spank):
    log.info("depth", n=depth(900))

@hook.spank.task_post_fork
def too_deep(spank):
    depth(10**6)

class Nested:
    def __repr__(self):
        return repr([self])

@hook.spank.task_exit
def through_c(spank):
    repr(Nested())
"""
    )
    calls = "".join(f"clone\ncall sp {name}\nend\n" for name in ("user_init", "task_post_fork", "task_exit"))
    run = host.run(f"open sp $spank hooks.py\ncontext remote\ncall sp init\n{calls}call sp exit")
    _, user_init, post_fork, task_exit, last = run.of("call")
    assert user_init.rc == 0
    assert run.said("depth") == ["n=900"]
    assert post_fork.failed
    assert task_exit.failed
    assert len([line for line in run.lines("INFO") if "raised RecursionError" in line]) == 2
    assert last.rc == 0
    assert {(result["status"], result["signal"]) for result in run.of("clone")} == {(0, 0)}


def test_a_failure_in_the_child(host: Host) -> None:
    """A bug of a handler in the child is reported as usual, and the parent's next callback works."""
    host.site(SITE + "\n@hook.spank.user_init\ndef bug(spank):\n    raise SystemExit(0)\n")
    run = host.run(
        "open sp $spank hooks.py\ncontext remote\ncall sp init\nclone\ncall sp user_init\nend\ncall sp task_exit"
    )
    assert [result.rc for result in run.of("call")] == [0, host.sign * 3000, 0]


def test_a_spinning_thread_and_subprocesses(host: Host) -> None:
    """The child can run programs while Python threads of the parent run."""
    host.site(
        SITE
        + """
import subprocess, threading

def spin():
    while True:
        sum(range(1000))

threading.Thread(target=spin, daemon=True).start()

@hook.spank.user_init
def program(spank):
    log.info("program", out=subprocess.run(["echo", "x"], stdout=subprocess.PIPE, check=True).stdout)
"""
    )
    clone = "clone\ncall sp user_init\nend\n"
    run = host.run(f"open sp $spank hooks.py\ncontext remote\ncall sp init\n{clone * 5}call sp exit")
    assert {result.rc for result in run.of("call")} == {0}
    assert run.said("program") == [r"out=b'x\n'"] * 5


def test_python_starts_in_the_child(host: Host) -> None:
    """If Python starts in the child, it also runs in the parent, since both have the same memory."""
    host.site(SITE.replace('state = {"count": 0}', 'state = {"count": 0, "init": 0}'))
    run = host.run(
        """
        open sp $spank hooks.py
        context remote
        clone
        call sp user_init
        end
        call sp task_exit
        fork
        call sp task_exit
        end
        """
    )
    assert {result.rc for result in run.of("call")} == {0}
    assert [line.split()[0] for line in run.said("ran")] == ["count=1", "count=2", "count=3"]
