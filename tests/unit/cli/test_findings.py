# SPDX-License-Identifier: GPL-2.0-or-later
import io

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
