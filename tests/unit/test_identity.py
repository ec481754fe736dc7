# SPDX-License-Identifier: GPL-2.0-or-later
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks import identity


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Give a small package with C sources beside it."""
    for folder, names in {"package": ("a.py", "wire/b.py"), "native": ("c.c", "wire/d.h")}.items():
        for name in names:
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).write_text(name)
    return tmp_path / "package"


def test_every_change_of_a_source_counts(package: Path) -> None:
    """Another content, name or place of a source, a new one and a lost one each give another hash; times do not."""
    native, seen = package.parent / "native", {identity.of(str(package))}
    steps: list[Callable[[], object]] = [
        lambda: (package / "a.py").write_text("changed"),
        lambda: (native / "c.c").write_text("changed"),
        lambda: (package / "a.py").rename(package / "e.py"),
        lambda: (package / "e.py").rename(package / "wire/e.py"),
        lambda: (package / "new.py").touch(),
        lambda: (native / "wire/d.h").unlink(),
    ]
    for step in steps:
        step()
        found = identity.of(str(package))
        assert len(found) == identity.DIGITS
        assert found not in seen
        seen.add(found)


def test_an_installed_package_is_the_checkout(package: Path) -> None:
    """Where a wheel has the C sources, and what Python writes beside sources, makes no difference."""
    before = identity.of(str(package))
    shutil.move(package.parent / "native", package / "_native")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "a.cpython-311.py").touch()
    (package / "a.pyc").touch()
    assert identity.of(str(package)) == before


def test_who_may_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin of these sources is served; one of others, or of a release without this check, is told what to do."""
    monkeypatch.setitem(sys._xoptions, identity.OPTION, identity.here())
    assert identity.misfit() is None
    monkeypatch.setitem(sys._xoptions, identity.OPTION, "0123456789abcdef")
    assert "another build of slurmhooks (0123456789abcdef)" in (identity.misfit() or "")
    monkeypatch.delitem(sys._xoptions, identity.OPTION)
    assert "restart slurmctld" in (identity.misfit() or "")


def test_sources_that_are_being_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """While a package manager replaces the package, nothing is served, and the reason says so."""
    monkeypatch.setattr(identity, "__file__", str(tmp_path / "gone" / "identity.py"))
    assert "is being replaced" in (identity.misfit() or "")
