# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers that end their worker or miss their own deadline, with each value of on_error."""

import pytest

from tests.native.hosting import Host, Run

pytestmark = pytest.mark.slow

ENDS = {"crash": "os._exit(3)", "hang": "time.sleep(1000)", "spin": "exec('while True: pass')"}


def submitted(host: Host, hooks: str, timeout: float = 20.0) -> Run:
    """Submit two jobs to some handlers."""
    host.site("import os, time\n" + hooks)
    host.config(f"[hooks]\npaths = ['hooks.py']\n[job_submit]\ntimeout = {timeout}\n")
    return host.run("open js $job_submit\njob_submit js account=a\njob_submit js name=next")


THREE = """
@hook.job_submit(order=1)
def first(job): job.comment = "first"
@hook.job_submit(order=2, on_error={on_error!r}, timeout=0.2)
def second(job):
    job.account = "second"
    if job.name != "next":
        {body}
@hook.job_submit(order=3)
def third(job): job.comment += " third"
"""


@pytest.mark.parametrize("end", ENDS)
def test_a_lenient_handler_is_left_out(host: Host, end: str) -> None:
    """The request passes with the writes of the others; the user gets an id, and the log names the handler."""
    run = submitted(host, THREE.format(on_error="accept", body=ENDS[end]))
    left, whole = run.of("job_submit")
    assert (left.rc, left["comment"], left["account"]) == (0, "first third", "a"), run.log
    assert "did not answer (error " in str(left["err_msg"])
    assert "in hooks:second" in run
    assert "the handler is left out" in run
    assert (whole.rc, whole["account"]) == (0, "second")


@pytest.mark.parametrize("end", ENDS)
def test_a_strict_handler_refuses(host: Host, end: str) -> None:
    """The request is refused without any handler's writes, and the next request is served."""
    run = submitted(host, THREE.format(on_error="reject", body=ENDS[end]))
    refused, whole = run.of("job_submit")
    assert refused.rc != 0
    assert (refused["comment"], refused["account"]) == (None, "a")
    assert "in hooks:second" in run
    assert (whole.rc, whole["comment"]) == (0, "first third")


ALONE = """
@hook.job_submit(on_error="accept")
def endless(job):
    if job.name != "next":
        time.sleep(1000)
"""


def test_without_time_for_the_others(host: Host) -> None:
    """If a lenient handler uses up all the time, the request passes only if all handlers are lenient."""
    run = submitted(host, ALONE, 0.3)
    assert [result.rc for result in run.of("job_submit")] == [0, 0], run.log
    run = submitted(host, ALONE + "@hook.job_submit\ndef strict(job): pass\n", 0.3)
    assert [result.rc == 0 for result in run.of("job_submit")] == [False, True], run.log


def test_a_limit_that_is_never_reached_is_told(host: Host) -> None:
    """The log names a handler whose own limit is larger than that of the request, and both limits."""
    run = submitted(host, "@hook.job_submit(timeout=5)\ndef slow(job): pass\n", 1.5)
    assert "handler hooks:slow: timeout=5 is never reached: [job_submit] timeout = 1.5" in run


def test_a_timer_is_not_left(host: Host) -> None:
    """A timer of a handler neither interrupts a later one, also of the next request, nor ends the worker."""
    hooks = """
import signal

@hook.job_submit(order=1)
def leaves(job): signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
@hook.job_submit(order=2)
def other(job): time.sleep(0.2)
"""
    run = submitted(host, hooks)
    assert [result.rc for result in run.of("job_submit")] == [0, 0], run.log
    assert run.lines("ERROR").count("slurmhooks: job_submit handler hooks:leaves has left a timer, which is ended") == 2
