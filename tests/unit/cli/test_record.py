# SPDX-License-Identifier: GPL-2.0-or-later
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from slurmhooks.cli import main
from slurmhooks.collector import recording_orders
from slurmhooks.worker import commands


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The requests that the command sends to a supervisor, which begins to record at once."""
    asked: list[str] = []

    def ask(text: str, *_: Any) -> list[dict[str, Any]]:
        asked.append(text)
        orders = {"file": "/some/file", "until": 1e9, "size": 7}
        return [{}, {"recording": orders, "status": {"requests": 3, "bytes": 5, "ended": None}, "runs": False}]

    (tmp_path / "slurm.conf").write_text("SlurmctldLogFile=/logs/slurmctld.log\nSlurmUser=root\n")
    monkeypatch.setattr(commands, "ask", ask)
    return asked


def record(folder: Path, *arguments: str) -> tuple[int, str]:
    """Call the command; return exit code and output."""
    done = CliRunner().invoke(main, ["record", "--sysconfdir", str(folder), *arguments])
    return done.exit_code, done.output


def test_what_is_asked_for(asked: list[str], tmp_path: Path) -> None:
    """Durations, sizes and lists are read; by default the file goes beside slurmctld's log."""
    code, text = record(tmp_path, "--for", "12h", "--max", "500MiB", "--with", "script", "--tables", "nodes,qos")
    assert code == 0, text
    assert "3 requests, 5 bytes so far" in text
    wanted = json.loads(asked[0].removeprefix(recording_orders.START))
    file = wanted.pop("file")
    assert file.startswith("/logs/slurmhooks/")
    assert file.endswith(".recording")
    assert wanted == {"seconds": 43200.0, "size": 500 << 20, "with": ["script"], "tables": ["nodes", "qos"]}
    code, text = record(tmp_path, "--status", "--json")
    status = {"file": "/some/file", "until": 1e9, "size": 7, "requests": 3, "bytes": 5, "lost": 0, "ended": None}
    assert json.loads(text) == status
    record(tmp_path, "--stop")
    assert asked[1:] == [recording_orders.STATUS, recording_orders.STOP]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--for", "0d"],
        ["--for", "soon"],
        ["--for", f"{'9' * 400}d"],
        ["--for", f"{'9' * 5000}d"],
        ["--max", f"{'9' * 5000}GiB"],
        ["--max", f"{'9' * 400}GiB"],
        ["--max", "unlimited"],
        ["--max", "1KiB"],
        ["--max", "2GB"],
        ["--with", "passwords"],
        ["--tables", "jobs,users"],
        ["--stop", "FILE"],
    ],
)
def test_wrong_use(asked: list[str], tmp_path: Path, arguments: list[str]) -> None:
    """Invalid values are refused before a supervisor is asked."""
    assert record(tmp_path, *arguments)[0] == 2
    assert asked == []


@pytest.mark.parametrize(
    ("status", "finding"),
    [
        ({}, "/some/file could not be opened within 0 s: does its file system answer?"),
        ({"requests": 0, "bytes": 0, "ended": "/some/file: File exists"}, "/some/file: File exists"),
        ({"requests": 0, "bytes": 362, "ended": "the file system is full"}, "/some/file: the recording has ended"),
    ],
)
def test_a_file_that_cannot_be_opened(
    monkeypatch: pytest.MonkeyPatch, asked: list[str], tmp_path: Path, status: dict[str, Any], finding: str
) -> None:
    """The command says why there is no recording."""
    monkeypatch.setattr("slurmhooks.cli.commands.record.PATIENCE", 0.0)
    answer = {"recording": {"file": "/some/file"}, "status": status, "runs": not status}
    monkeypatch.setattr(commands, "ask", lambda *_: [answer])
    code, text = record(tmp_path)
    assert code == 1
    assert finding in text


def test_without_slurmctld(tmp_path: Path) -> None:
    """Without a slurmctld there is nothing to record, and the command says so."""
    (tmp_path / "slurm.conf").write_text("SlurmUser=root\n")
    code, text = record(tmp_path)
    assert code == 1
    assert "no slurmctld with the plugin job_submit/python runs" in text
