# SPDX-License-Identifier: GPL-2.0-or-later
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.decorator import Mark
from slurmhooks.errors import StaleHandleError
from slurmhooks.job_submit import model
from slurmhooks.job_submit.constants import JobState, JobStateFlag
from slurmhooks.registry import Registry, verify
from slurmhooks.testing import (
    FakeJob,
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
from tests.unit.job_submit.views import raw, struct_of, table_of, view_of

BATCH: dict[str, Any] = {"script": "#!/bin/sh", "environment": {"PATH": "/bin", "HOME": "/home/alice"}}


def view(hook: str = "job_submit", **fields: Any) -> tuple[FakeJob, Any]:
    """Return a request, and what its handlers get."""
    job = FakeJob(**fields)
    return job, view_of(job, hook)


# Attributes.


def test_an_unknown_attribute_has_the_nearest_names() -> None:
    """Reading or writing a misspelt field is an error that lists the nearest names."""
    _, job = view()
    for use in (lambda: job.accounn, lambda: setattr(job, "accounn", "x")):
        with pytest.raises(AttributeError) as caught:
            use()
        assert str(caught.value) == "job has no 'accounn'; nearest: account"
    with pytest.raises(AttributeError, match=r"^job has no 'xyzzy'$"):
        job.xyzzy  # noqa: B018


@pytest.mark.parametrize("name", ["commit", "close", "__class__", "_struct", "user_name"])
def test_what_is_no_field_cannot_be_assigned(name: str) -> None:
    """A handler can replace neither methods nor internal attributes of slurmhooks."""
    _, job = view()
    with pytest.raises(AttributeError):
        setattr(job, name, None)


def test_a_field_cannot_be_deleted() -> None:
    """None unsets a field; del is an error that says so, or that there is no such field."""
    _, job = view()
    with pytest.raises(AttributeError, match=r"^job\.account cannot be deleted; None unsets a field$"):
        del job.account
    with pytest.raises(AttributeError, match=r"^job has no 'acount'; nearest: account"):
        del job.acount


def test_a_view_as_a_dictionary() -> None:
    """dict() copies all fields of this release by name, for use after the call; the same holds for a record."""
    fake, job = view(account="a", argv=["job.sh"], environment={"A": "1"}, script="#!/bin/sh")
    job.environment["B"] = "2"
    fields = dict(job)
    job.close()
    assert set(fields) == set(dir(fake))
    expected = {"account": "a", "time_limit": None, "argv": ["job.sh"], "environment": {"A": "1", "B": "2"}}
    assert {name: fields[name] for name in expected} == expected
    assert dict(FakeRecord(job_id=7))["job_id"] == 7


def test_dir_lists_the_fields() -> None:
    """Completion in a Python shell shows fields, and no internal attributes of slurmhooks."""
    names = dir(FakeJob())
    assert {"account", "time_limit", "environment", "argv", "user_name"} <= set(names)
    assert not {"commit", "close", "rollback", "savepoint"} & set(names)
    assert not [name for name in names if name.startswith("_")]


def test_repr_names_what_it_views() -> None:
    """A view can be logged, even after its call."""
    _, job = view(name="run1")
    assert repr(job) == "<Job 'run1'>"
    assert repr(FakeRecord(name="run1")) == "<Record 'run1'>"
    job.close()
    assert repr(job) == "<Job>"


# Staging.


def test_writes_wait_for_the_commit() -> None:
    """Writes read back at once, and are applied by commit."""
    fake, job = view(account="physics", **BATCH)
    job.account = "chemistry"
    job.time_limit = 5
    job.argv = ["a", "b"]
    job.environment["X"] = "1"
    job.spank_job_env["Y"] = "2"
    assert (job.account, job.time_limit, job.argv, job.argc) == ("chemistry", 5, ["a", "b"], 0)
    assert (job.environment["X"], job.spank_job_env["Y"]) == ("1", "2")
    assert [raw(fake, name) for name in ("account", "argv", "spank_job_env")] == [b"physics", [], []]
    job.commit()
    assert [raw(fake, name) for name in ("account", "time_limit", "argv", "argc")] == [b"chemistry", 5, [b"a", b"b"], 2]
    assert raw(fake, "environment") == [b"PATH=/bin", b"HOME=/home/alice", b"X=1"]
    assert [raw(fake, name) for name in ("env_size", "spank_job_env")] == [3, [b"Y=2"]]


def test_what_is_not_written_is_not_touched() -> None:
    """A commit without writes changes nothing."""
    fake, job = view(account="physics", argv=["x"], **BATCH)
    before = fake._struct.data
    assert job.account == "physics"
    assert job.environment["PATH"] == "/bin"
    job.commit()
    assert fake._struct.written == {}
    assert fake._struct.data == before


WRITES: dict[str, Callable[[Any], object]] = {
    "field": lambda job: setattr(job, "account", "b"),
    "flag": lambda job: setattr(job, "task_dist_flags", 0x10000),
    "argv": lambda job: job.argv.append("b"),
    "argv assigned": lambda job: setattr(job, "argv", ["b"]),
    "variable": lambda job: job.environment.update(PATH="b"),
    "new variable": lambda job: job.environment.update(B="b"),
    "variable deleted": lambda job: job.environment.pop("PATH", None),
    "environment emptied": lambda job: job.environment.clear(),
    "environment assigned": lambda job: setattr(job, "environment", {"B": "b"}),
    "control": lambda job: job.spank_job_env.update(B="b"),
    "control assigned": lambda job: setattr(job, "spank_job_env", {}),
}


def content(job: Any) -> tuple[object, ...]:
    """Return all values that the writes above can change."""
    mappings = dict(job.environment), dict(job.spank_job_env)
    return job.account, job.task_dist, job.task_dist_flags, list(job.argv), *mappings


@pytest.mark.parametrize("first", [None, *WRITES])
@pytest.mark.parametrize("second", WRITES)
def test_rollback_undoes_what_came_after_the_savepoint(first: str | None, second: str) -> None:
    """All kinds of writes of a lenient handler are undone; those of earlier handlers stay."""
    _, job = view(account="a", argv=["a"], spank_job_env={"A": "a"}, **BATCH)
    if first is not None:
        WRITES[first](job)
    before = content(job)
    savepoint = job.savepoint()
    WRITES[second](job)
    job.rollback(savepoint)
    assert content(job) == before


def test_nothing_is_staged_of_a_mapping_with_a_wrong_value() -> None:
    """Assigning an environment also sets either all variables or none."""
    _, job = view(**BATCH)
    for wrong in ({"A": "1", "B": 5}, {"A": "1", "": "x"}, {"A": "\0"}):
        with pytest.raises((TypeError, ValueError)):
            job.environment = wrong
    with pytest.raises(TypeError, match=r"^environment takes a mapping, not \['A=1'\]$"):
        job.environment = ["A=1"]
    assert job.environment == BATCH["environment"]


# Environments.


def test_environments_are_mutable_mappings() -> None:
    """Functions that take a mapping take an environment, and one environment can be assigned to the other."""
    _, job = view(**BATCH)
    assert isinstance(job.environment, MutableMapping)
    job.spank_job_env = job.environment
    assert job.spank_job_env == {"PATH": "/bin", "HOME": "/home/alice"}
    assert job.environment is job.environment


@pytest.mark.parametrize(
    ("hook", "fields", "member"),
    [
        ("job_submit", {}, "environment"),
        ("job_modify", BATCH, "environment"),
        ("job_modify", {}, "spank_job_env"),
    ],
)
def test_an_environment_that_slurm_would_not_take_is_frozen(hook: str, fields: dict[str, Any], member: str) -> None:
    """srun and salloc do not send their environment and updates have none: writing there is an error, not a no-op."""
    _, job = view(hook, **fields)
    with pytest.raises(ValueError, match=r"cannot be set|none can be set"):
        getattr(job, member)["X"] = "1"


def test_an_array_keeps_what_is_no_variable() -> None:
    """Entries without '=' and the order of other entries survive a change; of two with one name the first counts."""
    fake, job = view(script="#!/bin/sh")
    struct_of(fake).put({"environment": [b"odd", b"A=1", b"B=\xff", b"A=2"]})
    assert dict(job.environment) == {"A": "1", "B": "\udcff"}
    assert job.environment["A"] == "1"
    job.environment["C"] = "\udcfe"
    job.commit()
    assert raw(fake, "environment") == [b"odd", b"A=1", b"B=\xff", b"A=2", b"C=\xfe"]
    del job.environment["A"]
    job.commit()
    assert raw(fake, "environment") == [b"odd", b"B=\xff", b"C=\xfe"]
    assert raw(fake, "env_size") == 3


def test_an_environment_behaves_as_a_dictionary() -> None:
    """An environment can be merged and copied like a dict; unwritten entries keep their place in the request."""
    fake, job = view(script="#!/bin/sh")
    struct_of(fake).put({"environment": [b"odd", b"A=1"]})
    job.environment |= {"B": "2"}
    assert job.environment | {"A": "3"} == {"A": "3", "B": "2"}
    assert {"A": "3", "C": "4"} | job.environment == {"A": "1", "B": "2", "C": "4"}
    copy = job.environment.copy()
    copy["D"] = "5"
    assert dict(job.environment) == {"A": "1", "B": "2"}
    for wrong in ({"E": "6", "F": 7}, {"E": "6", "F=": "7"}, [("E", "6")], None):
        with pytest.raises((TypeError, ValueError)):
            job.environment |= wrong
    job.commit()
    assert raw(fake, "environment") == [b"odd", b"A=1", b"B=2"]


# argv.


def test_argv_is_added_sorted_and_copied_as_a_list() -> None:
    """Sums and copies are separate lists; sort() sorts the request's words."""
    fake, job = view(argv=["b", "c", "a"])
    more = ["d"]
    assert job.argv + more == ["b", "c", "a", "d"]
    assert more + job.argv == ["d", "b", "c", "a"]
    assert job.argv + job.argv == ["b", "c", "a"] * 2
    with pytest.raises(TypeError):
        job.argv + "d"
    copy = job.argv.copy()
    job.argv.sort(reverse=True)
    assert (copy, job.argv) == (["b", "c", "a"], ["c", "b", "a"])
    job.commit()
    assert raw(fake, "argv") == [b"c", b"b", b"a"]


@given(
    st.lists(st.tuples(st.sampled_from(["append", "insert", "pop", "set", "del", "extend"]), st.text("ab", max_size=2)))
)
def test_argv_behaves_as_a_list(steps: list[tuple[str, str]]) -> None:
    """Every change of argv changes the request."""
    fake, job = view(argv=["job.sh"])
    expected = ["job.sh"]
    for step, word in steps:
        for words in (expected, job.argv):
            if step == "append":
                words.append(word)
            elif step == "insert":
                words.insert(0, word)
            elif step == "extend":
                words += [word, word]
            elif words:
                if step == "pop":
                    words.pop()
                elif step == "set":
                    words[0] = word
                else:
                    del words[-1:]
    assert job.argv == expected
    assert list(job.argv) == expected
    assert len(job.argv) == len(expected)
    assert repr(job.argv) == repr(expected)
    job.commit()
    assert raw(fake, "argv") == [word.encode() for word in expected]
    assert raw(fake, "argc") == len(expected)


def test_argv_takes_words_only() -> None:
    """A text is not a list of letters, and a word is a text without NUL; nothing is written otherwise."""
    _, job = view(argv=["a"])
    assert isinstance(job.argv, MutableSequence)
    for wrong in ("ls -l", None, 5, ["a", 5], [b"a"]):
        with pytest.raises(TypeError, match=r"^argv takes "):
            job.argv = wrong
    with pytest.raises(ValueError, match=r"^argv must not hold a NUL byte"):
        job.argv.append("a\0b")
    assert job.argv == ["a"]
    assert job.argv != ["b"]


# The end.

USES: dict[str, Callable[[Any], object]] = {
    "read": lambda job: job.account,
    "read computed": lambda job: job.user_name,
    "write": lambda job: setattr(job, "account", "x"),
    "write read-only": lambda job: setattr(job, "user_id", 1),
    "argv": lambda job: job.argv,
    "write argv": lambda job: setattr(job, "argv", []),
    "environment": lambda job: job.environment,
    "write environment": lambda job: setattr(job, "environment", {}),
}


@pytest.mark.parametrize("use", USES)
def test_a_job_that_outlives_its_call_is_stale(use: str) -> None:
    """Every use after the call raises StaleHandleError, because Slurm may free the memory."""
    _, job = view(account="physics", **BATCH)
    job.close()
    with pytest.raises(StaleHandleError, match="this Job was used after the call"):
        USES[use](job)


def test_parts_of_a_job_that_outlive_its_call_are_stale() -> None:
    """Every use of objects obtained from it raises too."""
    _, job = view(argv=["x"], **BATCH)
    argv, environment = job.argv, job.environment
    job.close()
    for use in (
        lambda: argv[0],
        lambda: len(argv),
        lambda: argv.append("x"),
        lambda: environment["PATH"],
        lambda: environment.update(A="1"),
    ):
        with pytest.raises(StaleHandleError):
            use()
    assert repr(argv) == "<Words of a call that is over>"


# Records and tables.


def test_records_are_read_only() -> None:
    """Fields of slurmctld's records cannot be assigned, and errors about unknown names list the nearest."""
    record: Any = FakeRecord(time_limit=60)
    with pytest.raises(AttributeError, match=r"^record\.time_limit is read-only$"):
        record.time_limit = 61
    with pytest.raises(AttributeError, match=r"^record has no 'timelimit'; nearest: time_limit"):
        record.timelimit  # noqa: B018


COUNTS = ("reservations", "nodes", "licenses")
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
    assert [getattr(record, field) for record in table.values()] == [60, 0 if name in COUNTS else None]
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

    table: model.Table[Any, Any] = model.Table(find, everything, everything)  # type: ignore[arg-type] # none is to be called
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

    made, findings = verify(Mark(handler, "job_submit", 50, None, None, 1, __name__), handler, "choosing")
    assert made is not None, findings
    registry = Registry([made], [])
    result = run(registry, "job_submit", jobs=JOBS)
    assert result.accepted, result
    assert seen == expected


def test_choosing_says_what_is_wrong() -> None:
    """A field that does not exist, or that cannot be asked for, is an error with its name."""
    with pytest.raises(AttributeError, match=r"^record has no 'user' to be chosen by; nearest: user_id"):
        JOBS.where(user=7)
    with pytest.raises(TypeError, match=r"^records cannot be chosen by argv"):
        JOBS.where(argv=["x"])
    with pytest.raises(TypeError, match=r"^partition takes"):
        JOBS.where(partition=None)
    with pytest.raises(ValueError, match=r"^resizing is of the same bits of job_state"):
        JOBS.where(job_state_flags=JobStateFlag(0), resizing=True)
    with pytest.raises(ValueError, match=r"^at most 8 fields"):
        JOBS.where(
            **dict.fromkeys(
                ("account", "comment", "name", "wckey", "network", "features", "gres_used", "partition", "licenses"),
                "x",
            )
        )
    assert [record.job_id for record in JOBS.of_user(8)] == [3]
