# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks compile``: which variant of the plugin it puts in place, and what it says of that."""

import os
from pathlib import Path

import pytest

from slurmhooks.cli import compile as compile_command
from slurmhooks.cli._findings import Finding


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A PluginDir with three variants, and the plugin as installed."""
    (tmp_path / "slurmhooks").mkdir()
    for letters in ("", "p", "u"):
        (tmp_path / "slurmhooks" / f"spank_python-{letters}.so").touch()
    (tmp_path / "spank_python.so").touch()
    return tmp_path


def test_variant(folder: Path) -> None:
    """The variant is a link beside the others, and what it offers is said."""
    assert compile_command.choose_variant(folder, "u") == "offers user_init to Slurm"
    assert os.readlink(folder / "spank_python.so") == "slurmhooks/spank_python-u.so"
    assert compile_command.choose_variant(folder, "") == "offers Slurm no callback that costs"
    assert sorted(path.name for path in folder.iterdir()) == ["slurmhooks", "spank_python.so"]


def test_missing_variant(folder: Path) -> None:
    """A variant that was not installed is a finding, and nothing is changed."""
    with pytest.raises(Finding, match=r"spank_python-x.so is missing: run 'slurmhooks install' again"):
        compile_command.choose_variant(folder, "x")
    assert not (folder / "spank_python.so").is_symlink()


def test_restart_of_slurmd(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A prolog that the plugin before had not is not called until slurmd starts again, and that is said then only."""
    for letters, asked in (("p", False), ("", False), ("p", True), ("p", False), ("u", False)):
        compile_command.choose_variant(folder, letters)
        assert ("restart slurmd" in "".join(capsys.readouterr())) == asked, letters
