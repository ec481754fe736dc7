# SPDX-License-Identifier: GPL-2.0-or-later
"""A command that would really submit is not called; tests/cluster/test_try_asks_commands.py has real ones."""

import os
import shutil
from pathlib import Path

import pytest

from slurmhooks.wire.tables import FILE_NAME
from slurmhooks.workshop.testing import real_commands
from slurmhooks.workshop.testing.real_commands import UnavailableError
from slurmhooks.workshop.testing.tables import tables_of


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a build that lacks the library, and put the folder ``bin`` beside it into PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=os.pathsep)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / FILE_NAME).write_text(tables_of("24.11").text)
    return tmp_path / "build"


def test_a_script_is_not_called(build: Path, tmp_path: Path) -> None:
    """A script of that name may call the command without the library."""
    script = tmp_path / "bin" / "sbatch"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/called\n")
    script.chmod(0o755)
    with pytest.raises(UnavailableError, match="is no program of Slurm"):
        real_commands.requests(build, "sbatch", ["--wrap=true"])
    assert not (tmp_path / "called").exists()


def test_a_program_without_the_library_gets_no_words(build: Path, tmp_path: Path) -> None:
    """A program into which the library is not loaded is called with --version only."""
    shutil.copy(str(shutil.which("touch")), tmp_path / "bin" / "sbatch")
    with pytest.raises(UnavailableError, match=f"does not load {build}"):
        real_commands.requests(build, "sbatch", [f"{tmp_path}/called"])
    assert not (tmp_path / "called").exists()


def test_no_build(tmp_path: Path) -> None:
    """Without the tables of a build the command is not asked."""
    with pytest.raises(UnavailableError, match="No such file"):
        real_commands.requests(tmp_path, "sbatch", ["--wrap=true"])
