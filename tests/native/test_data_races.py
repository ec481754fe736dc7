# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads of slurmctld that use a plugin at the same time access no memory without a lock, under ThreadSanitizer."""

import random
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from slurmhooks.worker import commands
from tests.native.building import THREADS
from tests.native.conftest import built
from tests.native.hosting import Host
from tests.native.test_workers import GENERATION, SUPERVISOR, WORKER
from tests.native.workers import Exchanger, below, wait_for

pytestmark = [pytest.mark.sanitized, pytest.mark.slow]

CALLERS = 64
"""More than slurmctld calls a plugin with at once: its pool has 16 to 32 threads for requests."""
OBSERVES = "running.begin(0, 'tests:observes', 20); query(b'w' * 16 + data); running.end()"


def test_exchanges_while_processes_are_killed(tmp_path: Path) -> None:
    """64 threads exchange messages while workers, generations and the supervisor are killed and files are reloaded.

    ThreadSanitizer reports nothing, each exchange ends, and none has the answer to another one.
    """
    host = Exchanger(built(THREADS), tmp_path, {"settings": {"workers": 4}, "observe": OBSERVES})
    chance = random.Random(19)
    over = threading.Event()

    def disturb() -> None:
        while not over.wait(0.25):
            name = chance.choices([WORKER, GENERATION, SUPERVISOR, "reload"], [6, 2, 1, 2])[0]
            if name == "reload":
                with suppress(OSError):  # the supervisor was killed
                    commands.ask("reload", str(tmp_path), 0, 30)
            elif victims := [each for each in below(host.pid, name) if each.state != "Z"]:
                chance.choice(victims).kill()

    try:
        assert host.exchange("echo") == ("OK", "echo"), host.log
        for number in range(20):
            host.exchange(f"observed = 'question {number}'")
        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            results = host.many(CALLERS, 40, "echo slowly")
        finally:
            over.set()
            thread.join()
        assert (results["OK"] + results["WORKER_DIED"], results["WRONG"]) == (CALLERS * 40, 0), results
        wait_for(lambda: host.exchange("echo") == ("OK", "echo"), "a worker that serves")
        host.stop()
    finally:
        host.kill()
    assert "ThreadSanitizer" not in host.log, host.log


def test_calls_of_the_plugin(tmp_path: Path) -> None:
    """64 threads submit jobs through the plugin while it loads hooks, and ThreadSanitizer reports nothing."""
    host = Host(built(THREADS), tmp_path)
    host.site("""
    @hook.job_submit
    def submit(job):
        job.comment = job.account
        log.user("hello")
        if job.account == "refused":
            raise Reject("no")
    """)
    script = f"""
    load js $job_submit
    init js
    threads {CALLERS}
    job_submit js account=passed
    job_submit js account=refused environment=A=1
    end
    close js
    """
    run = host.run(script)
    assert [call["rc"] == 0 for call in run.of("job_submit")].count(True) == CALLERS
    assert len(run.of("job_submit")) == 2 * CALLERS
