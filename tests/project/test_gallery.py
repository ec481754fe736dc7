# SPDX-License-Identifier: GPL-2.0-or-later
"""The gallery and the page for authors of C plugins show what hook files do.

``python -m tests.project.test_gallery`` updates the outputs on both pages.
"""

import os
import shlex
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner

from slurmhooks import cli
from slurmhooks.workshop.cli import file_copies
from tests.cluster.tutorial import written

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]
GALLERY = PROJECT / "docs" / "gallery.md"
PAGES = (GALLERY, PROJECT / "docs" / "from-c.md")


def played(page: Path, folder: Path) -> str:
    """Return a page with the outputs of its commands, run in a copy of the examples, the current folder."""
    shutil.copytree(PROJECT / "contrib" / "examples", folder)
    (folder / "site").mkdir()
    shutil.copy(folder / "rules.toml", folder / "site" / "slurmhooks.toml")
    os.chdir(folder)

    def output(user: str, command: str) -> str:
        name, *words = shlex.split(command)
        assert name == "slurmhooks", command
        return CliRunner(env={"COLUMNS": "100", "SUDO_UID": "1000"}).invoke(cli.main, words).output

    def install(path: str, text: str) -> None:
        Path(path).write_text(text)

    return written(page.read_text(), output, install)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command of the page prints what the page shows."""
    monkeypatch.chdir(tmp_path)
    assert played(page, tmp_path / "examples") == page.read_text()


def test_it_names_each_example() -> None:
    """Each example is in the gallery, with a command or with the page that explains it."""
    text = GALLERY.read_text()
    assert [path.name for path in (PROJECT / "contrib" / "examples").glob("*.*") if f"`{path.name}`" not in text] == []


if __name__ == "__main__":
    # As in tests: no command of the gallery changes the machine, and a copy would discard what is written here.
    with (
        tempfile.TemporaryDirectory(dir=Path.home()) as scratch,
        mock.patch.object(file_copies, "run", lambda function: function()),
    ):
        for page in PAGES:
            page.write_text(played(page, Path(scratch, page.stem)))
