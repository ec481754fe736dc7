# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks reload``: its output, and the processes that it asks."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from slurmhooks.cli import main
from slurmhooks.cli.commands import reload
from slurmhooks.worker import requests


def test_reload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It prints nothing if the files are in force, every finding if they do not load, and says if no slurmctld runs."""
    monkeypatch.setenv("SLURM_CONF", "")
    answers: list[dict[str, Any]] = []
    asked: list[str] = []

    def ask(text: str, folder: str, slurm_user: int, seconds: float) -> list[dict[str, Any]]:
        asked.append(f"{text} {folder}")
        return answers

    monkeypatch.setattr(requests, "ask", ask)
    monkeypatch.setattr(reload, "STARTING", 0.0)
    command = ["reload", "--sysconfdir", str(tmp_path)]
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, "no slurmctld on this machine has loaded a plugin of slurmhooks" in done.output) == (
        1,
        True,
    )
    answers.append({"generation": 2})
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, done.output) == (0, "")
    answers.append({"findings": ["a.py:3: wrong", "b.py:7: wrong, too"]})
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 1
    assert "a.py:3: wrong" in done.output
    assert "b.py:7: wrong, too" in done.output
    assert asked == [f"reload {tmp_path}"] * 3


def test_a_slurmctld_that_has_just_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`systemctl restart slurmctld; slurmhooks reload` waits for the supervisor, which starts in a moment."""
    monkeypatch.setenv("SLURM_CONF", "")
    answers: list[list[dict[str, Any]]] = [[], [], [{"generation": 1}]]
    monkeypatch.setattr(requests, "ask", lambda *_: answers.pop(0))
    done = CliRunner().invoke(main, ["reload", "--sysconfdir", str(tmp_path)])
    assert (done.exit_code, done.output, answers) == (0, "", [])
