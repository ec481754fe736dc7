# SPDX-License-Identifier: GPL-2.0-or-later
"""The gallery shows what the examples do; ``python -m tests.unit.test_gallery`` updates its outputs."""

import os
import shlex
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner

from slurmhooks import cli
from slurmhooks.cli import isolation
from tests.cluster.tutorial import written

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs" / "gallery.md"


def played(folder: Path) -> str:
    """Return the page with the outputs of its commands, run in a copy of the examples, the current folder."""
    shutil.copytree(PROJECT / "contrib" / "examples", folder)
    (folder / "site").mkdir()
    shutil.copy(folder / "policies.toml", folder / "site" / "slurmhooks.toml")
    os.chdir(folder)

    def output(user: str, command: str) -> str:
        name, *words = shlex.split(command)
        assert name == "slurmhooks", command
        return CliRunner(env={"COLUMNS": "100"}).invoke(cli.main, words).output

    def install(path: str, text: str) -> None:
        Path(path).write_text(text)

    return written(PAGE.read_text(), output, install)


def test_the_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command of the gallery prints what the page shows."""
    monkeypatch.chdir(tmp_path)
    assert played(tmp_path / "examples") == PAGE.read_text()


def test_it_names_each_example() -> None:
    """Each example is in the gallery, with a command or with the page that explains it."""
    text = PAGE.read_text()
    assert [path.name for path in (PROJECT / "contrib" / "examples").glob("*.*") if f"`{path.name}`" not in text] == []


if __name__ == "__main__":
    # As in tests: no command of the gallery changes the machine, and a copy would discard what is written here.
    with (
        tempfile.TemporaryDirectory(dir=Path.home()) as scratch,
        mock.patch.object(isolation, "run", lambda function: function()),
    ):
        PAGE.write_text(played(Path(scratch, "examples")))
