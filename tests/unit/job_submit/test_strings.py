# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's notations; tests/cluster/test_notations.py compares the results with Slurm's own."""

import contextlib
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.job_submit import times
from slurmhooks.job_submit.strings import (
    ArraySpec,
    Dependencies,
    Dependency,
    JobRef,
    NotationError,
    Tres,
    expand_nodes,
    mem_str_to_mib,
    mib_to_mem_str,
    mins_to_time_str,
    time_str2mins,
)
from slurmhooks.job_submit.strings.features import nodes_with_features
from slurmhooks.testing import FakeJob, FakeRecord, run
from slurmhooks.values import UNLIMITED


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("0", 0),
        ("60", 60),
        ("1:30", 2),
        ("0:1", 1),
        ("2:00:00", 120),
        ("1:00:01", 61),
        ("1-", 1440),
        ("1-2", 1560),
        ("1-02:03", 1563),
        ("1-02:03:01", 1564),
        ("unlimited", UNLIMITED),
        ("INFINITE", UNLIMITED),
        ("-1", UNLIMITED),
    ],
)
def test_times(text: str, minutes: object) -> None:
    """Every notation of a time limit is read, rounded up to minutes."""
    assert time_str2mins(text) == minutes


@pytest.mark.parametrize(
    "text", ["", " 5", "5 ", "5m", "1:", ":1", "1::2", "1:2:3:4", "1-2-3", "1:2-3", "-5", "+5", "٣"]
)
def test_no_times(text: str) -> None:
    """An invalid time raises an error that shows valid notations."""
    with pytest.raises(ValueError, match=re.escape(f"not a time: {text!r}")):
        time_str2mins(text)


@given(st.integers(0, 10**9))
def test_times_round_trip(minutes: int) -> None:
    """Minutes that are written as Slurm does are read as the same minutes."""
    assert time_str2mins(mins_to_time_str(minutes)) == minutes
    assert mins_to_time_str(UNLIMITED) == "UNLIMITED"


@pytest.mark.parametrize(
    ("text", "mib"), [("0", 0), ("5", 5), ("5M", 5), ("1k", 1), ("1025KB", 2), ("4g", 4096), ("2T", 2 << 20)]
)
def test_memory(text: str, mib: int) -> None:
    """Every unit of memory; K is rounded up."""
    assert mem_str_to_mib(text) == mib


@pytest.mark.parametrize("text", ["", "-1", "1.5G", "G", "1P", "1 G", "1GiB"])
def test_no_memory(text: str) -> None:
    """An invalid amount of memory raises an error."""
    with pytest.raises(ValueError, match="not an amount of memory"):
        mem_str_to_mib(text)


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        (None, 0), ("a&b|c", 0), ("a*2", 2), ("a*2&b*3", 5), ("a*2|b*3", 5), ("[a*2,b*3]", 5), ("[a*1|b*1]", 0),
        ("[a*1|(b&c)*2]&d*3", 3), ("[a*2&b|c*3&d*4]", 6), ("[(a|b)*2&c*3]", 5), ("(a&b)*2", 2), ("[a*1&b*2]*3", 4),
        ("[a*1&b*2]0", 3), ("a*1*2", 2), ("a*2x*3", 3), ("a* +04", 4), ("a*0", 0), ("a*-1", 0), ("a*4294967298", 2),
        ("a*4294967295", 0),
    ],
)  # fmt: skip
def test_features(text: str | None, nodes: int) -> None:
    """Features have numbers of nodes, but not alternatives in brackets, for which slurmctld refuses them."""
    assert nodes_with_features(text) == nodes


@given(st.integers(0, 1 << 40))
def test_memory_round_trips(mib: int) -> None:
    """MiB that are written with a unit are read as the same MiB."""
    assert mem_str_to_mib(mib_to_mem_str(mib)) == mib


def test_job_ids_do_not_wrap_around() -> None:
    """A number that Slurm takes for another job, because its job ids have 32 bits, is refused."""
    assert Dependencies.parse("afterok:4294967295").job_ids == {4294967295}
    with pytest.raises(NotationError, match="is not a job id"):
        Dependencies.parse("afterok:4294967297")


@pytest.mark.parametrize("text", ["", "gres/", "gres:", ",", "gres/,", "license/"])
def test_nothing(text: str) -> None:
    """Texts and items without a name are no TRES, and an array without tasks is none, as in Slurm."""
    assert len(Tres.parse(text)) == 0
    assert Tres.parse(f"gres/gpu:2,{text}")["gres/gpu"] == 2
    assert len(ArraySpec.parse("")) == 0
    for array in ("1-3,", "1-3%", ",1-3"):
        assert ArraySpec.parse(array).tasks == [1, 2, 3]


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (expand_nodes, "n[{}]"),
        (expand_nodes, "n[1-{}]"),
        (Tres.parse, "gpu={}"),
        (Tres.parse, "gpu:{}"),
        (Tres.parse, "gpu:a100:{}K"),
        (Tres.parse, "mem={}"),
        (ArraySpec.parse, "{}"),
        (ArraySpec.parse, "1-2:{}"),
        (ArraySpec.parse, "1%{}"),
        (Dependencies.parse, "afterok:{}"),
        (Dependencies.parse, "afterok:1_{}"),
        (Dependencies.parse, "after:1+{}"),
        (time_str2mins, "{}"),
        (time_str2mins, "1-{}"),
        (mem_str_to_mib, "{}"),
    ],
)
def test_numbers_have_a_limit(read: Callable[[str], object], text: str) -> None:
    """More than 18 digits are not accepted as a number: converting thousands of digits would take quadratic time."""
    read(text.format("0" * 17 + "1"))
    with pytest.raises(NotationError):
        read(text.format("0" * 18 + "1"))
    with pytest.raises(NotationError):
        read(text.format("1" * 5000))
    assert times.seconds("1" * 5000) is None


def test_array_ranges_name_a_limited_number_of_tasks() -> None:
    """Ranges that overlap cost time for each; four times the largest array is allowed."""
    assert len(ArraySpec.parse("0-4000000," * 3 + "0-4000000")) == 4_000_001
    with pytest.raises(NotationError, match="name more than 16000004 tasks"):
        ArraySpec.parse("0-4000000," * 4 + "1")


@pytest.mark.parametrize(
    ("text", "tasks", "limit"),
    [
        ("5", [5], None),
        ("0-3", [0, 1, 2, 3], None),
        ("0-10:5%3", [0, 5, 10], 3),
        ("1,3,2-4", [1, 2, 3, 4], None),
        ("[1-2]%0", [1, 2], None),
        ("1-2%-1", [1, 2], None),
        ("1-2%x", [1, 2], None),
        ("1-2%2,7%3", [1, 2, 7], 2),
        ("+5, 6", [5, 6], None),
        ("%5", [0], 5),
    ],
)
def test_arrays(text: str, tasks: list[int], limit: int | None) -> None:
    """Ranges, steps, limits; each task counts once."""
    spec = ArraySpec.parse(text)
    assert spec.tasks == tasks
    assert len(spec) == len(tasks)
    assert spec.limit == limit
    assert tasks[-1] in spec
    assert tasks[-1] + 1 not in spec


@pytest.mark.parametrize("text", ["a", "1-", "3-1", "1-5:0", "1x", "5 ", "[[1", "-1", "1:2", "0-4000001"])
def test_no_arrays(text: str) -> None:
    """An invalid array specification raises an error."""
    with pytest.raises(ValueError, match="not an array specification"):
        ArraySpec.parse(text)


ranges = st.builds(lambda start, count, step: range(start, start + count, step), *[st.integers(1, 99)] * 3)


@given(st.lists(ranges, min_size=1), st.integers(1, 99) | st.none())
def test_arrays_round_trip(made: list[range], limit: int | None) -> None:
    """A specification, written and read, has the same tasks."""
    spec = ArraySpec(tuple(made), limit)
    again = ArraySpec.parse(str(spec))
    assert (again.tasks, again.limit) == (spec.tasks, spec.limit)
    assert len(spec) == len(spec.tasks) == len(set().union(*made))
    assert spec.tasks == sorted(set().union(*made))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0-4000000", 4000001),
        ("0-1999999,2000000-4000000", 4000001),
        ("0-4000000:2,1-4000000:2", 4000001),
        ("0-4000000,0-4000000:3,5", 4000001),
    ],
)
def test_counting_tasks_makes_none(text: str, count: int) -> None:
    """The tasks of a large array are counted without an object for each."""
    spec = ArraySpec.parse(text)
    tracemalloc.start()
    try:
        assert len(spec) == count
        assert next(iter(spec)) == 0
        assert tracemalloc.get_traced_memory()[1] < 4 * count
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("parse", "text", "code"),
    [
        ("time_str2mins", "1x", "ESLURM_INVALID_TIME_LIMIT"),
        ("mem_str_to_mib", "1x", "ESLURM_INVALID_TASK_MEMORY"),
        ("Tres.parse", "gres/gpu:", "ESLURM_INVALID_TRES"),
        ("expand_nodes", "n[1", "ESLURM_INVALID_NODE_NAME"),
        ("ArraySpec.parse", "1x", "ESLURM_INVALID_ARRAY"),
        ("Dependencies.parse", "whenever:1", "ESLURM_DEPENDENCY"),
    ],
)
def test_a_typo_is_the_users(parse: str, text: str, code: str, tmp_path: Path) -> None:
    """A handler that does not catch NotationError refuses the request with its text."""
    path = tmp_path / "hooks.py"
    path.write_text(
        "from slurmhooks import hook\nfrom slurmhooks.job_submit.strings import *\n\n"
        f"@hook.job_submit\ndef submit(job):\n    {parse}(job.comment)\n"
    )
    result = run(path, "job_submit", job=FakeJob(comment=text))
    assert not result.accepted
    assert result.code == code
    assert repr(text) in str(result.text)
    assert issubclass(NotationError, ValueError)


@pytest.mark.parametrize("hook", ["controller_prolog", "controller_epilog", "job_end", "priority"])
def test_a_text_of_slurm_is_no_refusal(hook: str, tmp_path: Path) -> None:
    """In hooks without texts of users, an error in a text is a bug that its administrator reads, not the user."""
    path = tmp_path / "hooks.py"
    path.write_text(
        "from slurmhooks import hook\nfrom slurmhooks.job_submit.strings import *\n\n"
        f"@hook.{hook}\ndef parsed(record):\n    Tres.parse(record.tres_alloc_str)\n"
    )
    result = run(path, hook, record=FakeRecord(tres_alloc_str="1=4"))
    assert not result.accepted
    assert result.error_id is not None
    assert "1=4" not in (result.text or "")


@pytest.mark.parametrize(
    ("text", "conditions", "either"),
    [
        (None, (), False),
        ("0", (), False),
        ("afterok:12", (Dependency("afterok", (JobRef(12),)),), False),
        (
            "afterany:1:2_3,singleton",
            (Dependency("afterany", (JobRef(1), JobRef(2, "3"))), Dependency("singleton")),
            False,
        ),
        (
            "after:1+5?afternotok:2_*",
            (Dependency("after", (JobRef(1, delay=5),)), Dependency("afternotok", (JobRef(2, "*"),))),
            True,
        ),
        ("12", (Dependency("afterany", (JobRef(12),)),), False),
        ("afterok:7(failed)", (Dependency("afterok", (JobRef(7, state="failed"),)),), False),
        ("singleton(unfulfilled)", (Dependency("singleton", state="unfulfilled"),), False),
        ("AFTEROK:7(Failed)", (Dependency("afterok", (JobRef(7, state="failed"),)),), False),
        ("7(Failed)", (Dependency("afterany", (JobRef(7, state="failed"),)),), False),
        ("Singleton(Failed)", (Dependency("singleton", state="failed"),), False),
    ],
)
def test_dependencies(text: str | None, conditions: tuple[Dependency, ...], either: bool) -> None:
    """Every kind of dependency, as users write and as Slurm shows it."""
    read = Dependencies.parse(text)
    assert read == Dependencies(conditions, either)
    assert Dependencies.parse(str(read)) == read


@pytest.mark.parametrize(
    "text",
    ["afterok", "afterok:", "after:x", "nonsense:1", "singleton:1", "afterok:0", "afterok:1+0", ",", "afterO\u212a:1"],
)
def test_no_dependencies(text: str) -> None:
    """An invalid dependency raises an error."""
    with pytest.raises(ValueError, match="not a dependency"):
        Dependencies.parse(text)


def test_dependencies_name_jobs() -> None:
    """The jobs of all conditions."""
    assert Dependencies.parse("afterok:12:13,after:13_1").job_ids == {12, 13}


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """Any text is parsed or raises ValueError."""
    for read in (time_str2mins, mem_str_to_mib, Tres.parse, expand_nodes, ArraySpec.parse, Dependencies.parse):
        with contextlib.suppress(ValueError):
            read(text)
