# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers look up records of slurmctld, which are read-only, until their call ends."""

from collections.abc import Mapping
from typing import Any

import pytest

from slurmhooks.errors import StaleHandleError
from slurmhooks.handlers.registry import Registry, verify
from slurmhooks.hooks.decorator import Mark
from slurmhooks.job_submit import model
from slurmhooks.job_submit.constants import JobState, JobStateFlag
from slurmhooks.testing import (
    FakeRecord,
    fake_associations,
    fake_jobs,
    fake_licenses,
    fake_nodes,
    fake_partitions,
    fake_qos,
    fake_reservations,
    run,
)
from slurmhooks.values import UNLIMITED
from tests.unit.job_submit.views import table_of


def test_records_are_read_only() -> None:
    """Fields of slurmctld's records cannot be assigned, and errors about unknown names list the nearest."""
    record: Any = FakeRecord(time_limit=60)
    with pytest.raises(AttributeError, match=r"^record\.time_limit is read-only$"):
        record.time_limit = 61
    with pytest.raises(AttributeError, match=r"^record has no 'timelimit'; nearest: time_limit"):
        record.timelimit  # noqa: B018


COUNTS = ("reservations", "nodes", "licenses")
LIMITS = ("partitions", "qos", "associations")
"""Those whose field below is a number that is never unset."""
TABLES: dict[str, tuple[Any, Any, Any]] = {
    "partitions": (fake_partitions({"debug": {"max_time": 60}, "gpu": {}}), "debug", "max_time"),
    "reservations": (fake_reservations({"debug": {"node_cnt": 60}, "gpu": {}}), "debug", "node_cnt"),
    "nodes": (fake_nodes({"debug": {"cpus": 60}, "gpu": {}}), "debug", "cpus"),
    "licenses": (fake_licenses({"debug": {"total": 60}, "gpu": {}}), "debug", "total"),
    "qos": (fake_qos({"debug": {"max_wall_pj": 60}, "gpu": {}}), "debug", "max_wall_pj"),
    "associations": (fake_associations([{"max_jobs": 60, "user": "alice"}, {"id": 5}]), 1, "max_jobs"),
    "jobs": (fake_jobs([FakeRecord(job_id=7, time_limit=60), FakeRecord(job_id=8)]), 7, "time_limit"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_mappings(name: str) -> None:
    """Records are looked up by key; a missing key behaves as in a dict."""
    table, key, field = TABLES[name]
    table = table_of(table)
    assert isinstance(table, Mapping)
    assert getattr(table[key], field) == 60
    assert key in table
    assert "none" not in table
    assert table.get("none") is None
    with pytest.raises(KeyError):
        table["none"]
    assert len(table) == 2
    assert next(iter(table)) == key
    omitted = 0 if name in COUNTS else UNLIMITED if name in LIMITS else None
    assert [getattr(record, field) for record in table.values()] == [60, omitted]
    assert [found for found, _ in table.items()] == list(table)


def test_numbers_may_be_texts() -> None:
    """jobs["7"] is jobs[7], as in job_submit.lua, and likewise associations["5"]."""
    assert TABLES["jobs"][0]["7"].job_id == 7
    assert TABLES["associations"][0]["5"].id == 5


@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_looked_up_before_it_is_asked(name: str) -> None:
    """A handler that reads no record pays for none; a handler that reads one does not pay for all."""
    asked: list[object] = []

    def find(key: object) -> None:
        asked.append(key)

    def everything() -> dict[Any, Any]:
        raise AssertionError

    table: model.Table[Any, Any] = model.Table(find, everything, everything, everything)  # type: ignore[arg-type] # none is to be called
    assert "debug" not in table
    assert asked == ["debug"]
    table.close()


@pytest.mark.parametrize("name", TABLES)
def test_tables_and_their_records_end_with_the_call(name: str) -> None:
    """A table, and every record that came from it, is stale afterwards."""
    table, key, field = TABLES[name]
    table = table_of(table)
    records = [table[key], *table.values(), dict(table.items())[key]]
    table.close()
    for record in records:
        with pytest.raises(StaleHandleError):
            getattr(record, field)
    for use in (lambda: table[key], lambda: key in table, lambda: list(table), lambda: len(table), table.items):
        with pytest.raises(StaleHandleError):
            use()


JOBS = fake_jobs(
    [
        FakeRecord(job_id=1, user_id=7, partition="debug", job_state=JobState.JOB_PENDING),
        FakeRecord(job_id=2, user_id=7, partition="gpu", job_state=JobState.JOB_RUNNING, resizing=True),
        FakeRecord(job_id=3, user_id=8, partition="debug", job_state=JobState.JOB_PENDING, time_limit=60),
    ]
)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [1, 2, 3]),
        ({"user_id": 7}, [1, 2]),
        ({"user_id": 7, "partition": "debug"}, [1]),
        ({"job_state": JobState.JOB_RUNNING}, [2]),
        ({"resizing": True}, [2]),
        ({"resizing": False, "user_id": 7}, [1]),
        ({"job_state": JobState.JOB_RUNNING, "resizing": True}, [2]),
        ({"job_state": JobState.JOB_RUNNING, "resizing": False}, []),
        ({"time_limit": None}, [1, 2]),
        ({"time_limit": 60, "partition": "gpu"}, []),
    ],
)
def test_records_are_chosen_by_fields(fields: dict[str, Any], expected: list[int]) -> None:
    """where() accepts numbers, texts, bits and parts of a member, in a worker as well as in tests."""
    assert [record.job_id for record in JOBS.where(**fields)] == expected
    seen: list[int] = []

    def handler(jobs: Any) -> None:
        seen.extend(record.job_id for record in jobs.where(**fields))

    made, findings = verify(
        Mark(handler, "job_submit", 50, None, None, 1, __name__), handler, "choosing", "choosing.py"
    )
    assert made, findings
    registry = Registry(made, [])
    result = run(registry, "job_submit", jobs=JOBS)
    assert result.accepted, result
    assert seen == expected


def test_choosing_says_what_is_wrong() -> None:
    """A field that does not exist, or that cannot be asked for, is an error with its name."""
    with pytest.raises(AttributeError, match=r"^record has no 'user' to filter by; nearest: cluster, user_id"):
        JOBS.where(user=7)
    with pytest.raises(TypeError, match=r"^records cannot be filtered by argv"):
        JOBS.where(argv=["x"])
    with pytest.raises(TypeError, match=r"^partition takes"):
        JOBS.where(partition=None)
    with pytest.raises(ValueError, match=r"^resizing: another condition tests the same bits of job_state"):
        JOBS.where(job_state_flags=JobStateFlag(0), resizing=True)
    with pytest.raises(ValueError, match=r"^at most 8 fields"):
        JOBS.where(
            **dict.fromkeys(
                ("account", "comment", "name", "wckey", "network", "features", "gres_used", "partition", "licenses"),
                "x",
            )
        )
    assert [record.job_id for record in JOBS.of_user(8)] == [3]
