# SPDX-License-Identifier: GPL-2.0-or-later
"""Stand-ins for SPANK have its contexts, items, environments and options."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.testing import FakeSpank, run


def test_contexts(hooks: Callable[[str], Path]) -> None:
    """Handlers run in their contexts only; the default is the first in which Slurm makes the call."""
    path = hooks("@hook.spank.init(contexts='remote')\ndef handler(spank): log.info(spank.context)\n")
    assert run(path, "spank.init").log == []
    assert run(path, "spank.init", spank=FakeSpank("remote")).log == ["info: remote"]


def test_items_are_refused_as_by_slurm(hooks: Callable[[str], Path]) -> None:
    """An item in a context without it raises SpankError, as on a cluster."""
    result = run(hooks("@hook.spank.init\ndef handler(spank): spank.task_id\n"), "spank.init")
    assert not result.accepted
    assert "ESPANK_NOT_REMOTE" in repr(result)


def test_changes_of_a_task(hooks: Callable[[str], Path]) -> None:
    """The result has changes of the environment and of the task's command."""
    path = hooks(
        """
@hook.spank.task_init
def handler(spank):
    spank.env["A"] = spank.args[0]
    spank.env.pop("B")
    spank.prepend_task_argv(["time"])
"""
    )
    spank = FakeSpank(env={"B": "x"}, args=["one"])
    result = run(path, "spank.task_init", spank=spank)
    assert result.changes == {"env": {"B": None, "A": "one"}, "prepended_task_argv": ["time"]}
    assert spank.env == {"A": "one"}


OPTIONS = """
name = hook.spank.option("name", "NAME", usage="")
number = hook.spank.option("number", "N", usage="", type=int, contexts=["local", "remote"])
flag = hook.spank.option("flag", usage="")
level = hook.spank.option("level", "N", usage="", optional=True)

@number.check
def small(value):
    if value > 9:
        raise Reject("too large", code="ESPANK_BAD_ARG")
    return value * 10

@hook.spank.init
@hook.spank.job_prolog
def handler(spank):
    log.info("%s", [name.value, number.value, flag.value, level.value])
"""


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({}, [None, None, None, None]),
        ({"name": "x", "number": "7", "flag": True, "level": True}, ["x", 70, True, True]),
        ({"level": "3"}, [None, None, None, "3"]),
    ],
)
def test_options(hooks: Callable[[str], Path], given: dict[str, str | bool], seen: list[object]) -> None:
    """Options have the values to which their types and checks convert the text."""
    assert run(hooks(OPTIONS), "spank.init", options=given).log == [f"info: {seen}"]


def test_an_option_that_is_given_twice(hooks: Callable[[str], Path]) -> None:
    """A list gives an option several times: handlers in a command see each value, others the last one."""
    path = hooks(
        """
number = hook.spank.option("number", "N", usage="n", type=int)
@hook.spank.init_post_opt
def seen(spank): log.info("%s %s", number.value, number.values)
"""
    )
    for spank, values in (
        (FakeSpank("local"), "(1, 2)"), (FakeSpank("allocator"), "(1, 2)"), (FakeSpank("remote"), "(2,)"),
    ):  # fmt: skip
        result = run(path, "spank.init_post_opt", spank=spank, options={"number": ["1", "2"]})
        assert result.log == [f"info: 2 {values}"]


def test_options_are_known_in_their_contexts(hooks: Callable[[str], Path]) -> None:
    """An option has no value in a context in which it does not exist."""
    result = run(hooks(OPTIONS), "spank.job_prolog", options={"name": "x", "number": "7"})
    assert result.log == ["info: ['x', None, None, None]"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"number": "many"}, "--number takes a whole number, not 'many'"),
        ({"number": "10"}, "--number: too large"),
    ],
)
def test_a_refused_option(hooks: Callable[[str], Path], given: dict[str, str | bool], text: str) -> None:
    """An argument that the type or the check refuses is the refusal of srun; no handler runs."""
    result = run(hooks(OPTIONS), "spank.init", options=given)
    assert (result.accepted, result.code, result.text, result.log) == (False, "ESPANK_BAD_ARG", text, [])


@pytest.mark.parametrize("given", [{"flag": "x"}, {"name": True}, {"name": 5}, {"flag": False}])
def test_options_that_srun_could_not_be_given(hooks: Callable[[str], Path], given: dict[str, Any]) -> None:
    """An argument of a wrong kind for an option is an error of the test."""
    with pytest.raises(ValueError, match="takes"):
        run(hooks(OPTIONS), "spank.init", options=given)
