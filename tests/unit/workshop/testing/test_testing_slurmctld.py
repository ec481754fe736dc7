# SPDX-License-Identifier: GPL-2.0-or-later
"""Stand-ins for jobs, records and tables behave as those of slurmctld."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.errors import StaleHandleError
from slurmhooks.job_submit.constants import NodeState
from slurmhooks.testing import FakeJob, FakeRecord, fake_jobs, fake_partitions, fake_reservations, run
from slurmhooks.values import UNLIMITED


def test_values_are_checked_as_in_slurm() -> None:
    """A stand-in refuses values that Slurm could not have."""
    for error, fields in ((ValueError, {"time_limit": -1}), (TypeError, {"account": 5}), (ValueError, {"name": "\0"})):
        with pytest.raises(error):
            FakeJob(**fields)


def test_jobs_that_are_no_array_have_no_count_of_tasks(hooks: Callable[[str], Path]) -> None:
    """As in slurmctld, array_task_cnt is None unless the job is an array: in record and in jobs."""
    for fields, expected in (({}, None), ({"array_task_cnt": None}, None), ({"array_task_cnt": 0}, 0)):
        assert FakeRecord(**fields).array_task_cnt == expected
    path = hooks(
        "@hook.job_submit\ndef h(job, jobs): job.comment = str([each.array_task_cnt for each in jobs.values()])\n"
    )
    jobs = [FakeRecord(job_id=1), FakeRecord(job_id=2, array_task_cnt=3)]
    assert run(path, "job_submit", jobs=jobs).changes == {"comment": "[None, 3]"}


def test_what_handlers_get_of_slurmctld(hooks: Callable[[str], Path]) -> None:
    """Tables and the record come from the test, as dicts or as tables."""
    path = hooks(
        """
@hook.job_modify
def handler(job, record, modify_uid, partitions, reservations, jobs):
    found = [record.job_id, modify_uid, partitions["debug"].max_time, len(reservations), list(jobs)]
    job.comment = " ".join(map(str, found))
"""
    )
    partitions = {"debug": {"max_time": UNLIMITED}}
    reservations: dict[str, dict[str, object]] = {"maint": {}}
    jobs = [FakeRecord(job_id=5), FakeRecord(job_id=6)]
    record = FakeRecord(job_id=9, user_id=77)
    expected = {"comment": "9 77 UNLIMITED 1 [5, 6]"}
    as_dicts = run(path, "job_modify", record=record, partitions=partitions, reservations=reservations, jobs=jobs)
    assert as_dicts.changes == expected
    tables = {"partitions": fake_partitions(partitions), "reservations": fake_reservations(reservations)}
    for _ in range(2):
        result = run(path, "job_modify", record=record, jobs=fake_jobs(jobs), **tables)  # type: ignore[arg-type]
        assert result.changes == expected


def test_all_tables_of_slurmctld(hooks: Callable[[str], Path]) -> None:
    """Nodes, licenses, QOS and associations have the test's values; omitted ones are as in a plain cluster."""
    path = hooks(
        """
from slurmhooks import UNLIMITED

@hook.job_submit
def handler(job, nodes, licenses, qos, associations):
    node, license, high = nodes["n1"], licenses["matlab"], qos["high"]
    log.info("%s", [node.cpus, node.partitions, node.reason, node.state, len(nodes)])
    log.info("%s", [license.total, license.used])
    log.info("%s", [high.usage_factor, high.limit_factor, high.max_wall_pj is UNLIMITED, high.preempt, high.grp_tres])
    log.info("%s", [(found.id, found.user) for found in associations.where(account="physics") if found.qos])
"""
    )
    result = run(
        path,
        "job_submit",
        nodes={"n1": {"cpus": 8, "partitions": ["a", "b"], "state": NodeState.NODE_STATE_IDLE}},
        licenses={"matlab": {"total": 5, "used": 2}},
        qos={"high": {"usage_factor": 2.5, "max_wall_pj": UNLIMITED, "preempt": ["low"]}},
        associations=[
            {"account": "physics", "user": "alice", "qos": ["high"]},
            {"account": "physics", "user": "bob"},
            {"account": "maths", "user": "alice", "qos": ["high"]},
        ],
    )
    assert result.accepted, result
    assert result.log == [
        "info: [8, ['a', 'b'], None, <NodeState.NODE_STATE_IDLE: 2>, 1]",
        "info: [5, 2]",
        "info: [2.5, UNLIMITED, True, ['low'], None]",
        "info: [(1, 'alice')]",
    ]


def test_an_update_has_what_scontrol_sends(hooks: Callable[[str], Path]) -> None:
    """In an update the user is the owner of the record, and some fields are 0, unless the test gives others."""
    path = hooks(
        """
@hook.job_modify
def handler(job, record):
    if job.het_job_offset:
        raise Reject("a component")
    log.info("%s", [job.user_id, job.user_name, job.group_id, job.job_id_str, job.immediate, job.time_limit])
    log.info("%s", [name for name in JobFlag.__members__ if JobFlag[name] in job.bitflags and "DEFAULT" in name])
""".replace("@hook", "from slurmhooks.job_submit.constants import JobFlag\n@hook", 1)
    )
    record = FakeRecord(job_id=7, user_id=5, user_name="eve")
    every = [f"USE_DEFAULT_{name}" for name in ("ACCT", "PART", "QOS", "WCKEY")]
    cases: list[tuple[dict[str, Any], list[Any], list[str]]] = [
        ({}, [5, "eve", None, "7", 0, None], every),
        ({"user_id": 9, "immediate": 1, "qos": "low"}, [9, "eve", None, "7", 1, None], [*every[:2], every[3]]),
        ({"job_id_str": "7+0", "bitflags": 0, "time_limit": 5}, [5, "eve", None, "7+0", 0, 5], []),
    ]
    for given, seen, flags in cases:
        result = run(path, "job_modify", job=FakeJob(**given), record=record)
        assert result.log == [f"info: {seen}", f"info: {flags}"], result
    assert run(path, "job_modify", job=FakeJob(het_job_offset=1), record=record).text == "a component"
    assert run(path, "job_modify", job=(again := FakeJob()), record=record).accepted
    assert (
        run(path, "job_modify", job=again, record=FakeRecord(job_id=7, user_id=6)).log[0].startswith("info: [6, None")
    )


def test_views_are_stale_after_the_run(hooks: Callable[[str], Path]) -> None:
    """A view that a handler keeps is stale after the call; the stand-ins of the test are not."""
    path = hooks(
        """
kept = []
@hook.job_modify
def handler(job, record, partitions):
    kept.extend([job, record, partitions["debug"]])
"""
    )
    job, record, partitions = FakeJob(name="x"), FakeRecord(name="y"), fake_partitions({"debug": {}})
    assert run(path, "job_modify", job=job, record=record, partitions=partitions).accepted
    for view in sys.modules["slurmhooks_site.hooks"].kept:
        with pytest.raises(StaleHandleError):
            view.name  # noqa: B018
    assert (job.name, record.name, partitions["debug"].name) == ("x", "y", "debug")


def test_a_job_can_be_submitted_and_then_changed(hooks: Callable[[str], Path]) -> None:
    """A stand-in can be used in several runs, and the test may change it in between."""
    path = hooks("@hook.job_submit\ndef handler(job): job.comment = (job.comment or '') + (job.account or '')\n")
    job = FakeJob(account="a")
    assert run(path, "job_submit", job=job).changes == {"comment": "a"}
    job.account = "b"
    assert run(path, "job_submit", job=job).changes == {"comment": "ab"}
    assert job.comment == "ab"


def test_changes_of_environments_and_arguments(hooks: Callable[[str], Path]) -> None:
    """Changes of an environment are its changed variables, None for a removed one; of argv, the whole list."""
    path = hooks(
        """
@hook.job_submit
def handler(job):
    job.environment["NEW"] = "1"
    job.environment["PATH"] = "/opt"
    del job.environment["HOME"]
    job.environment["SAME"] = "x"
    job.argv = ["wrapper", *job.argv]
    job.min_mem_per_cpu = 100
"""
    )
    env = {"PATH": "/bin", "HOME": "/root", "SAME": "x"}
    result = run(path, "job_submit", job=FakeJob(script="#!/bin/sh", environment=env, argv=["a"], min_mem_per_node=5))
    assert result.changes == {
        "environment": {"PATH": "/opt", "HOME": None, "NEW": "1"},
        "argv": ["wrapper", "a"],
        "min_mem_per_cpu": 100,
    }


def test_fields_that_slurmctld_computes() -> None:
    """Computed fields have the values that the test gives."""
    job = FakeJob(user_name="alice", default_account="physics", groups={"wheel": 10})
    assert (job.user_name, job.default_account, job.groups) == ("alice", "physics", {"wheel": 10})


def test_the_default_account(tmp_path: Path) -> None:
    """It is that of the user's default association in the table of the test, unless the test gives it."""
    path = tmp_path / "hooks.py"
    path.write_text(
        "from slurmhooks import hook, log\n\n@hook.job_submit\ndef f(job):\n"
        "    log.user('%s %s', job.default_account, job.charged_account)\n"
    )
    table = [{"user_id": 1000, "account": name, "is_default": name == "maths"} for name in ("physics", "maths")]
    for job, said in (
        (FakeJob(), "maths maths"),
        (FakeJob(account="physics"), "maths physics"),
        (FakeJob(default_account="own"), "own own"),
        (FakeJob(user_id=1), "None None"),
    ):
        assert run(path, "job_submit", job=job, associations=table).user_messages == [said]
