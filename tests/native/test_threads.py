# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads of slurmctld that call job_submit at the same time, threads of handlers, and new threads that call SPANK."""

import pytest

from tests.native.hosting import Host
from tests.native.manifests import compile_manifest
from tests.native.test_fork import NO_LEAK_CHECK, SPINNING

pytestmark = pytest.mark.slow


def test_handlers_never_interleave(each_host: Host) -> None:
    """One worker handles one request at a time, even if handlers release the GIL; each request gets its own answer."""
    each_host.site(
        """
        import time
        inside = []

        @hook.job_submit
        def submit(job):
            inside.append(job.name)
            job.account = job.name
            log.debug("x")
            time.sleep(0.001)
            assert inside == [job.name], inside
            assert job.account == job.name
            job.environment["NAME"] = job.name
            log.user("for %s", job.name)
            inside.clear()
        """
    )
    threads = 8
    each = "".join(f"job_submit js script=x name=n{number} environment=A=1\n" for number in range(10))
    run = each_host.run(f"open js $job_submit\nthreads {threads}\n{each}end\nbalance")
    results = run.of("job_submit")
    assert len(results) == 10 * threads
    for result in results:
        assert result.rc == 0, result
        assert result["account"] == result["name"]
        assert result["err_msg"] == f"for {result['name']}"
        assert result.lists["environment"] == ["A=1", f"NAME={result['name']}"]
    assert run.one("balance")["alive"] == 0


def test_the_first_requests_of_several_threads(host: Host) -> None:
    """The first requests, from several threads, wait for the workers, and the hooks are loaded once."""
    host.site("log.info('loaded')\nhook.job_submit(lambda job: None)")
    run = host.run("open js $job_submit\nthreads 8\njob_submit js\nend")
    assert [result.rc for result in run.of("job_submit")] == [0] * 8
    assert run.said("loaded") == [""]


def test_a_thread_that_spins(host: Host) -> None:
    """A Python thread of the site that never sleeps does not prevent requests from being answered."""
    host.site("import threading\n" + SPINNING + "@hook.job_submit\ndef submit(job):\n    job.comment = 'ran'\n")
    run = host.run("open js $job_submit\nthreads 4\njob_submit js\nend\njob_submit js", env=NO_LEAK_CHECK)
    assert [result["comment"] for result in run.of("job_submit")] == ["ran"] * 5


def test_threads_of_a_handler(host: Host) -> None:
    """Threads that a handler starts and joins can read its view."""
    host.site(
        """
        from concurrent.futures import ThreadPoolExecutor

        @hook.job_submit
        def submit(job):
            with ThreadPoolExecutor(4) as pool:
                log.info("seen", accounts=list(pool.map(lambda _: job.account, range(4))))
        """
    )
    run = host.run("open js $job_submit\nthreads 2\njob_submit js account=a\nend")
    assert run.said("seen") == ["accounts=['a', 'a', 'a', 'a']"] * 2


def test_nothing_is_left_for_another_thread(each_host: Host) -> None:
    """Thread-local and context variables that a SPANK handler sets in one thread are not set in another thread."""
    each_host.site(
        """
        import contextvars, decimal, threading
        local = threading.local()
        variable = contextvars.ContextVar("variable", default="fresh")

        @hook.spank.user_init
        def user_init(spank):
            left = getattr(local, "left", None)
            log.info("before", left=left, value=variable.get(), prec=decimal.getcontext().prec)
            variable.set("used")
            decimal.getcontext().prec = 3
            local.left = "left"
        """
    )
    block = "threads 1\ncall sp user_init\nend\n"
    run = each_host.run(f"open sp $spank hooks.py\ncontext remote\ncall sp init\n{block}{block}")
    assert run.said("before") == ["left=None value='fresh' prec=28"] * 2


def test_what_a_thread_says_later_reaches_nobody_else(each_host: Host) -> None:
    """Messages of a thread that runs longer than its call are logged, and not shown to the user of the next call."""
    each_host.site(
        """
        import threading
        told, over = threading.Event(), threading.Event()

        def late():
            told.wait()
            log.user("for alice\\ntwo")
            over.set()

        @hook.job_submit
        def submit(job):
            if job.name == "alice":
                threading.Thread(target=late).start()
            else:
                told.set()
                over.wait()
                log.user("for bob")
        """
    )
    run = each_host.run("open js $job_submit\njob_submit js name=alice\njob_submit js name=bob\nbalance")
    assert [result["err_msg"] for result in run.of("job_submit")] == [None, "for bob"]
    assert run.said("no user waits for this:") == ["for alice", "two"]


def test_options_while_a_callback_runs(host: Host) -> None:
    """An option that scrun processes in a second thread is converted once, and with the user's text.

    scrun requests its job, for which it reads options from variables, while its first thread calls init_post_opt
    (src/scrun/anchor.c:_anchor_child).
    """
    host.site(
        """
        import os, pathlib, time
        FOLDER = pathlib.Path(__file__).parent
        level = hook.spank.option("level", "TEXT", usage="for a test")

        @level.check
        def check(value):
            log.info("checks", value=value)
            if (FOLDER / "started").exists():
                return value
            (FOLDER / "started").touch()
            # Until the first thread waits for this call.
            while "futex" not in pathlib.Path(f"/proc/self/task/{os.getpid()}/wchan").read_text():
                time.sleep(0.001)
            return value

        @hook.spank.init_post_opt(contexts="allocator")
        @hook.spank.exit(contexts="allocator")
        def show(spank):
            log.info(spank.callback, level=level.value)
        """
    )
    compile_manifest(host)
    text = "x" * 100
    run = host.run(
        f"""
        open sp $spank hooks.py
        context allocator
        call sp init
        background
        option sp level {text}
        end
        await started
        call sp init_post_opt
        join
        call sp exit
        """
    )
    assert run.said("checks") == [f"value='{text}'"]
    assert run.said("exit") == [f"level='{text}'"]
