# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that have commands."""

from collections.abc import Callable

import click
import pytest
from click.testing import Result

from slurmhooks.cli.groups import Group


@pytest.mark.parametrize(
    ("words", "wrong", "right"),
    [
        (("statuz",), "statuz", "status"),
        (("try", "job_sumbit", "x"), "job_sumbit", "job_submit"),
        (("spool", "retri"), "retri", "retry"),
    ],
)
def test_an_unknown_command_names_those_like_it(
    run: Callable[..., Result], words: tuple[str, ...], wrong: str, right: str
) -> None:
    """A misspelt command is wrong use, and the message has the right one."""
    result = run(*words)
    assert result.exit_code == 2
    assert f"No such command {wrong!r}; nearest: {right}" in result.output


def test_the_help_of_commands_is_not_shortened() -> None:
    """The list of commands has the first sentence of each, however long it is."""
    sentence = " ".join(["words"] * 40)
    group = Group("group", commands=[click.Command("x", help=f"{sentence}.\n\nAnd more.")])
    shown = " ".join(group.get_help(click.Context(group)).split())
    assert sentence in shown
    assert "And more" not in shown
