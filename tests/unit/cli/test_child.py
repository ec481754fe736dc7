# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever a hook file does to the process that loads it, a command says what it has found."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.cli import SITE, child
from slurmhooks.cli.child import in_child
from slurmhooks.cli.findings import Findings
from slurmhooks.entry.scripts_and_rules import of_files
from slurmhooks.handlers import definitions
from tests.forks import become_a_daemon
from tests.unit.cli.conftest import Call

pytestmark = pytest.mark.slow

START = (
    "import atexit, os, sys, threading, time\nfrom slurmhooks import hook\n\n@hook.job_submit\ndef rule(job): ...\n\n"
)
ENDS = {
    "without a word": "os._exit(0)",
    "by a signal": "os.kill(os.getpid(), 9)",
    "without descriptors": "os.closerange(0, 256)",
    "at its end": "atexit.register(os._exit, 0)\nraise ValueError",
}
STAYS = {
    "a thread": "threading.Thread(target=time.sleep, args=(1000,)).start()",
    "exit functions": "atexit.register(os._exit, 7)",
}
PRINTS = {
    "no standard output": "sys.stdout.close(); sys.stdout = None; os.close(1)",
    "another child": "os.fork()",
    "lines": "print('{}'); os.write(1, b'{}'); os.system('echo {}')",
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes a hook file with a rule and further lines."""

    def write(text: str) -> Path:
        path = tmp_path / "site.py"
        path.write_text(f"{START}{text}\n")
        return path

    return write


def test_a_file_that_becomes_a_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the process that loads it is seen at once, although its child stays."""
    monkeypatch.setattr(child, "PATIENCE", 8.0)

    with pytest.raises(Findings, match="the process that loaded it, which ended with exit code 0"):
        in_child(become_a_daemon)


@pytest.mark.parametrize("text", ENDS.values(), ids=ENDS)
def test_a_file_that_ends_its_process(text: str, write: Callable[[str], Path], run: Call) -> None:
    """It is a finding that names the file, and the exit code is 1."""
    path = write(text)
    before = path.with_name("a.py")
    before.write_text(START)
    result = run.refused("check", "--hooks", before, "--hooks", path, "--json")
    (finding,) = json.loads(result.stdout)["findings"]
    assert ("ended the process" in finding and finding.endswith(f" {path}")) or "ValueError" in finding


def documents(path: Path, *words: str) -> str:
    """Run a command on a hook file with --json; return what is on standard output."""
    command = [sys.executable, "-m", "slurmhooks.cli", *words[:2], "--hooks", str(path), "--json", *words[2:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("text", [*STAYS.values(), *PRINTS.values()], ids=[*STAYS, *PRINTS])
def test_a_file_that_leaves_something(text: str, write: Callable[[str], Path]) -> None:
    """The command ends, and standard output has one document and nothing else."""
    document = json.loads(documents(write(text), "check"))
    assert [row["handler"] for row in document["handlers"]] == ["site:rule"]


def test_the_name_of_the_package() -> None:
    """A command notices that it has run hook files by their package."""
    assert SITE == definitions.PACKAGE


@pytest.mark.parametrize("text", [*STAYS.values(), *PRINTS.values()], ids=[*STAYS, *PRINTS])
def test_a_trial_of_a_file_that_leaves_something(text: str, write: Callable[[str], Path]) -> None:
    """The trial ends, and standard output has one document and nothing else."""
    path = write(text)
    request = path.with_suffix(".json")
    request.write_text("{}")
    assert json.loads(documents(path, "try", "job_submit", "--really", str(request)))["accepted"] is True


def test_a_handler_that_exits(write: Callable[[str], Path], run: Call) -> None:
    """In a trial, os._exit() is a bug of the handler, not the end of the command."""
    path = write("@hook.job_submit\ndef other(job): os._exit(0)")
    request = path.with_suffix(".json")
    request.write_text("{}")
    result = run("try", "job_submit", "--really", "--hooks", path, "--json", request)
    assert json.loads(result.stdout)["accepted"] is False
    assert result.exit_code == 1


def test_results_and_errors() -> None:
    """The result, findings and errors of the system come back as if the function had been called here."""

    def fail(error: Exception) -> None:
        raise error

    assert in_child(lambda number: number + os.getpid() * 0, 5) == 5
    with pytest.raises(Findings, match="one"):
        in_child(fail, Findings(["one", "two"]))
    with pytest.raises(FileNotFoundError):
        in_child(fail, FileNotFoundError(2, "gone", "file"))


def test_a_call_that_does_not_come_back(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The user soon reads which file it is; after some time it is a finding, and its process is killed."""
    monkeypatch.setattr(child, "SILENCE", 1.0)
    monkeypatch.setattr(child, "PATIENCE", 1.1)
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(1000)\n")
    with pytest.raises(Findings, match=r"more than 1.1 s.*slow\.py"):
        in_child(lambda: of_files([str(tmp_path / "slow.py")]).load())
    said = capfd.readouterr().err
    assert "given up after 1.1 s; the last file that was begun is" in said
    assert "slow.py" in said
