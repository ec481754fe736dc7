# SPDX-License-Identifier: GPL-2.0-or-later
"""Test a site's hooks on a laptop, without Slurm.

    from slurmhooks.testing import FakeJob, run

    def test_jobs_need_an_account() -> None:
        result = run("hooks.d/limits.py", "job_submit", job=FakeJob(time_limit=5))
        assert not result.accepted
        assert result.code == "ESLURM_INVALID_ACCOUNT"

:func:`run` loads the file, runs the handlers of one hook and returns the result. The code that loads files, checks
names and values, orders handlers, stages writes and treats bugs is the code that runs in Slurm. Only Slurm itself is
replaced by stand-ins: :class:`FakeJob`, :class:`FakeRecord`, :class:`FakeSpank`, :class:`FakeOptions`,
:class:`FakeContainer`, :class:`FakeMail`, :class:`FakeBurstBuffer`, and tables.

A handler is a plain function, so a test may also import the file and call the handler with a stand-in.
"""

try:
    from slurmhooks.workshop.testing.burst_buffer import FakeBurstBuffer
    from slurmhooks.workshop.testing.cli_filter import FakeOptions
    from slurmhooks.workshop.testing.health import FakeNode, Health, health
    from slurmhooks.workshop.testing.job_submit import FakeJob, FakeRecord
    from slurmhooks.workshop.testing.job_tables import (
        FakeTable,
        fake_associations,
        fake_jobs,
        fake_licenses,
        fake_nodes,
        fake_partitions,
        fake_qos,
        fake_reservations,
    )
    from slurmhooks.workshop.testing.jobcomp import FakeEvent
    from slurmhooks.workshop.testing.launch import Launch, Task, launch
    from slurmhooks.workshop.testing.mail import FakeMail
    from slurmhooks.workshop.testing.observed import Observed
    from slurmhooks.workshop.testing.runner import Result, run
    from slurmhooks.workshop.testing.scrun import FakeContainer
    from slurmhooks.workshop.testing.spank import FakeSpank
    from slurmhooks.workshop.testing.watching import Bug
except ModuleNotFoundError as error:
    # A folder that a removed package has left, perhaps with caches, counts as a package without modules.
    if not (error.name or "").startswith("slurmhooks.workshop"):
        raise
    text = "slurmhooks.testing is part of the package slurmhooks-workshop: install it"
    raise ModuleNotFoundError(text, name=__name__) from None

__all__ = [
    "Bug",
    "FakeBurstBuffer",
    "FakeContainer",
    "FakeEvent",
    "FakeJob",
    "FakeMail",
    "FakeNode",
    "FakeOptions",
    "FakeRecord",
    "FakeSpank",
    "FakeTable",
    "Health",
    "Launch",
    "Observed",
    "Result",
    "Task",
    "fake_associations",
    "fake_jobs",
    "fake_licenses",
    "fake_nodes",
    "fake_partitions",
    "fake_qos",
    "fake_reservations",
    "health",
    "launch",
    "run",
]
