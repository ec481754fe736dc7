# SPDX-License-Identifier: GPL-2.0-or-later
from pathlib import Path

import pytest

from slurmhooks.cli.findings import Finding
from slurmhooks.cli.progress import TAIL, bar, run_logged, step


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
    """With verbose the output is seen as it comes, and not again at a failure."""
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
    assert capfd.readouterr().err == "Doing: 0.0 s\n"


def test_a_bar_without_a_terminal_is_two_lines(capfd: pytest.CaptureFixture[str]) -> None:
    """Without a terminal, a bar writes a line at the beginning and one at the end, however often it moves."""
    with bar("replaying") as advance:
        for done in range(100):
            advance(done, 100)
    first, last = capfd.readouterr().err.splitlines()
    assert first == "replaying ..."
    assert last.startswith("replaying: ")
