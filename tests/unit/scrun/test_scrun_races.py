# SPDX-License-Identifier: GPL-2.0-or-later
"""A user renames entries and creates links in a tree while root copies or removes it: nothing outside is touched."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slurmhooks.scrun import Staging
from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.trees import copy_tree, remove_tree
from tests.cluster.turns import moved_from
from tests.unit.scrun.attackers import NOBODY, SECRET, attacker, exchange, outside_is_whole, reachable_place

ROUNDS = 6
FOLDERS = 24

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: races of an ordinary user against root need root"),
]


def exchanging(tree: Path, aside: Path) -> None:
    """Exchange folders of the tree with links to the outside, again and again."""
    while True:
        for number in range(FOLDERS):
            exchange(tree / str(number), aside / str(number))


def swapping(tree: Path, aside: Path) -> None:
    """Rename folders away, and put links in their place; then back."""
    while True:
        for number in range(FOLDERS):
            with contextlib.suppress(OSError):
                os.rename(tree / str(number), aside / f"away{number}")
                os.symlink(aside.parent / "outside", tree / str(number))
            with contextlib.suppress(OSError):
                os.unlink(tree / str(number))
                os.rename(aside / f"away{number}", tree / str(number))


def swapping_files(tree: Path, aside: Path) -> None:
    """Exchange files of the tree with links to a file outside."""
    while True:
        for number in range(FOLDERS):
            exchange(tree / str(number) / "file", aside / f"link{number}")


ATTACKS = [exchanging, swapping, swapping_files]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that the attacker can reach."""
    with reachable_place() as top:
        yield top


def build(place: Path) -> tuple[Path, Path]:
    """Create the user's tree again, with links to the outside beside it."""
    tree, aside = place / "tree", place / "aside"
    for top in (tree, aside):
        remove_tree(top)
        top.mkdir()
        os.chown(top, NOBODY, NOBODY)
    for number in range(FOLDERS):
        (tree / str(number) / "sub").mkdir(parents=True)
        (tree / str(number) / "file").write_bytes(b"of the user")
        (tree / str(number) / "sub" / "file").write_bytes(b"of the user")
        for path in (tree / str(number), tree / str(number) / "sub", tree / str(number) / "file"):
            os.chown(path, NOBODY, NOBODY)
        (aside / str(number)).symlink_to(place / "outside")
        (aside / f"link{number}").symlink_to(place / "outside" / "precious")
    return tree, aside


@pytest.mark.parametrize("attack", ATTACKS)
def test_removing(place: Path, attack: Callable[[Path, Path], None]) -> None:
    """remove_tree does not follow links that replace folders meanwhile."""
    for _ in range(ROUNDS):
        tree, aside = build(place)
        with attacker(attack, tree, aside), contextlib.suppress(StagingError):
            remove_tree(tree)
        outside_is_whole(place)


@pytest.mark.parametrize("attack", ATTACKS)
def test_copying_from(place: Path, attack: Callable[[Path, Path], None]) -> None:
    """A copy that root makes of a user's tree never contains files that only root may read."""
    copy = place / "copy"
    for number in range(ROUNDS):
        tree, aside = build(place)
        with attacker(attack, tree, aside), contextlib.suppress(StagingError):
            copy_tree(tree, copy, workers=1 + number % 3)
        for folder, _, files in os.walk(copy):
            for name in files:
                path = os.path.join(folder, name)
                assert os.path.islink(path) or Path(path).read_bytes() != SECRET, f"{path} was read from outside"
        remove_tree(copy)
        outside_is_whole(place)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("delete", moved_from(1, [False, True]))
def test_copying_into(place: Path, attack: Callable[[Path, Path], None], delete: bool) -> None:
    """When root fills a user's tree and deletes extra entries, nothing outside of the tree is made or removed."""
    source = place / "source"
    for number in range(FOLDERS):
        (source / str(number)).mkdir(parents=True)
        (source / str(number) / "file").write_bytes(b"of root")
        (source / str(number) / "link").symlink_to("/nowhere")
        os.mkfifo(source / str(number) / "fifo")
    for _ in range(ROUNDS // 2):
        tree, aside = build(place)
        with attacker(attack, tree, aside), contextlib.suppress(StagingError):
            copy_tree(source, tree, delete=delete)
        outside_is_whole(place)


def test_staging_removes_only_its_own(place: Path) -> None:
    """A folder that replaced the new one stays, and a link is not followed."""
    tree, aside = build(place)
    for change in ("folder", "link"):

        def fail(change: str = change) -> None:
            with Staging(str(tree / "made")) as made:
                os.rename(made, aside / f"made {change}")
                if change == "link":
                    os.symlink(place / "outside", made)
                else:
                    os.rename(tree / "0", made)
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        assert os.path.lexists(tree / "made")
        outside_is_whole(place)
        if change == "folder":
            assert (tree / "made" / "file").exists()
            os.rename(tree / "made", tree / "0")


def swap_at_open(monkeypatch: pytest.MonkeyPatch, entry: Path, goal: Path) -> None:
    """Put a link in the place of an entry just before it is opened in its folder, as the fastest attacker would."""
    real = os.open

    def swapping_open(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == entry.name and dir_fd is not None and os.path.samestat(os.fstat(dir_fd), entry.parent.stat()):
            exchange(entry, goal)
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping_open)


@pytest.mark.parametrize("tool", ["remove", "copy from", "copy into"])
def test_a_folder_becomes_a_link(place: Path, monkeypatch: pytest.MonkeyPatch, tool: str) -> None:
    """A link that replaces a folder between its check and its opening is not followed."""
    tree, aside = build(place)
    before = (place / "outside").stat()
    swap_at_open(monkeypatch, tree / "0", aside / "0")
    (place / "source" / "0").mkdir(parents=True)
    (place / "source" / "0" / "new").write_bytes(b"of root")
    tools: dict[str, Callable[[], object]] = {
        "remove": lambda: remove_tree(tree),
        "copy from": lambda: copy_tree(tree, place / "copy", workers=1),
        "copy into": lambda: copy_tree(place / "source", tree, workers=1),
    }
    with pytest.raises(StagingError):
        tools[tool]()
    monkeypatch.undo()
    assert not os.path.lexists(place / "copy" / "0" / "precious")
    assert (place / "outside").stat().st_mtime_ns == before.st_mtime_ns
    outside_is_whole(place)


def test_a_file_becomes_a_link(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds for a file that is copied."""
    tree, aside = build(place)
    swap_at_open(monkeypatch, tree / "0" / "file", aside / "link0")
    with pytest.raises(StagingError, match="0/file"):
        copy_tree(tree, place / "copy", workers=1)
    monkeypatch.undo()
    assert not os.path.lexists(place / "copy" / "0" / "file")


def test_a_new_fifo_becomes_a_link(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds for a new entry that gets its owner and mode."""
    tree, aside = build(place)
    source, fifo = place / "source", place / "fifo"
    (source / "0").mkdir(parents=True)
    os.mkfifo(source / "0" / "fifo", 0o644)
    os.chown(source / "0" / "fifo", NOBODY, NOBODY)
    os.mkfifo(fifo, 0o600)
    (aside / "fifo").symlink_to(fifo)
    swap_at_open(monkeypatch, tree / "0" / "fifo", aside / "fifo")
    with pytest.raises(StagingError, match="0/fifo"):
        copy_tree(source, tree, workers=1)
    monkeypatch.undo()
    status = fifo.stat()
    assert (status.st_uid, status.st_mode & 0o777) == (0, 0o600)


def test_a_folder_moved_away_while_it_is_removed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk ends if a folder has been moved out of the tree: its new parent is not touched."""
    tree, hold = place / "tree", place / "outside" / "hold"
    names = ["a", "b", "c"]
    for top in (tree, hold):
        for name in names:
            (top / name).mkdir(parents=True)
            (top / name / "file").write_bytes(SECRET)
    moved: list[str] = []
    real = os.unlink

    def unlink(path: str, *, dir_fd: int) -> None:
        real(path, dir_fd=dir_fd)
        if not moved:
            moved.append(Path(os.readlink(f"/proc/self/fd/{dir_fd}")).name)
            os.rename(tree / moved[0], hold / "moved")

    monkeypatch.setattr(os, "unlink", unlink)
    with pytest.raises(StagingError, match="moved by another process meanwhile"):
        remove_tree(tree)
    monkeypatch.undo()
    assert sorted(os.listdir(hold)) == [*names, "moved"]
    assert all((hold / name / "file").read_bytes() == SECRET for name in names)
    remove_tree(hold)
    outside_is_whole(place)
