# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls leak no memory in slurmctld, which runs for months."""

import pytest

from tests.native.hosting import Host

pytestmark = [pytest.mark.slow, pytest.mark.moved]

CALLS = 20_000
BOUND_KIB = 256
"""Less than what losing the smallest block of malloc() in each call would add."""


def test_many_submissions(host: Host) -> None:
    """20,000 calls that write texts, arrays and messages do not make the process grow, and leak no text."""
    host.site(
        """
        @hook.job_submit
        def submit(job):
            job.comment = "x" * 200
            job.environment["NEW"] = "y" * 200
            job.argv = [*job.argv, "more"]
            log.user("hello")
            if job.account == "refuse":
                raise Reject("no")
        """
    )
    each = "job_submit js script=x account=a argv=run environment=A=1"
    refused = "job_submit js script=x account=refuse argv=run environment=A=1"
    run = host.run(
        f"""
        open js $job_submit
        repeat 1000
        {each}
        {refused}
        end
        repeat {CALLS // 2}
        {each}
        {refused}
        end
        balance
        """
    )
    _, measured = run.of("repeat")
    assert measured["failed"] == CALLS // 2
    grown = measured["grown_kib"]
    assert isinstance(grown, int)
    assert grown < BOUND_KIB
    assert run.one("balance")["alive"] == 0


def test_many_threads(host: Host) -> None:
    """Calls in new threads, as 22.05's slurmctld makes them, and failing handlers do not make the process grow."""
    host.site(
        """
        @hook.job_submit
        def submit(job):
            job.comment = "x"
            if job.account == "fail":
                raise RuntimeError
        """
    )
    block = "threads 2\njob_submit js account=a\njob_submit js account=fail\nend\n"
    run = host.run(f"open js $job_submit\nrepeat 200\n{block}end\nrepeat 1000\n{block}end\n", quiet=False)
    measured = run.of("repeat")[1]["grown_kib"]
    assert isinstance(measured, int)
    assert measured < BOUND_KIB
