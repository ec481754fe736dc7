# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks compile``: which variant of the plugin it installs, and what it prints about that."""

import os
from pathlib import Path

import pytest

from slurmhooks.cli import compiled
from slurmhooks.cli.findings import Finding


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A PluginDir with three variants, and the plugin as installed."""
    (tmp_path / "slurmhooks").mkdir()
    for name in ("minimal", "job", "task"):
        (tmp_path / "slurmhooks" / f"spank_python-{name}.so").touch()
    (tmp_path / "spank_python.so").touch()
    return tmp_path


def test_variant(folder: Path) -> None:
    """The plugin becomes a link to the variant beside it, and compile prints the callbacks that the variant exports."""
    assert compiled.choose_variant(folder, "task") == "exports user_init, task_post_fork, task_exit"
    assert os.readlink(folder / "spank_python.so") == "slurmhooks/spank_python-task.so"
    assert compiled.choose_variant(folder, "minimal") == "exports no callback that costs extra time"
    assert sorted(path.name for path in folder.iterdir()) == ["slurmhooks", "spank_python.so"]


def test_missing_variant(folder: Path) -> None:
    """A variant that is not installed is a finding, and nothing is changed."""
    with pytest.raises(Finding, match=r"spank_python-full.so is missing: run 'slurmhooks install' again"):
        compiled.choose_variant(folder, "full")
    assert not (folder / "spank_python.so").is_symlink()


def test_restart_of_slurmd(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A prolog that the previous variant lacked is called only after a restart of slurmd; only then compile says so."""
    for name, asked in (("job", False), ("minimal", False), ("job", True), ("job", False), ("task", False)):
        compiled.choose_variant(folder, name)
        assert ("restart slurmd" in "".join(capsys.readouterr())) == asked, name
