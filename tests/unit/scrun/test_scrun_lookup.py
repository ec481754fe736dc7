# SPDX-License-Identifier: GPL-2.0-or-later
"""Root does not follow links of other users, wherever they are on a path that a building block gets."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slurmhooks.scrun import Staging, copy_binds, lookup, oci, return_binds
from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.trees import copy_file, copy_tree, remove_tree
from tests.unit.scrun.attackers import NOBODY, SECRET, attacker, exchange, outside_is_whole, reachable_place
from tests.unit.scrun.test_scrun_binds import config

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: links of users against root need root")

CONFIG = '{"ociVersion": "1.2.0"}'
ROUNDS = 150


@pytest.fixture
def place() -> Iterator[Path]:
    """The user's folder ``home`` with the folders ``a/b``, beside a folder ``outside`` and a tree of root."""
    with reachable_place() as top:
        for name in ("home", "home/a", "home/a/b", "home/a/b/sub"):
            (top / name).mkdir()
        for name in ("home/a/b/file", "home/a/b/precious", "home/a/b/config.json"):
            (top / name).write_text(CONFIG)
        (top / "root" / "sub").mkdir(parents=True)
        (top / "root" / "file").write_text("of root")
        give(top / "home")
        yield top


def give(tree: Path) -> None:
    """Give a tree to the user."""
    os.chown(tree, NOBODY, NOBODY)
    for folder, folders, files in os.walk(tree):
        for name in (*folders, *files):
            os.chown(os.path.join(folder, name), NOBODY, NOBODY, follow_symlinks=False)


def link(at: Path, goal: Path | str, owner: int = NOBODY) -> None:
    """Put a link in the place of an entry, which is kept with another name."""
    if os.path.lexists(at):
        at.rename(at.with_name(f"{at.name} of the user"))
    at.symlink_to(goal)
    os.chown(at, owner, owner, follow_symlinks=False)


def stage(path: Path) -> None:
    """Make and remove a staging folder."""
    with contextlib.suppress(KeyError), Staging(str(path)):
        raise KeyError


def write_config(path: Path) -> None:
    """Write a configuration."""
    oci.write(config(), str(path))


def return_from(path: Path, root: Path) -> None:
    """Copy a bind mount and return it."""
    rootfs = str(path / "sub")
    return_binds(copy_binds(config((root / "sub", "/data")), rootfs), rootfs)


FOLDER_TOOLS: dict[str, Callable[[Path, Path], object]] = {
    "copy_tree from": lambda path, root: copy_tree(path, root / "copy"),
    "copy_tree into": lambda path, root: copy_tree(root, path, delete=True),
    "copy_tree into a new one": lambda path, root: copy_tree(root, path / "new" / "er"),
    "copy_binds from": lambda path, root: copy_binds(config((path, "/data")), str(root)),
    "copy_binds into": lambda path, root: copy_binds(config((root / "sub", "/data")), str(path / "sub")),
    "return_binds from": return_from,
}
FILE_TOOLS: dict[str, Callable[[Path, Path], object]] = {
    "copy_file from": lambda path, root: copy_file(path / "file", root / "copy"),
    "copy_file into": lambda path, root: copy_file(root / "file", path / "file"),
    "remove_tree": lambda path, _root: remove_tree(path / "sub"),
    "Staging": lambda path, _root: stage(path / "new" / "er"),
    "read": lambda path, _root: oci.read(str(path / "config.json")),
    "write": lambda path, _root: write_config(path / "config.json"),
    "copy_binds of a file": lambda path, root: copy_binds(config((path / "file", "/data")), str(root)),
}


@pytest.mark.parametrize("component", ["a/b", "a"])
@pytest.mark.parametrize("tool", [*FOLDER_TOOLS, *FILE_TOOLS])
def test_no_component_is_a_foreign_link(place: Path, tool: str, component: str) -> None:
    """A user's link in the place of a folder on a path is refused by root, with its name and owner."""
    root = place / "root"
    before = sorted(path.relative_to(root) for path in root.rglob("*"))
    link(place / "home" / component, place / "outside" if component == "a/b" else place)
    if component == "a":
        link(place / "b", "outside")
    text = f"'{Path(component).name}' is a symbolic link of user id {NOBODY}, which root does not follow"
    with pytest.raises(StagingError, match=text):
        (FOLDER_TOOLS | FILE_TOOLS)[tool](place / "home" / "a" / "b", root)
    outside_is_whole(place)
    assert [path for path in before if not (root / path).exists()] == []
    assert SECRET not in [path.read_bytes() for path in root.rglob("*") if path.is_file()]


@pytest.mark.parametrize("tool", [*FOLDER_TOOLS, *FILE_TOOLS])
def test_links_of_root_are_followed(place: Path, tool: str) -> None:
    """Links that root has made lead where they lead, relative and absolute ones."""
    link(place / "to", "home/a", owner=0)
    link(place / "home" / "a" / "c", place / "home" / "a" / "b" / ".." / "b" / "", owner=0)
    (FOLDER_TOOLS | FILE_TOOLS)[tool](place / "to" / "c", place / "root")


def test_a_loop_of_links_ends(place: Path) -> None:
    """Links of root that form a loop are an error."""
    link(place / "one", "two", owner=0)
    link(place / "two", "one", owner=0)
    with pytest.raises(StagingError, match="symbolic links"):
        copy_tree(place / "one" / "x", place / "root" / "copy")


def test_links_of_processes(place: Path) -> None:
    """Links of /proc lead to the folder that a process has open, also if it has another path by now."""
    with lookup.opened(os.open(place / "root", os.O_RDONLY)) as folder:
        (place / "root").rename(place / "moved")
        copy_tree(f"/proc/self/fd/{folder}", place / "copy")
    assert (place / "copy" / "file").read_text() == "of root"


@pytest.mark.parametrize("name", ["config.json", "file"])
def test_a_file_that_is_a_link(place: Path, name: str) -> None:
    """A link at the end of a path is not followed: a configuration is neither read from there nor written there."""
    path = place / "home" / "a" / "b" / name
    link(path, place / "outside" / "precious")
    with pytest.raises(StagingError, match=f"symbolic link of user id {NOBODY}"):
        oci.read(str(path))
    with pytest.raises(StagingError, match=f"symbolic link of user id {NOBODY}"):
        copy_binds(config((path, "/data")), str(place / "root"))
    write_config(path)
    outside_is_whole(place)
    assert not path.is_symlink()
    assert path.stat().st_mode & 0o7777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def test_no_special_file_is_a_configuration(place: Path) -> None:
    """A FIFO of the user does not make root wait."""
    path = place / "home" / "a" / "b" / "config.json"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(StagingError, match="not a regular file"):
        oci.read(str(path))


def test_links_in_the_temporary_name(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration is written under a name that nobody can guess, and never through a link with that name."""
    path = place / "home" / "a" / "b" / "config.json"
    monkeypatch.setattr(os, "urandom", bytes)
    for name in (f"config.json.{os.getpid()}.new", f".slurmhooks-{bytes(8).hex()}"):
        link(path.with_name(name), place / "outside" / "precious")
    with contextlib.suppress(StagingError):
        write_config(path)
    outside_is_whole(place)


def test_a_racing_user(place: Path) -> None:
    """While the user exchanges a folder for a link, root refuses, or reads and writes only the folder."""
    home = place / "home"
    link(home / "aside", place / "outside")

    def attack(tree: Path, aside: Path) -> None:
        while True:
            exchange(tree, aside)

    tools = {**FOLDER_TOOLS, **{name: tool for name, tool in FILE_TOOLS.items() if name != "remove_tree"}}
    with attacker(attack, home / "a" / "b", home / "aside"):
        for number in range(ROUNDS):
            root = place / f"root{number}"
            root.mkdir(0o700)
            (root / "sub").mkdir()
            (root / "file").write_text("of root")
            with contextlib.suppress(StagingError):
                list(tools.values())[number % len(tools)](home / "a" / "b", root)
            assert SECRET not in [path.read_bytes() for path in root.rglob("*") if path.is_file()]
            remove_tree(root)
    outside_is_whole(place)


def test_an_ordinary_user_follows_links(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is not root follows links of others, as other programs do."""
    link(place / "project", "root")
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    copy_tree(place / "project", place / "new" / "copy")
    assert (place / "new" / "copy" / "file").exists()
