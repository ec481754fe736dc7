# SPDX-License-Identifier: GPL-2.0-or-later
"""A cli_filter.lua under slurmhooks and in plain Lua: the same answers to commands."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmhooks.workshop.adopt import commands, trial
from slurmhooks.workshop.adopt.answers import Answer, difference
from slurmhooks.workshop.adopt.commands import Command
from slurmhooks.workshop.adopt.script import Script
from slurmhooks.workshop.adopt.values import Settings
from slurmhooks.workshop.testing.cli_filter import FakeOptions
from tests.lua_parts import COMMAND_PARTS, command_script

pytestmark = pytest.mark.slow

RELEASE = (24, 11)
POST = "slurm.log_info('%d %d %d', offset, job_id, step_id) slurm.log_info('%s', tostring(slurm.cli_retrieve(1)))"
OPTIONS = {
    "account": st.sampled_from(["physics", "x y"]),
    "time": st.sampled_from(["5", "1-00:00:00"]),
    "partition": st.sampled_from(["long", "debug"]),
    "ntasks": st.sampled_from(["1", "8"]),
    "comment": st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=5),
}


def both(path: Path, request: Command) -> tuple[Answer, Answer]:
    """Return the answers of plain Lua and of slurmhooks."""
    plain = commands.plain(str(path), "24.11", "5.4", 1_800_000_000)
    ours = commands.ours(str(path), "24.11", "5.4", 1_800_000_000)
    return plain(request), ours(request)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(COMMAND_PARTS), max_size=3),
    st.lists(st.sampled_from(COMMAND_PARTS), max_size=4),
    st.sampled_from(commands.COMMANDS),
    st.fixed_dictionaries({}, optional=OPTIONS),
)
def test_answers_are_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    defaults: list[str],
    submit: list[str],
    command: str,
    options: dict[str, str],
) -> None:
    """Codes, options, log lines and errors of a script are the same in plain Lua and under slurmhooks."""
    path = tmp_path_factory.mktemp("script") / "cli_filter.lua"
    path.write_text(command_script(defaults, submit, POST))
    plain, ours = both(path, Command("", command, options))
    assert difference(plain, ours) is None, (plain, ours)
    assert plain.stopped == ours.stopped == []


def test_what_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A side that loses a write, a log line, a refusal or an error is noticed."""
    path = tmp_path / "cli_filter.lua"
    path.write_text(
        command_script([], ["options.account = 'a' slurm.log_info('x') if options.time then return 2 end error('e')"])
    )
    accepted, refused = Command("", "sbatch"), Command("", "sbatch", {"time": "5"})
    assert [difference(*both(path, request)) for request in (accepted, refused)] == [None, None]
    _, ours = both(path, refused)
    assert (ours.code, ours.log[-1]) == (2, "info: lua: x")
    _, ours = both(path, accepted)
    assert ours.error is not None
    assert ours.error.endswith("e")
    assert ours.writes["account"] == "a"
    call = FakeOptions.raw_set
    lost: Callable[[FakeOptions, str, str], bool] = lambda self, name, value: call(self, name, value + "b")  # noqa: E731
    ours = commands.ours(str(path), "24.11", "5.4", 0)(accepted)
    monkeypatch.setattr(FakeOptions, "raw_set", lost)
    assert difference(commands.plain(str(path), "24.11", "5.4", 0)(accepted), ours)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ("os.execute('true')", "os.execute"),
        ("pcall(io.popen, 'id')", "io.popen"),
        ("local e = options.spank_job_env", "options.spank_job_env"),
    ],
)
def test_what_cannot_be_tried_is_not_the_same(tmp_path: Path, part: str, reason: str) -> None:
    """A command that leads to a program, or to what one side does not know, counts as not compared."""
    text = command_script([], [part])
    (tmp_path / "cli_filter.lua").write_text(text)
    wanted = commands.generated(set(), [], "24.11", 3)
    outcome = trial.run(str(tmp_path / "cli_filter.lua"), RELEASE, "5.4", wanted, frozenset(), family="cli_filter")
    assert outcome.unknown == {reason: 3}
    assert (outcome.same, outcome.different) == (0, 0)


def test_commands_vary_what_the_script_uses(tmp_path: Path) -> None:
    """Commands give the options that the script uses, with usual values and those that it compares with."""
    text = command_script([], ["if options.qos == 'big' and options['time'] ~= nil then return slurm.ERROR end"])
    script = Script(text.encode(), Settings(RELEASE, "5.4"))
    used = {use.name for use in script.uses if use.of == "options"}
    made = commands.generated(used, script.constants, "24.11", 400)
    assert {each.command for each in made} == set(commands.COMMANDS)
    assert any(each.options.get("qos") == "big" and "time" in each.options for each in made)
    assert all(set(each.options) <= {"qos", "time"} for each in made)
    assert [commands.from_json(each.to_json()) for each in made] == made
    (tmp_path / "cli_filter.lua").write_text(text)
    outcome = trial.run(str(tmp_path / "cli_filter.lua"), RELEASE, "5.4", made[:60], frozenset(), family="cli_filter")
    assert (outcome.same, outcome.examples) == (60, [])
    assert outcome.refused


def test_a_script_that_does_not_load(tmp_path: Path) -> None:
    """The reason is Lua's own message."""
    (tmp_path / "cli_filter.lua").write_text("function (")
    with pytest.raises(trial.TrialError, match="expected"):
        trial.run(str(tmp_path / "cli_filter.lua"), RELEASE, "5.4", [], frozenset(), family="cli_filter")
