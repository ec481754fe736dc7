# SPDX-License-Identifier: GPL-2.0-or-later
import subprocess
import sys
from pathlib import Path

import click
import pytest

from slurmhooks import cli
from slurmhooks.cli import commands
from tests.unit.cli.conftest import Call

HEAVY = ("pydantic", "rich", "structlog", "asyncio", "lupa", "cffi")


def only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the commands of a folder for all."""
    monkeypatch.setattr(commands, "__path__", [str(folder)])
    monkeypatch.setattr(cli, "PLACES", {commands.__name__: folder})


def test_help_imports_no_verb() -> None:
    """The list of commands comes from docstrings and imports no command."""
    code = (
        "import sys\nfrom slurmhooks.cli import main\nmain(['--help'], standalone_mode=False)\n"
        f"heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.exit(repr(heavy + [n for n in sys.modules if n.startswith('slurmhooks.cli.commands.build')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"
    assert "Compile the plugins" in done.stdout


def test_every_verb_is_a_command_with_a_summary(run: Call) -> None:
    """Every module of the package is a command with a summary."""
    group = cli.main
    assert isinstance(group, cli.Commands)
    names = group.list_commands(click.Context(group))
    assert {"build", "info", "install"} <= set(names)
    for name in names:
        assert isinstance(group.get_command(click.Context(group), name), click.Command)
        assert run(name, "--help").exit_code == 0
        assert cli.summary(name).endswith(".")


def test_unknown_verb_is_wrong_use(run: Call) -> None:
    """An unknown command ends with exit code 2."""
    assert run("nonsense").exit_code == 2


def test_helpers_are_no_verbs(run: Call) -> None:
    """A module outside of the package of commands cannot be called."""
    assert run("slurm").exit_code == 2
    assert "toolchain" not in run("--help").output


def test_trailing_underscore_frees_a_keyword(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module try_.py is the command try."""
    (tmp_path / "try_.py").write_text('"""Try it."""\nimport click\ncommand = click.Command("try")\n')
    only(tmp_path, monkeypatch)
    group = cli.main
    assert isinstance(group, cli.Commands)
    assert group.list_commands(click.Context(group)) == ["try"]
    assert group.get_command(click.Context(group), "try") is not None


def test_full_disk_is_a_finding(run: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file that cannot be written results in one line and exit code 1, not in a traceback."""
    source = 'import click\n@click.command()\ndef command(): raise OSError(28, "No space left on device", "/x")\n'
    (tmp_path / "full.py").write_text(source)
    only(tmp_path, monkeypatch)
    result = run.refused("full")
    assert result.stderr == "error: /x: No space left on device\n"


def test_a_lost_current_folder(tmp_path: Path, run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deleted current folder is a finding with a remedy."""
    lost = tmp_path / "lost"
    lost.mkdir()
    monkeypatch.chdir(lost)
    lost.rmdir()
    for verb in (("check", "--sysconfdir", "etc"), ("build", "--output", "x")):
        run.refused(*verb, says="the current folder no longer exists: cd to another one")
