# SPDX-License-Identifier: GPL-2.0-or-later
"""A script of spank-lua under slurmhooks and in plain Lua: the same answers in each process."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slurmhooks.workshop.adopt.answers import Answer, difference
from slurmhooks.workshop.testing.spank import FakeSpankModule
from tests.lua_parts import STEP_OPTIONS, STEP_PARTS
from tests.unit.lua.spank import steps
from tests.unit.lua.spank.steps import Step

pytestmark = pytest.mark.slow

CALLBACKS = ("init", "init_post_opt", "local_user_init", "user_init", "task_init", "task_exit", "job_prolog", "exit")
GIVEN = st.fixed_dictionaries(
    {},
    optional={
        "greet": st.sampled_from(["you", "bad", "bug", ""]),
        "maybe": st.sampled_from([None, "", "5"]),
        "quiet": st.none(),
        "late": st.none(),
    },
)


TWICE = [
    f"spank:register_option{{ name = 'late', usage = 'x', has_arg = 0, cb = 'taken', val = {val} }}" for val in (3, 4)
]
"""An option whose name is taken is one that Slurm never calls."""


def both(path: Path, step: Step) -> tuple[Answer, Answer]:
    """Return the answers of plain Lua and of slurmhooks."""
    return steps.plain(path, "5.4", step), steps.ours(path, "5.4", step)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.sampled_from(CALLBACKS), st.lists(st.sampled_from(STEP_PARTS), max_size=4), max_size=4),
    st.sampled_from(steps.CONTEXTS),
    GIVEN,
    st.sampled_from([{}, {"A": "a"}]),
    st.sampled_from([{}, {"job_stepid": 4294967291, "job_uid": 0}, {"task_id": 3, "job_argv": ["sh", "a b"]}]),
)
@example({"init": TWICE}, "local", {"late": None}, {}, {})
def test_answers_are_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    callbacks: dict[str, list[str]],
    context: str,
    options: dict[str, str | None],
    env: dict[str, str],
    items: dict[str, object],
) -> None:
    """Results, variables, messages and errors of a script are the same in plain Lua and under slurmhooks.

    Nothing is compared if the script calls what ends the process under spank-lua.
    """
    path = tmp_path_factory.mktemp("script") / "probe.lua"
    bodies = [
        f"function slurm_spank_{name}(spank)\n{chr(10).join(f'do {part} end' for part in parts)}\nend\n"
        for name, parts in callbacks.items()
    ]
    path.write_text(STEP_OPTIONS + "".join(bodies))
    plain, ours = both(path, Step(context, options, env, items))
    assert ours.stopped == []
    if plain.stopped:
        assert all("job_control" in what for what in plain.stopped)
        assert context == "job_script"
    else:
        assert difference(plain, ours) is None, (plain, ours)


def test_what_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A side that loses a variable is noticed, and so are another result and another message."""
    path = tmp_path / "probe.lua"
    path.write_text("function slurm_spank_task_init(spank) spank:setenv('A', 'b', 1) return SPANK.FAILURE end\n")
    plain, ours = both(path, Step("remote"))
    assert difference(plain, ours) is None
    assert "env has A=b" in ours.log
    assert "task_init returned -1" in ours.log
    monkeypatch.setattr(FakeSpankModule, "_remote_write", lambda *_: 0)
    assert difference(plain, steps.ours(path, "5.4", Step("remote"))) is not None
