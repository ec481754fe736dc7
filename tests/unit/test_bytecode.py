# SPDX-License-Identifier: GPL-2.0-or-later
"""The byte code of what launches import: a cache, never wrong, only absent."""

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Any

import pytest

from slurmhooks import bytecode, errors
from slurmhooks.cli import _bytecode
from slurmhooks.hook import HOOKS
from slurmhooks.registry import Handler
from tests.unit.test_imports import MAY_BE_IMPORTED, MAY_BE_IMPORTED_BY_THE_ANCHOR, MAY_BE_IMPORTED_FOR_SCRIPTS

NEEDS_SLURM = {"slurmhooks.scrun.entry", "slurmhooks.spank.entry"}
NAMES = ("served", "served.inner", "served.leaf")
INNER = '''\
"""Doc."""
from __future__ import annotations
from served.leaf import value
TYPE_CHECKING = False
if TYPE_CHECKING:
    from served.missing import Missing
kept: int = 2
other: Missing
def double(value: Missing) -> Missing:
    """Doc."""
    return 2 * value
'''


class Served:
    """A package whose byte code is in the file.

    Attributes:
        folder: its own.
        file: the one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = Path(bytecode.file_of(str(folder)))
        self.found = list(sys.meta_path)

    def load(self) -> tuple[object, object]:
        """Import it anew; return what is in it, and what loaded the innermost module."""
        self.forget()
        bytecode.install(str(self.folder))
        import served  # type: ignore[import-not-found]

        assert served.__path__ == [str(self.folder)]
        assert served.leaf.__file__ == str(self.folder / "leaf.py")
        assert served.leaf.__spec__.name == "served.leaf"
        return served.value, type(served.leaf.__loader__)

    def forget(self) -> None:
        """Be as before."""
        sys.meta_path[:] = self.found
        for name in NAMES:
            sys.modules.pop(name, None)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The package, and the file in its place."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "__init__.py").write_text("from served.inner import double, kept, value\nvalue += double(kept)\n")
    (folder / "inner.py").write_text(INNER)
    (folder / "leaf.py").write_text('"""Doc."""\nvalue = 1\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = Served(folder)
    made.file.parent.mkdir()
    made.file.write_bytes(_bytecode.render(NAMES))
    yield made
    made.forget()


def test_modules_come_from_the_file(served: Served) -> None:
    """A package and modules in it, with the attributes that others expect."""
    assert served.load() == (5, bytecode.Finder)


def test_what_only_readers_need_is_left_out(served: Served) -> None:
    """Docstrings, annotations, imports for types: no launch has them in memory."""
    served.load()
    inner = sys.modules["served.inner"]
    assert inner.__doc__ is None
    assert inner.double.__doc__ is None
    assert inner.double.__annotations__ == {}
    assert not hasattr(inner, "annotations")
    assert not hasattr(inner, "other")


def test_what_has_changed_comes_from_its_source(served: Served) -> None:
    """Each module by itself; the file is not asked about others."""
    (served.folder / "leaf.py").write_text('"""Doc."""\nvalue = 20\n')
    value, loader = served.load()
    assert value == 24
    assert loader is not bytecode.Finder
    assert isinstance(sys.modules["served.inner"].__loader__, bytecode.Finder)


def test_a_file_that_is_replaced_meanwhile(served: Served) -> None:
    """Between the look at what there is and its import the next one came: what that holds is not where it was."""
    bytecode.install(str(served.folder))
    (served.folder / "leaf.py").write_text('"""Doc, longer."""\nvalue = 3\n')
    served.file.with_suffix(".new").write_bytes(_bytecode.render(NAMES[1:]))
    served.file.with_suffix(".new").rename(served.file)
    for name in NAMES:
        sys.modules.pop(name, None)
    import served as package

    assert package.value == 7


def test_a_module_that_fails_is_gone(served: Served) -> None:
    """As with any import, so that the next one tries again."""
    (served.folder / "leaf.py").write_text("raise OSError\n")
    served.file.write_bytes(_bytecode.render(NAMES))
    with pytest.raises(OSError, match=r"^$"):
        served.load()
    assert not sys.modules.keys() & set(NAMES)


@pytest.mark.parametrize("kept", [0, 1, 100, -1])
def test_half_a_file_is_none(served: Served, kept: int) -> None:
    """What is not whole is not read."""
    served.file.write_bytes(served.file.read_bytes()[:kept])
    value, loader = served.load()
    assert value == 5
    assert loader is not bytecode.Finder


@pytest.mark.parametrize("form", [(0, MAGIC_NUMBER), (bytecode.FORMAT[0], b"other")])
def test_the_file_of_another_is_none(served: Served, monkeypatch: pytest.MonkeyPatch, form: object) -> None:
    """Another format, or another version of Python's byte code."""
    with monkeypatch.context() as patch:
        patch.setattr(bytecode, "FORMAT", form)
        served.file.write_bytes(_bytecode.render(NAMES))
    assert served.load()[1] is not bytecode.Finder


def test_a_process_that_slurm_did_not_start(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line imports as Python does; what a library of ours starts is told where the package is."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    importlib.reload(bytecode)
    assert [type(finder).__name__ for finder in sys.meta_path].count("Finder") == 0
    monkeypatch.setitem(sys._xoptions, "slurmhooks_package", str(served.folder))
    importlib.reload(bytecode)
    assert type(sys.meta_path[0]).__name__ == "Finder"


def test_the_header_is_as_long_wherever_the_package_is(tmp_path: Path) -> None:
    """Its room is fixed, and a site may install into the deepest of folders."""
    deep = tmp_path.joinpath(*["a-folder-with-a-long-name"] * 40)
    shutil.copytree(Path(bytecode.__file__).parent, deep / "slurmhooks", ignore=shutil.ignore_patterns("__pycache__"))
    code = "from slurmhooks.cli import _bytecode as it; print(it.__file__); it.write()"
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=deep, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(deep))
    assert Path(bytecode.file_of(str(deep / "slurmhooks"))).stat().st_size > bytecode.HEADER


def test_no_file_is_none(served: Served) -> None:
    """Before the first 'slurmhooks compile'."""
    served.file.unlink()
    assert served.load()[1] is not bytecode.Finder


def test_it_holds_what_launches_import() -> None:
    """Each module of ours, but for the one that finds it."""
    ours = {
        name
        for name in MAY_BE_IMPORTED | MAY_BE_IMPORTED_BY_THE_ANCHOR | MAY_BE_IMPORTED_FOR_SCRIPTS
        if name.startswith("slurmhooks")
    }
    sites = {"slurmhooks_site", "slurmhooks_site.hooks"}
    assert ours - sites <= set(_bytecode.MODULES)


@pytest.mark.parametrize("name", sorted(set(_bytecode.MODULES) - NEEDS_SLURM))
def test_launches_have_what_is_in_the_source(name: str) -> None:
    """What is left out of a module is nothing that it defines at run time; exceptions come when they are named."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    full = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(full)
    short = importlib.util.module_from_spec(spec)
    exec(_bytecode.Source(name).code, vars(short))
    assert vars(full).keys() - vars(short).keys() <= {"annotations", "__annotations__", *vars(errors)}
    assert vars(short).keys() <= vars(full).keys()


def test_exceptions_come_when_they_are_named() -> None:
    """They are the same, wherever a module has them from."""
    short: dict[str, Any] = {"__name__": "short"}
    exec(_bytecode.Source("slurmhooks.dispatch").code, short)
    assert "Reject" not in short
    handler = Handler(print, (), HOOKS["job_submit"], 50, False, (), "site:submit", "/site.py", 1)
    outcome = short["judge"](handler, errors.Reject("no", code=7))
    assert (outcome.passed, outcome.text, outcome.code) == (False, "no", 7)
    assert type(short["returned"](1)) is errors.HandlerError


def test_it_is_written_in_one_step(tmp_path: Path) -> None:
    """Nothing else stays behind, and it may be there already."""
    for _ in range(2):
        _bytecode.write(str(tmp_path))
    file = Path(bytecode.file_of(str(tmp_path)))
    assert list(file.parent.iterdir()) == [file]
