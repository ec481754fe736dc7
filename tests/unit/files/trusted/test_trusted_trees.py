# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages that hook files import run only if no untrusted user could have written any file of their folder."""

import _imp
import importlib.util
import marshal
import os
import posix
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.files import trusted, trusted_trees
from slurmhooks.handlers import loader
from slurmhooks.handlers.loader import Source
from tests.unit.files.trusted.conftest import (
    EVIL,
    EXPOSURES,
    HANDLER,
    NOBODY,
    Write,
    give_away,
    make_group_writable,
    make_world_writable,
    root,
)

PACKAGE = "site_tree"
INIT = f"lib/{PACKAGE}/__init__.py"


@pytest.fixture
def hooks(write: Write, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A hook file that imports a package of the folder lib."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    write(INIT, "")
    write(f"lib/{PACKAGE}/inner/deep.py", "")
    write("lib/data.txt", "")
    yield write("hooks.py", f"import {PACKAGE}.inner.deep\n{HANDLER}")
    forget()


def forget() -> None:
    """Remove the package from the imported modules."""
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def load(hooks: Path) -> int:
    """Load the hook file with its folder of packages; return the number of its handlers."""
    forget()
    sources = [Source(packages=str(hooks.parent / "lib")), Source(path=str(hooks))]
    return len(loader.load(sources).all_handlers())


def findings(hooks: Path) -> list[str]:
    """Return the findings on the folder of packages."""
    with pytest.raises(LoadError) as caught:
        load(hooks)
    assert PACKAGE not in sys.modules
    return [text for text in caught.value.findings if "ModuleNotFoundError" not in text]


@root
@pytest.mark.parametrize("exposure", EXPOSURES)
@pytest.mark.parametrize("name", [INIT, f"lib/{PACKAGE}/inner/deep.py", f"lib/{PACKAGE}/inner", "lib", "lib/data.txt"])
def test_everything_in_a_folder_of_packages_is_judged(hooks: Path, name: str, exposure: str) -> None:
    """A file or folder that others can write fails the load; the command in the finding repairs it."""
    place = hooks.parent / name
    assert load(hooks) == 1
    expose, what, command = EXPOSURES[exposure]
    expose(place)
    (text,) = findings(hooks)
    assert text.startswith(f"{place}: it {what}")
    command = command.replace(" ", " -R ", 1) if place.is_dir() and name != "lib" else command
    assert text.endswith(f": {command} {place}")
    subprocess.run(text.rpartition(": ")[2].split(), check=True)
    assert load(hooks) == 1


@root
def test_byte_code_in_a_package(hooks: Path) -> None:
    """Byte code that another user has planted beside a module of root does not run."""
    source = hooks.parent / INIT
    cached = Path(importlib.util.cache_from_source(str(source)))
    cached.parent.mkdir()
    header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little")
    source_hash = _imp.source_hash(importlib._bootstrap_external._RAW_MAGIC_NUMBER, b"other")  # type: ignore[attr-defined]
    cached.write_bytes(header + source_hash + marshal.dumps(compile(EVIL, str(source), "exec")))
    give_away(cached)
    assert [text.rpartition(": ")[2] for text in findings(hooks)] == [f"chown root {cached}"]
    give_away(cached.parent)
    assert [text.rpartition(": ")[2] for text in findings(hooks)] == [f"chown -R root {cached.parent}"]


def test_all_findings_up_to_a_limit(hooks: Path, write: Write) -> None:
    """All exposed files are named at once, unless a user has made very many."""
    names = [INIT, f"lib/{PACKAGE}/inner/deep.py", "lib/data.txt"]
    for name in names:
        make_world_writable(hooks.parent / name)
    commands = {text.rpartition(": ")[2] for text in findings(hooks)}
    assert commands == {f"chmod o-w {hooks.parent / name}" for name in names}
    for number in range(100):
        make_world_writable(write(f"lib/{number}.py", ""))
    assert len(findings(hooks)) == trusted_trees.MOST_FINDINGS + 1


@root
def test_links_in_a_folder_of_packages(hooks: Path, write: Write, tmp_path: Path) -> None:
    """A link is followed: it, its target and everything in the target are judged; one that leads nowhere is not."""
    inside = write("other/shared/a.py", "")
    links = {"folder": inside.parent, "file.py": inside, "loop": tmp_path / "lib", "nowhere": tmp_path / "gone"}
    for name, target in links.items():
        (tmp_path / "lib" / name).symlink_to(target)
    (tmp_path / "lib" / "itself").symlink_to("itself")
    assert load(hooks) == 1
    give_away(inside)
    assert {text.rpartition(": ")[2] for text in findings(hooks)} == {f"chown root {inside}"}
    os.chown(inside, 0, -1)
    make_world_writable(tmp_path / "other")
    assert {text.rpartition(": ")[2] for text in findings(hooks)} == {f"chmod o-w {tmp_path / 'other'}"}
    (tmp_path / "other").chmod(0o755)
    os.chown(tmp_path / "lib" / "nowhere", NOBODY, -1, follow_symlinks=False)
    assert findings(hooks)[0].endswith(f": chown -h root {tmp_path}/lib/nowhere")


@root
def test_a_folder_of_packages_that_cannot_be_listed(hooks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that a daemon may enter but not list is an error, because byte code in it could be loaded by name."""
    closed = hooks.parent / "lib" / PACKAGE / "inner"
    real = os.open

    def fail(name: str, flags: int, *, dir_fd: int | None = None) -> int:
        if flags == trusted_trees.TO_LIST and name == str(closed):
            raise PermissionError(13, "Permission denied", name)
        return real(name, flags, dir_fd=dir_fd)

    monkeypatch.setattr(posix, "open", fail)
    (text,) = findings(hooks)
    assert text.startswith(f"{closed}: Permission denied")
    monkeypatch.setattr(posix, "access", lambda *arguments, **more: False)
    assert load(hooks) == 1


def test_packages_in_a_process_of_a_user(hooks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of a user imports packages of any owner, unless everybody can write to them."""
    monkeypatch.setattr(trusted, "_owners", None)
    for name in (INIT, f"lib/{PACKAGE}", "lib"):
        make_group_writable(hooks.parent / name)
    assert load(hooks) == 1
    for name, mode in ((INIT, 0o646), (f"lib/{PACKAGE}", 0o1777), ("lib", 0o1777)):
        place = hooks.parent / name
        before = place.stat().st_mode
        place.chmod(mode)
        assert f"{place}: it is writable by everybody" in findings(hooks)[0]
        place.chmod(before)
    assert load(hooks) == 1
