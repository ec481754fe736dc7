# SPDX-License-Identifier: GPL-2.0-or-later
import io
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from slurmhooks.cli import progress
from slurmhooks.cli.findings import Finding
from slurmhooks.cli.progress import TAIL, bar, run_logged, step, waiting
from tests.sets import put_in_force

from .conftest import Call


def test_output_goes_to_the_log_only(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A command that passes leaves its line and output in the log, and says nothing on the terminal."""
    log = tmp_path / "log"
    run_logged(["sh", "-c", "echo out; echo err >&2"], log, failure="no")
    assert log.read_text() == "$ sh -c echo out; echo err >&2\nout\nerr\n"
    assert capfd.readouterr() == ("", "")


def test_failure_shows_the_end_of_the_output(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A command that fails shows its last lines and is a finding that names the log."""
    log = tmp_path / "log"
    with pytest.raises(Finding, match=rf"it broke \(exit code 7\).*{log}"):
        run_logged(["sh", "-c", "seq 100; exit 7"], log, failure="it broke")
    assert capfd.readouterr().err.splitlines() == [str(number) for number in range(101 - TAIL, 101)]


def test_verbose_shows_output_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With verbose, output is shown as it arrives, and not repeated after a failure."""
    with pytest.raises(Finding):
        run_logged(["sh", "-c", "echo [red]x; exit 1"], tmp_path / "log", failure="no", verbose=True)
    assert capfd.readouterr().err == "[red]x\n"


def test_program_that_does_not_start_is_a_finding(tmp_path: Path) -> None:
    """A missing program is a finding that names it."""
    with pytest.raises(Finding, match="no: /no/such: No such file"):
        run_logged(["/no/such"], tmp_path / "log", failure="no")


def test_step_says_when_it_begins_and_ends(capfd: pytest.CaptureFixture[str]) -> None:
    """Without a terminal a step writes one line when it begins, with the hint, and one with its time when it ends."""
    with step("Doing", "soon"):
        assert capfd.readouterr().err == "Doing (soon) ...\n"
    assert re.fullmatch(r"Doing: [0-9]+\.[0-9] s\n", capfd.readouterr().err)


def test_a_bar_without_a_terminal_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    """Without a terminal, as under cron, a progress bar and a spinner write nothing."""
    with bar("replaying") as advance:
        for done in range(100):
            advance(done, 100)
    with waiting("asking slurmctld"):
        pass
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("patience", "shown"), [(0.0, True), (1000.0, False)])
def test_a_spinner_for_what_takes_long(monkeypatch: pytest.MonkeyPatch, patience: float, shown: bool) -> None:
    """On a terminal, a long wait is shown with its reason, and removed at the end, even after an error."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=80)
    monkeypatch.setattr(progress, "console", lambda: console)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress, "PATIENCE", patience)

    def work() -> None:
        with waiting("asking slurmctld"):
            while shown and "asking slurmctld ..." not in written.getvalue():
                time.sleep(0.01)
            raise Finding("x")

    with pytest.raises(Finding):
        work()
    assert ("asking slurmctld" in written.getvalue()) == shown
    assert written.getvalue().endswith("\x1b[2K" if shown else "")
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


def test_commands_that_wait_say_so(run: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands that ask slurmctld or read the decision log name what they wait for."""
    titles = []

    @contextmanager
    def note(title: str) -> Iterator[None]:
        titles.append(title)
        yield

    monkeypatch.setattr(progress, "waiting", note)
    (tmp_path / "decisions").mkdir()
    (tmp_path / "decisions" / "job_submit.jsonl").write_text("")
    (tmp_path / "slurmhooks.toml").write_text(f"[decisions]\nfolder = '{tmp_path}/decisions'\n")
    put_in_force(tmp_path)
    for command in (("record", "--status"), ("why", "--last", "1")):
        run(*command, "--sysconfdir", tmp_path)
        assert titles, command
        titles.clear()
