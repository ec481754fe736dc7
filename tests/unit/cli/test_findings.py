# SPDX-License-Identifier: GPL-2.0-or-later
import io
import sys

import pytest

from slurmhooks.cli import output, progress
from slurmhooks.cli.findings import Finding, Findings


def test_all_findings_are_shown_one_a_line() -> None:
    """All findings are written, each on its own line, and the exit code is 1."""
    file = io.StringIO()
    error = Findings(["first", "second"])
    error.show(file)
    lines = [line.rpartition(" ")[2] for line in file.getvalue().splitlines()]
    assert lines == ["first", "second"]
    assert error.exit_code == 1


def test_finding_is_findings_of_one() -> None:
    """A single finding can be caught and shown in the same way as several."""
    assert Finding("only").findings == ["only"]


def test_tables_are_never_broken(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each row is one line without blanks at its end, however wide, so that paths can be copied."""
    monkeypatch.setenv("COLUMNS", "40")
    long = "/etc/slurm/" + "x" * 60
    output.table(("where", "empty", "text"), [(long, "", "short"), ("b", "", ""), ("c\n", "", "longer text")])
    assert capsys.readouterr().out.splitlines() == [
        f"where{'':68}text",
        f"{long}  short",
        "b",
        f"c\\n{'':70}longer text",
    ]


def test_closed_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without standard output, as after ``>&-``, there is no terminal, and nothing fails."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    output.table(("column",), [("cell",)])
    with progress.waiting("waiting"):
        pass


def test_long_cells(capsys: pytest.CaptureFixture[str]) -> None:
    """A table has the beginning of a long text, such as a script, and says how much is left out."""
    output.table(("field", "value"), [("script", "# long\n" * 100_000)])
    text = capsys.readouterr().out
    assert "bytes left out]" in " ".join(text.split())
    assert len(text) < 3000
