# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of plugstack.conf that load the plugin."""

from pathlib import Path

import pytest

from slurmhooks.files import plugstack_conf

LINE = "optional spank_python.so a"


@pytest.mark.parametrize("character", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_lines_end_where_they_end_for_slurm(tmp_path: Path, character: str) -> None:
    """Only a line feed ends a line: what follows another separator of lines belongs to the line before it."""
    path = tmp_path / "plugstack.conf"
    path.write_text(f"# a comment{character}{LINE}\n{LINE}\n")
    assert plugstack_conf.of_plugin(path) == [LINE]


@pytest.mark.parametrize("word", ["Optional", "REQUIRED", "opt", "Include"])
def test_keywords_are_lower_case(tmp_path: Path, word: str) -> None:
    """Slurm compares the first word of a line exactly, and refuses others."""
    other = tmp_path / "other.conf"
    other.write_text(f"{LINE}\n")
    path = tmp_path / "plugstack.conf"
    path.write_text(f"{word} {other if word == 'Include' else LINE.partition(' ')[2]}\n{LINE}\n")
    assert plugstack_conf.of_plugin(path) == [LINE]


def test_files_are_included(tmp_path: Path) -> None:
    """An include names files by a pattern, relative to the file that has it."""
    (tmp_path / "plugstack.conf.d").mkdir()
    for name in ("b", "a"):
        (tmp_path / "plugstack.conf.d" / f"{name}.conf").write_text(f"required spank_python.so {name}\n")
    path = tmp_path / "plugstack.conf"
    path.write_text("include plugstack.conf.d/*\n")
    assert [plugstack_conf.arguments(line) for line in plugstack_conf.of_plugin(path)] == [("a",), ("b",)]
