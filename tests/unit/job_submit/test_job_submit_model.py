# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers read and write a request as attributes, mappings and lists, until their call ends."""

from collections.abc import Callable, MutableMapping, MutableSequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.errors import StaleHandleError
from slurmhooks.testing import FakeJob, FakeRecord
from tests.unit.job_submit.views import raw, struct_of, view_of

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
def test_rollback_undoes_what_came_after_the_savepoint(first: str | None) -> None:
    """All kinds of writes of a lenient handler are undone; those of earlier handlers stay."""
    for name, second in WRITES.items():
        _, job = view(account="a", argv=["a"], spank_job_env={"A": "a"}, **BATCH)
        if first is not None:
            WRITES[first](job)
        before = content(job)
        savepoint = job.savepoint()
        second(job)
        job.rollback(savepoint)
        assert content(job) == before, name


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
    [("job_submit", {}, "environment"), ("job_modify", BATCH, "environment"), ("job_modify", {}, "spank_job_env")],
)
def test_an_environment_that_slurm_would_not_take_is_frozen(hook: str, fields: dict[str, Any], member: str) -> None:
    """srun and salloc do not send their environment and updates have none: writing there is an error, not a no-op."""
    _, job = view(hook, **fields)
    with pytest.raises(ValueError, match=r"cannot be set|none can be set"):
        getattr(job, member)["X"] = "1"


def test_a_component_without_a_script_has_an_environment() -> None:
    """sbatch sends the script with the first component only, and an environment with each."""
    _, job = view(**{name: value for name, value in BATCH.items() if name != "script"}, het_job_offset=1)
    assert not job.interactive
    job.environment["X"] = "1"
    assert job.environment["X"] == "1"


def test_an_environment_is_frozen_as_long_as_the_job_has_no_script() -> None:
    """What counts is the script as it is when a variable is written, not when the environment was first read."""
    _, job = view()
    environment = job.environment
    assert environment.get("X") is None
    job.script = "#!/bin/sh"
    environment["X"] = "1"
    job.script = None
    with pytest.raises(ValueError, match="cannot be set"):
        environment["X"] = "2"
    assert environment == {"X": "1"}


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
