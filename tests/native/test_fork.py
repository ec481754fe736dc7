# SPDX-License-Identifier: GPL-2.0-or-later
"""Forks of processes in which Python runs: slurmstepd forks tasks, slurmd forks slurmstepd, scrun forks commands."""

import pytest

from tests.native.hosting import Host, Run

pytestmark = pytest.mark.slow

SITE = """
import os, sys, threading, time

{extra}

def work(depth=200):
    return 0 if depth == 0 else 1 + work(depth - 1)

def say(spank):
    import decimal  # takes the locks of imports, which must be free in a child
    with threading.Lock():
        work()
    log.info("ran", callback=spank.callback, main=threading.current_thread() is threading.main_thread())

hook.spank.init(say)
hook.spank.user_init(say)
hook.spank.task_init_privileged(say)
hook.spank.task_init(say)
hook.spank.task_post_fork(say)
hook.spank.task_exit(say)
hook.spank.exit(say)
"""

SPINNING = """
def spin():
    while True:
        sum(range(1000))

threading.Thread(target=spin, daemon=True).start()
"""

NO_LEAK_CHECK = {"ASAN_OPTIONS": "detect_leaks=0:intercept_tls_get_addr=0"}
"""For processes that end while another thread uses objects, which would be reported as leaks."""

STEP = """
    open sp $spank hooks.py
    context remote
    call sp init
    call sp user_init
    {inside}
    fork
    call sp task_init_privileged
    call sp task_init
    end
    call sp task_post_fork
    fork
    call sp task_init_privileged task=1
    call sp task_init task=1
    end
    call sp task_post_fork task=1
    call sp task_exit
    call sp task_exit task=1
    call sp exit
    {end}
    """

CALLS = [
    *("init", "user_init", "task_init_privileged", "task_init", "task_post_fork"),
    *("task_init_privileged", "task_init", "task_post_fork", "task_exit", "task_exit", "exit"),
]


def check(run: Run) -> None:
    """Assert that each call of a step ran its handler, in order, and that no process crashed."""
    assert [result["callback"] for result in run.of("call")] == CALLS
    assert {result.rc for result in run.of("call")} == {0}
    assert [line.split("'")[1] for line in run.said("ran")] == CALLS
    ends = [(result["status"], result["signal"]) for result in run.of("fork")]
    assert set(ends) == {(0, 0)}


@pytest.mark.parametrize("extra", ["", SPINNING], ids=["quiet", "spinning"])
def test_a_step(each_host: Host, extra: str) -> None:
    """Forked children run the handlers of their tasks, and the parent continues, even while a Python thread runs."""
    each_host.site(SITE.format(extra=extra))
    check(each_host.run(STEP.format(inside="", end=""), env=NO_LEAK_CHECK if extra else {}))


@pytest.mark.parametrize("extra", ["", SPINNING], ids=["quiet", "spinning"])
def test_a_step_in_a_grandchild(each_host: Host, extra: str) -> None:
    """A process can fork twice after Python has started, as slurmd does: CPython 3.11 may abort there."""
    each_host.site(SITE.format(extra=extra))
    check(each_host.run(STEP.format(inside="fork\nfork", end="end\nend"), env=NO_LEAK_CHECK if extra else {}))


@pytest.mark.parametrize("extra", ["", SPINNING], ids=["quiet", "spinning"])
def test_a_step_in_another_thread(each_host: Host, extra: str) -> None:
    """A step works in a thread that has not started Python, and that Python does not know."""
    each_host.site(SITE.format(extra=extra))
    check(each_host.run(STEP.format(inside="threads 1", end="end"), env=NO_LEAK_CHECK if extra else {}))


def test_threads_in_children(each_host: Host) -> None:
    """A child of a child can have threads that fork again, as scrun's anchor has."""
    each_host.site(SITE.format(extra=""))
    check(each_host.run(STEP.format(inside="fork\nthreads 1\nfork\nthreads 1", end="end\nend\nend\nend")))


def test_python_starts_in_the_child(each_host: Host) -> None:
    """If Python does not run before a fork, both parent and child can start it."""
    each_host.site(SITE.format(extra=""))
    run = each_host.run(
        """
        open sp $spank hooks.py
        context remote
        fork
        call sp init
        fork
        call sp task_init
        end
        call sp exit
        end
        call sp init
        """
    )
    assert [result["callback"] for result in run.of("call")] == ["init", "task_init", "exit", "init"]
    assert {result.rc for result in run.of("call")} == {0}
    assert {result["signal"] for result in run.of("fork")} == {0}


INSIDE = {"asleep in C": "time.sleep(0.01)", "busy in Python": "work()", "in Slurm's log": "log.debug3('x')"}


@pytest.mark.parametrize("body", INSIDE.values(), ids=INSIDE)
def test_a_fork_while_another_thread_is_in_a_handler(each_host: Host, body: str) -> None:
    """The child runs handlers although a thread of the parent held locks; the parent's handler continues."""
    each_host.site(
        f"""
        import os, time

        def work():
            sum(range(1000))

        @hook.spank.user_init
        def user_init(spank):
            open({str(each_host.folder / "inside")!r}, "w").close()
            while not os.path.exists({str(each_host.folder / "forked")!r}):
                {body}
            log.info("end of the long one")

        @hook.spank.task_init
        def task_init(spank):
            log.info("short one")
        """
    )
    run = each_host.run(
        """
        open sp $spank hooks.py
        context remote
        background
        call sp user_init
        end
        await $dir/inside
        fork
        call sp task_init
        fork
        call sp task_init
        threads 2
        call sp task_init
        end
        end
        call sp task_init
        end
        touch $dir/forked
        join
        call sp task_init
        """
    )
    assert {result.rc for result in run.of("call")} == {0}
    assert run.said("short one") == [""] * 6
    assert {result["signal"] for result in run.of("fork")} == {0}
    assert run.said("end of the long one") == [""]


def test_a_child_while_others_call(host: Host) -> None:
    """Each child of a fork runs a handler while other threads of the parent run handlers.

    These threads import nothing: CPython does not release the lock of a module that is being imported in the child.
    """
    host.site(
        "hook.spank.user_init(lambda spank: log.debug3('x'))\nhook.spank.task_init(lambda spank: log.info('ran'))"
    )
    crowd = "background\nrepeat 300\ncall sp user_init\nend\nend\n"
    fork = "fork\ncall sp task_init\nend\n"
    first = "open sp $spank hooks.py\ncontext remote\ncall sp init\ncall sp user_init\ncall sp task_init\n"
    run = host.run(f"{first}{crowd * 4}{fork * 20}join\n")
    assert run.said("ran") == [""] * (1 + 20)
    assert {(result["status"], result["signal"]) for result in run.of("fork")} == {(0, 0)}
    assert {result["failed"] for result in run.of("repeat")} == {0}


def test_subprocesses_of_a_handler(each_host: Host) -> None:
    """Handlers, also in a child, can call subprocess.run with and without preexec_fn, os.fork and os.system."""
    each_host.site(
        """
        import os, subprocess

        @hook.spank.task_init
        def task_init(spank):
            one = subprocess.run(["echo", "one"], stdout=subprocess.PIPE, check=True).stdout
            two = subprocess.run(["echo", "two"], stdout=subprocess.PIPE, preexec_fn=lambda: None, check=True).stdout
            pid = os.fork()
            if pid == 0:
                os._exit(3)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            log.info("programs", one=one, two=two, fork=code, system=os.system("exit 4") >> 8)
        """
    )
    run = each_host.run(
        """
        open sp $spank hooks.py
        context remote
        call sp init
        fork
        call sp task_init
        end
        call sp task_init
        threads 1
        call sp task_init
        end
        """
    )
    assert run.said("programs") == [r"one=b'one\n' two=b'two\n' fork=3 system=4"] * 3
    assert {result.rc for result in run.of("call")} == {0}


@pytest.mark.parametrize(("start", "end"), [("", ""), ("threads 1", "end")], ids=["main", "fresh thread"])
def test_a_child_that_a_handler_forks_and_that_returns(host: Host, start: str, end: str) -> None:
    """A child that a handler forks ends when its handler returns: Slurm would otherwise run in two processes."""
    host.site(
        """
        import os

        @hook.spank.user_init
        def user_init(spank):
            pid = os.fork()
            if pid:
                log.info("child", code=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

        @hook.spank.task_init
        def task_init(spank):
            log.info("ran")
        """
    )
    run = host.run(
        f"""
        open sp $spank hooks.py
        context remote
        {start}
        call sp user_init
        call sp task_init
        threads 2
        call sp task_init
        end
        fork
        call sp task_init
        end
        {end}
        """
    )
    assert {result.rc for result in run.of("call")} == {0}
    assert [result["callback"] for result in run.of("call")] == ["user_init"] + ["task_init"] * 4
    assert run.said("child") == ["code=1"]
    assert run.said("ran") == [""] * 4
    assert "spank.user_init handler hooks:user_init has forked and its child came back, which ends here" in run


def test_descriptors_after_a_fork(host: Host) -> None:
    """A task has no open descriptors of Python, such as of a hook file or a pipe."""
    host.site(
        """
        import os

        @hook.spank.task_init
        def task_init(spank):
            log.info("descriptors", n=sorted(map(int, os.listdir("/proc/self/fd")))[:-1])
        """
    )
    run = host.run("open sp $spank hooks.py\ncontext remote\ncall sp init\nfork\ncall sp task_init\nend")
    assert run.said("descriptors") == ["n=[0, 1, 2]"]


PREPARED = """
@hook.spank.task_init
def prepared(spank):
    import gc
    log.info("prepared", frozen=gc.get_freeze_count() > 0)
"""


@pytest.mark.parametrize("extra", ["", SPINNING], ids=["quiet", "spinning"])
def test_a_step_of_tasks(each_host: Host, extra: str) -> None:
    """Handlers that are prepared before tasks are forked run once per task, and preparing them has no other effect."""
    each_host.site(SITE.format(extra=PREPARED + extra))
    env = NO_LEAK_CHECK if extra else {}
    step = "open sp $spank hooks.py\ncontext remote\njob env=A=1\ncall sp init\nshow\ncall sp init_post_opt\nshow\n"
    rest = STEP.split("{inside}")[1].format(end="")
    run = each_host.run(step + "call sp user_init\n" + rest, env=env)
    before, after = run.of("show")
    assert after.lists == before.lists
    assert run.said("prepared") == ["frozen=True"] * 2
    assert [line.split("'")[1] for line in run.said("ran")] == CALLS
    assert {result.rc for result in run.of("call")} == {0}
    assert {(result["status"], result["signal"]) for result in run.of("fork")} == {(0, 0)}
