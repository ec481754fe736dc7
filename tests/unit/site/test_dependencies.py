# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files and folders a process watches for changes."""

import sys
from pathlib import Path

import pytest

from slurmhooks.site import dependencies
from tests.unit.site.conftest import Write, of_config

pytestmark = pytest.mark.usefixtures("place_slurm_conf")


def test_what_is_watched(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration, its files and the modules of its packages are watched."""
    write("slurmhooks.toml", '[hooks]\npaths = ["hooks.d/*.py", "/gone/x.py"]\nmodules = ["watched_package"]\n')
    hooks = write("hooks.d/a.py", "")
    inside = write("lib/watched_package/inside.py", "")
    package = write("lib/watched_package/__init__.py", "import watched_package.inside")
    path = tmp_path / "slurmhooks.toml"
    read, sources = of_config()
    before = dependencies.watched(path, read, sources)
    assert before == [str(path), str(hooks), "/gone/x.py"]
    monkeypatch.syspath_prepend(tmp_path / "lib")
    __import__("watched_package")
    try:
        assert set(dependencies.watched(path, read, sources)) == {*before, str(package), str(inside)}
        assert set(dependencies.modules_below(["watched_package"])) == {"watched_package", "watched_package.inside"}
    finally:
        for name in dependencies.modules_below(["watched_package"]):
            del sys.modules[name]


def test_folders_where_files_may_come(write: Write, tmp_path: Path) -> None:
    """folders() returns the folders of globs; if the folder is a glob, those that match and the one above."""
    write("slurmhooks.toml", '[hooks]\npaths = ["hooks.d/*.py", "/gone/x.py", "of/*/hook?.py"]\n')
    write("of/physics/hook1.py", "")
    write("hooks.d/a.py", "")
    path = tmp_path / "slurmhooks.toml"
    read, _ = of_config()
    expected = {"hooks.d", "of", "of/physics"}
    assert set(dependencies.folders(path, read)) == {str(tmp_path / name) for name in expected}
