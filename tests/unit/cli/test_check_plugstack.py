# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks check`` notes lines of plugstack.conf that Slurm ignores or reads otherwise."""

from pathlib import Path

import pytest

from slurmhooks.cli.checks import lines
from tests.unit.cli.conftest import Site

ODD = {
    "OPTIONAL spank_python.so": "Slurm ignores this line: it begins with 'OPTIONAL', not with required, optional or"
    " include; write optional",
    "spank_python.so": "Slurm ignores this line: it begins with 'spank_python.so', not",
    "required # spank_python.so": "Slurm ignores this line: nothing follows required",
    "include /no/such/file": "/no/such/file does not exist: Slurm includes nothing",
    "include sub/file": "/sub/file does not exist: Slurm includes nothing",
    'required spank_python.so *.py "a b"': "Slurm keeps quotes, and blanks in them separate arguments: the line has"
    ' "a, b"',
    "required spank_python.so *.py x#y z": "Slurm reads nothing from #y on: the argument is x; a comment",
}
FINE = ["", "# a#b", "optional spank_python.so *.py a # x#y", "include /no/such/*.conf", "optional other.so 'a' x#y"]


@pytest.mark.parametrize("line", ODD)
def test_an_odd_line_has_a_note(tmp_path: Path, line: str) -> None:
    """The note begins with file and line, also in a file that is included, and says what Slurm does."""
    (tmp_path / "more").mkdir()
    other = tmp_path / "more" / "a.conf"
    other.write_text(f"\n{line}\n")
    path = tmp_path / "plugstack.conf"
    path.write_text(f"include more/*.conf\n{line}\n")
    first, second = lines.notes(path)
    assert first.startswith(f"{other}:2: ")
    assert second.startswith(f"{path}:2: ")
    assert ODD[line] in first
    assert ODD[line] in second


@pytest.mark.parametrize("line", FINE)
def test_a_line_that_is_read_as_written_has_none(tmp_path: Path, line: str) -> None:
    """Comments, patterns that match nothing yet, and other plugins' arguments are no mistakes."""
    path = tmp_path / "plugstack.conf"
    path.write_text(f"{line}\n")
    assert list(lines.notes(path)) == []


def test_check_has_the_notes(site: Site) -> None:
    """They are among the notes about the site."""
    site.plugstack("OPTIONAL spank_python.so")
    result = site.check()
    assert f"note: {site.etc / 'plugstack.conf'}:1: Slurm ignores this line" in result.output
