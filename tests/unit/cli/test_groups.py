# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that have commands."""

import re

import click
import pytest
from click.testing import CliRunner

from slurmhooks._version import __version__
from slurmhooks.cli import HEADINGS, main, modules
from slurmhooks.cli.groups import FORMER, Group
from tests.unit.cli.conftest import Call


@pytest.mark.parametrize(
    ("words", "wrong", "right"),
    [
        (("statuz",), "statuz", "status"),
        (("try", "job_sumbit", "x"), "job_sumbit", "job_submit"),
        (("rules", "explian"), "explian", "explain"),
    ],
)
def test_an_unknown_command_names_those_like_it(run: Call, words: tuple[str, ...], wrong: str, right: str) -> None:
    """A misspelt command is wrong use, and the message has the right one."""
    result = run(*words)
    assert result.exit_code == 2
    assert f"No such command {wrong!r}; nearest: {right}" in result.output


@pytest.mark.parametrize(("words", "now"), FORMER.items())
def test_a_former_command(run: Call, words: str, now: str) -> None:
    """A former command is wrong use, the message names commands that do its work, and help does not list it."""
    *groups, name = words.split()
    result = run(*groups, name, "--help")
    assert result.exit_code == 2
    assert f"No such command {name!r}: {now}" in " ".join(result.output.split())
    assert f"  {name} " not in run(*groups, "--help").output
    for instead in re.findall(r"'(\w+(?: \w+)*)[^']*'", now):
        assert run(*instead.split()[:2], "--help").exit_code == 0


def test_the_help_of_commands_is_not_shortened() -> None:
    """The list of commands has the first sentence of each, however long it is."""
    sentence = " ".join(["words"] * 40)
    group = Group("group", commands=[click.Command("x", help=f"{sentence}.\n\nAnd more.")])
    shown = " ".join(group.get_help(click.Context(group)).split())
    assert sentence in shown
    assert "And more" not in shown


@pytest.mark.parametrize("words", [["-V"], ["--version"], ["version"]])
def test_the_version_as_people_type_it(words: list[str]) -> None:
    """Each form prints the version."""
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0
    assert done.output.endswith(f" version {__version__}\n")


def test_help_as_people_type_it() -> None:
    """Help takes the names of commands, also of those below others."""
    for command in (["check"], ["try", "job_submit"]):
        asked = CliRunner().invoke(main, ["help", *command])
        assert (asked.exit_code, asked.output) == (0, CliRunner().invoke(main, [*command, "--help"]).output)
    assert CliRunner().invoke(main, ["help"]).exit_code == 0


def test_help_has_each_command_under_one_heading() -> None:
    """No command is left out, or is there twice."""
    names = [name for names in HEADINGS.values() for name in names]
    assert sorted(names) == sorted(modules())
    shown = CliRunner().invoke(main, ["--help"]).output
    assert re.findall(r"^  ([a-z]+) ", shown.partition("\nFirst steps:")[2], re.MULTILINE) == names
    assert [f"\n{title}:\n" in shown for title in HEADINGS] == [True] * len(HEADINGS)
