# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmctld calls job_submit from a fresh thread for every RPC, several at a time."""

import pytest

from tests.native.hosting import Host
from tests.native.test_fork import NO_LEAK_CHECK, SPINNING

pytestmark = pytest.mark.slow


def test_handlers_never_interleave(each_host: Host) -> None:
    """One event runs at a time, also where cffi or a sleep lets go of the GIL; and each gets its own answer."""
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


def test_the_first_event_of_several_threads(host: Host) -> None:
    """Threads that all come first start one interpreter, and load the hooks once."""
    host.site("log.info('loaded')\nhook.job_submit(lambda job: None)")
    run = host.run("load js $job_submit\nthreads 8\njob_submit js\nend\ninit js\njob_submit js")
    assert {result.rc for result in run.of("job_submit")} <= {0}
    assert run.one("init").rc == 0
    assert run.said("loaded") == [""]


def test_a_thread_that_spins(host: Host) -> None:
    """A Python thread of the site's that computes all the time delays events, and stops none."""
    host.site("import threading\n" + SPINNING + "@hook.job_submit\ndef submit(job):\n    job.comment = 'ran'\n")
    run = host.run("open js $job_submit\nthreads 4\njob_submit js\nend\njob_submit js", env=NO_LEAK_CHECK)
    assert [result["comment"] for result in run.of("job_submit")] == ["ran"] * 5


def test_threads_of_a_handler(host: Host) -> None:
    """Threads that a handler starts and joins see the event's view, and outlive nothing."""
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


def test_thread_locals_of_a_fresh_thread(host: Host) -> None:
    """What a handler leaves in thread-local variables of one RPC's thread is not seen in another's."""
    host.site(
        """
        import threading
        local = threading.local()

        @hook.job_submit
        def submit(job):
            log.info("before", value=getattr(local, "value", None))
            local.value = job.name
        """
    )
    run = host.run("open js $job_submit\nthreads 1\njob_submit js name=a\nend\nthreads 1\njob_submit js name=b\nend")
    assert run.said("before") == ["value=None", "value=None"]


def test_decimal_contexts_and_contextvars(each_host: Host) -> None:
    """Context variables of one call do not leak into the next one, be it on a fresh thread or on the same."""
    each_host.site(
        """
        import contextvars, decimal
        variable = contextvars.ContextVar("variable", default="fresh")

        @hook.job_submit
        def submit(job):
            log.info("before", value=variable.get(), prec=decimal.getcontext().prec)
            variable.set("used")
            decimal.getcontext().prec = 3
            if job.account == "refuse":
                raise Reject("no")
        """
    )
    block = "threads 1\njob_submit js\njob_submit js account=refuse\njob_submit js\nend\n"
    run = each_host.run(f"open js $job_submit\n{block}{block}")
    assert run.said("before") == ["value='fresh' prec=28"] * 6


def test_what_a_thread_says_later_reaches_nobody_else(each_host: Host) -> None:
    """A thread that outlives its call says nothing to the next one's user: the log has it."""
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
