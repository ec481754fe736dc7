# SPDX-License-Identifier: GPL-2.0-or-later
"""A cli_filter.lua on commands: which it refuses, and on which it fails."""

from pathlib import Path

import pytest

from slurmhooks.workshop.adopt import commands, trial
from slurmhooks.workshop.adopt.commands import Command
from slurmhooks.workshop.adopt.script import Script
from slurmhooks.workshop.adopt.values import Settings
from tests.lua_parts import command_script

pytestmark = pytest.mark.slow

RELEASE = (24, 11)


def tried(path: Path, text: str, wanted: list[Command]) -> trial.Tried:
    """Return the outcome of a trial."""
    path.write_text(text)
    return trial.run(str(path), RELEASE, "5.4", wanted, frozenset(), family="cli_filter")


@pytest.mark.parametrize("part", ["if options.time then return 2 end", "options.account = nil .. 'x'"])
def test_refusals_and_errors(tmp_path: Path, part: str) -> None:
    """Refusals are counted, and so is an error with its line; after it, the command goes on."""
    wanted = [Command("", "sbatch"), Command("", "srun", {"time": "5"})]
    for script in (command_script([part], []), command_script([], [part])):
        outcome = tried(tmp_path / "cli_filter.lua", script, wanted)
        assert outcome.requests == 2
        if "nil" in part:
            assert [(text.split(":")[1], number) for text, number in outcome.errors.items()] in ([("2", 2)], [("5", 2)])
        else:
            assert (outcome.refused, outcome.errors) == ("pre_submit" in script.partition(part)[0], {})


def test_an_error_after_the_submission(tmp_path: Path) -> None:
    """A command whose options pass also calls post_submit."""
    script = command_script([], [], "error('posted')")
    outcome = tried(tmp_path / "cli_filter.lua", script, [Command("", "sbatch")])
    assert [text.rpartition(" ")[2] for text in outcome.errors] == ["posted"]


@pytest.mark.parametrize("part", ["os.execute('true')", "pcall(io.popen, 'id')"])
def test_what_cannot_be_tried(tmp_path: Path, part: str) -> None:
    """A command that leads to a program counts as not tried."""
    wanted = commands.generated(set(), [], "24.11", 3)
    outcome = tried(tmp_path / "cli_filter.lua", command_script([], [part]), wanted)
    assert list(outcome.not_tried.values()) == [3]
    assert (outcome.refused, outcome.errors) == (0, {})


def test_commands_vary_what_the_script_uses(tmp_path: Path) -> None:
    """Commands give the options that the script uses, with usual values and those that it compares with."""
    text = command_script([], ["if options.qos == 'big' and options['time'] ~= nil then return slurm.ERROR end"])
    script = Script(text.encode(), Settings(RELEASE, "5.4"))
    used = {use.name for use in script.uses if use.of == "options"}
    made = commands.generated(used, script.constants, "24.11", 400)
    assert {each.command for each in made} == set(commands.COMMANDS)
    assert any(each.options.get("qos") == "big" and "time" in each.options for each in made)
    assert all(set(each.options) <= {"qos", "time"} for each in made)
    outcome = tried(tmp_path / "cli_filter.lua", text, made[:60])
    assert 0 < outcome.refused < outcome.requests == 60


def test_a_script_that_does_not_load(tmp_path: Path) -> None:
    """The reason is Lua's own message."""
    with pytest.raises(trial.TrialError, match="expected"):
        tried(tmp_path / "cli_filter.lua", "function (", [])
