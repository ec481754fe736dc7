# SPDX-License-Identifier: GPL-2.0-or-later
"""Many threads fork at the same time, as slurmd's do when a burst of steps starts."""

import pytest

from tests.native.hosting import Host

pytestmark = pytest.mark.slow

THREADS = 8
"""CPython 3.11 with glibc 2.36 or later is the combination that needs care."""
STORM = """
    open sp $spank hooks.py
    context remote
    call sp init
    call sp task_init
    threads {threads}
    repeat {count}
    fork
    call sp task_init
    end
    end
    end
    call sp task_init
    """
SITE = """
@hook.spank.task_init
def task_init(spank):
    assert spank.callback == "task_init"
"""
SUBINTERPRETER = """
import threading
try:
    import _interpreters as interpreters
except ImportError:  # before Python 3.13
    import _xxsubinterpreters as interpreters
interpreters.create()

def spin():
    while True:
        sum(range(1000))

threading.Thread(target=spin, daemon=True).start()
"""


def storm(host: Host, count: int, extra: str = "") -> None:
    """Let each of eight threads fork children, each of which runs a handler, and check that none hangs or fails."""
    host.site(SITE + extra)
    run = host.run(STORM.format(threads=THREADS, count=count), time_limit=60.0 + count / 10)
    assert {result.rc for result in run.of("call")} == {0}
    assert [result["failed"] for result in run.of("repeat")] == [0] * THREADS


def test_many_threads_fork(host: Host) -> None:
    """No child hangs or crashes, although other threads create and delete thread states of Python meanwhile."""
    storm(host, 40)


@pytest.mark.soak
def test_many_more_forks(host: Host) -> None:
    """The same for 8,000 forks."""
    storm(host, 1000)


def test_forks_with_a_subinterpreter(host: Host) -> None:
    """The same while a Python thread runs and a subinterpreter exists: CPython then says that each has the GIL."""
    storm(host, 10, SUBINTERPRETER)
