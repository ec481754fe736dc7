# SPDX-License-Identifier: GPL-2.0-or-later
"""The byte code of what launches import: a cache, never wrong, only absent."""

import sys
from collections.abc import Callable, Iterator
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

from slurmhooks import bytecode
from slurmhooks.cli import _bytecode
from tests.unit.test_imports import MAY_BE_IMPORTED, MAY_BE_IMPORTED_BY_THE_ANCHOR, MAY_BE_IMPORTED_FOR_SCRIPTS

NAMES = ("served", "served.inner")


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], tuple[object, object]]]:
    """A package, in a process of Slurm's; returns a function that imports it: its value, and what loaded it."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "__init__.py").write_text("from served.inner import value\n")
    (folder / "inner.py").write_text('"""Doc."""\nvalue = 1\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys._xoptions, "slurmhooks_sysconfdir", "/etc/slurm")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = list(sys.meta_path)
    (tmp_path / "file").write_bytes(_bytecode.render(NAMES))

    def load() -> tuple[object, object]:
        for name in NAMES:
            sys.modules.pop(name, None)
        sys.meta_path[:] = before
        bytecode.install(str(tmp_path / "file"))
        import served  # type: ignore[import-not-found]

        assert served.__path__ == [str(folder)]
        assert served.inner.__file__ == str(folder / "inner.py")
        return served.value, type(served.inner.__loader__)

    yield load
    sys.meta_path[:] = before
    for name in NAMES:
        sys.modules.pop(name, None)


def test_modules_come_from_the_file(served: Callable[[], tuple[object, object]]) -> None:
    """A package and a module in it, with the attributes that others expect."""
    assert served() == (1, bytecode.Finder)


def test_what_has_changed_comes_from_its_source(served: Callable[[], tuple[object, object]], tmp_path: Path) -> None:
    """Each module by itself; the file is not asked about others."""
    (tmp_path / "served" / "inner.py").write_text('"""Doc."""\nvalue = 2\n')
    value, loader = served()
    assert value == 2
    assert loader is not bytecode.Finder


@pytest.mark.parametrize("kept", [0, 1, 100, -1])
def test_half_a_file_is_none(served: Callable[[], tuple[object, object]], tmp_path: Path, kept: int) -> None:
    """What is not whole is not read."""
    path = tmp_path / "file"
    path.write_bytes(path.read_bytes()[:kept])
    value, loader = served()
    assert value == 1
    assert loader is not bytecode.Finder


@pytest.mark.parametrize("form", [(0, MAGIC_NUMBER), (1, b"other")])
def test_the_file_of_another_is_none(
    served: Callable[[], tuple[object, object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: object
) -> None:
    """Another format, or another version of Python's byte code."""
    with monkeypatch.context() as patch:
        patch.setattr(bytecode, "FORMAT", form)
        (tmp_path / "file").write_bytes(_bytecode.render(NAMES))
    assert served()[1] is not bytecode.Finder


def test_only_processes_of_slurm_read_it(
    served: Callable[[], tuple[object, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line imports as Python does."""
    monkeypatch.delitem(sys._xoptions, "slurmhooks_sysconfdir")
    assert served()[1] is not bytecode.Finder


def test_it_holds_what_launches_import() -> None:
    """Each module of ours, but for those that find it."""
    ours = {
        name
        for name in MAY_BE_IMPORTED | MAY_BE_IMPORTED_BY_THE_ANCHOR | MAY_BE_IMPORTED_FOR_SCRIPTS
        if name.startswith("slurmhooks")
    }
    found_before = {"slurmhooks", "slurmhooks.bytecode"}
    sites = {"slurmhooks_site", "slurmhooks_site.hooks"}
    assert ours - found_before - sites <= set(_bytecode.MODULES)


def test_it_is_written_in_one_step(tmp_path: Path) -> None:
    """Nothing else stays behind, and it may be there already."""
    for _ in range(2):
        _bytecode.write(str(tmp_path / "cache" / "file"))
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["file"]
