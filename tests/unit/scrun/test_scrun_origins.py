# SPDX-License-Identifier: GPL-2.0-or-later
"""return_binds writes only where copy_binds has read, whatever a user has renamed or linked in between."""

import contextlib
import copy
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slurmhooks import scrun
from slurmhooks.scrun.errors import StagingError
from tests.unit.scrun.attackers import NOBODY, attacker, exchange, outside_is_whole, reachable_place
from tests.unit.scrun.test_scrun_binds import config

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: links of users against root need root")

ROUNDS = 60


@pytest.fixture
def place() -> Iterator[Path]:
    """The user's folder ``home/p/data``, a file in it, and a root file system of root."""
    with reachable_place() as top:
        (top / "home" / "p" / "data" / "sub").mkdir(parents=True)
        (top / "home" / "p" / "data" / "sub" / "file").write_text("of the user")
        (top / "home" / "p" / "data" / "file").write_text("of the user")
        for folder, folders, files in os.walk(top / "home"):
            for name in (".", *folders, *files):
                os.chown(os.path.join(folder, name), NOBODY, NOBODY)
        (top / "rootfs").mkdir()
        yield top


def copied(rootfs: Path) -> Path:
    """Return the path of the copy of the only bind mount."""
    return rootfs.with_name(f"{rootfs.name}.binds") / "0"


def again(binds: list[scrun.Bind]) -> list[scrun.Bind]:
    """Return binds as another process reads them from a file."""
    names = ("source", "destination", "read_only", "copied_at", "inodes", "host", "copy", "place")
    rows = json.dumps([[getattr(bind, name) for name in names] for bind in binds])
    return [scrun.Bind(*row) for row in json.loads(rows)]


def by_link(path: Path, goal: Path | str) -> None:
    """Replace an entry by a link of the user."""
    path.rename(path.parent / f"{path.name} aside")
    path.symlink_to(goal)
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def by_new_folder(place: Path) -> None:
    """Replace the folder by another one of the user."""
    data = place / "home" / "p" / "data"
    data.rename(place / "home" / "data aside")
    data.mkdir()
    (data / "file").write_text("of another folder")


SWAPS: dict[str, Callable[[Path], object]] = {
    "data": lambda place: by_link(place / "home" / "p" / "data", place / "outside"),
    "data, by dots": lambda place: by_link(place / "home" / "p" / "data", "../../outside"),
    "p": lambda place: by_link(place / "home" / "p", place),
    "another folder": by_new_folder,
    "home": lambda place: (place / "home").rename(place / "elsewhere"),
    "moved": lambda place: (place / "home" / "p" / "data").rename(place / "home" / "p" / "moved"),
}


@pytest.mark.parametrize("process", ["same", "other"])
@pytest.mark.parametrize("what", ["", "file"])
@pytest.mark.parametrize("swap", SWAPS)
def test_the_path_leads_elsewhere(place: Path, swap: str, what: str, process: str) -> None:
    """The process that copied writes to the folder that it copied, like a mount; another process refuses."""
    source = place / "home" / "p" / "data"
    rootfs = place / "rootfs"
    binds = scrun.copy_binds(config((source / what, "/data")), str(rootfs))
    (place / "data").symlink_to("outside")
    with kept_open(source) as folder:
        SWAPS[swap](place)
        changed = copied(rootfs) / ("" if what else "file")
        changed.write_text("of the container")
        (copied(rootfs) if what else copied(rootfs) / "sub" / "new").write_text("of the container")
        if process == "same":
            scrun.return_binds(binds, str(rootfs))
            assert Path(f"/proc/self/fd/{folder}/file").read_text() == "of the container"
        else:
            with pytest.raises(StagingError, match=r"data(/file)?'.*(another folder|symbolic link|No such file)"):
                scrun.return_binds(again(binds), str(rootfs))
            assert Path(f"/proc/self/fd/{folder}/file").read_text() == "of the user"
    outside_is_whole(place)
    if swap == "another folder":
        assert (source / "file").read_text() == "of another folder"


@contextlib.contextmanager
def kept_open(path: Path) -> Iterator[int]:
    """Keep a folder open while it is renamed."""
    folder = os.open(path, os.O_RDONLY)
    try:
        yield folder
    finally:
        os.close(folder)


@pytest.mark.parametrize("by", ["link", "fifo", "folder"])
def test_the_file_became_something_else(place: Path, by: str) -> None:
    """A file that is a link, a FIFO or a folder by now is not replaced, and nothing is written through it."""
    file = place / "home" / "p" / "data" / "file"
    binds = scrun.copy_binds(config((file, "/data")), str(place / "rootfs"))
    copied(place / "rootfs").write_text("of the container")
    file.unlink()
    if by == "link":
        file.symlink_to(place / "outside" / "precious")
    elif by == "fifo":
        os.mkfifo(file)
    else:
        file.mkdir()
    with pytest.raises(StagingError, match=r"rootfs.binds/0'"):
        scrun.return_binds(binds, str(place / "rootfs"))
    outside_is_whole(place)


@pytest.mark.parametrize("process", ["same", "other"])
@pytest.mark.parametrize("what", ["", "file"])
def test_a_folder_that_is_gone(place: Path, what: str, process: str) -> None:
    """A removed folder is not made again, not even if the path has a new one; the text says where the files are."""
    source, rootfs = place / "home" / "p" / "data", place / "rootfs"
    binds = scrun.copy_binds(config((source / what, "/data")), str(rootfs))
    (copied(rootfs) / ("" if what else "file")).write_text("of the container")
    scrun.remove_tree(source)
    for made in (False, True):
        if made:
            (source.parent / "first").mkdir()  # takes the inode number, if the file system uses it again
            source.mkdir()
        with pytest.raises(StagingError, match="data"):
            scrun.return_binds(binds if process == "same" else again(binds), str(rootfs))
        assert not made or os.listdir(source) == []


def test_a_file_that_is_gone_comes_back(place: Path) -> None:
    """A file that the host removed and the container changed is made again in its folder, by each process."""
    file = place / "home" / "p" / "data" / "file"
    for change in (list, again):
        binds = scrun.copy_binds(config((file, "/data")), str(place / "rootfs"))
        copied(place / "rootfs").with_name(binds[0].copy or "").write_text("of the container")
        file.unlink()
        scrun.return_binds(change(binds), str(place / "rootfs"))
        assert file.read_text() == "of the container"


def test_nobody_knows_the_folder(place: Path) -> None:
    """Without the identity of the source or the copy nothing is returned, and the text says what to store."""
    rootfs = place / "rootfs"
    binds = scrun.copy_binds(config((place / "home" / "p" / "data", "/data")), str(rootfs))
    (copied(rootfs) / "new").write_text("x")
    for name in ("host", "copy"):
        old = again(binds)
        setattr(old[0], name, None)
        with pytest.raises(StagingError, match=f"store all their attributes, with '{name}'"):
            scrun.return_binds(old, str(rootfs))
    assert not (place / "home" / "p" / "data" / "new").exists()


def test_a_user_replaces_the_copy(place: Path) -> None:
    """Whoever can write to the root file system does not become the owner of the host's folder, as with a mount."""
    etc, rootfs = place / "etc", place / "rootfs"
    etc.mkdir(0o750)
    binds = scrun.copy_binds(config((etc, "/etc")), str(rootfs))
    copied(rootfs).rename(copied(rootfs).with_name("aside"))
    copied(rootfs).mkdir(0o777)
    os.chown(copied(rootfs), NOBODY, NOBODY)
    scrun.return_binds(binds, str(rootfs))
    status = etc.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (0, 0, 0o750)


def roots(folder: Path) -> None:
    """Make a folder of root with a file, which nobody else can enter."""
    folder.mkdir(0o700)
    (folder / "file").write_text("of root")


def as_user(act: Callable[[], object]) -> None:
    """Do something with the rights of the user."""
    os.seteuid(NOBODY)
    try:
        act()
    finally:
        os.seteuid(0)


def instead(folder: Path) -> Callable[[], object]:
    """Return what puts an open folder of the user in the place of one."""

    def exchanged() -> None:
        folder.rename(folder.with_name("aside"))
        folder.mkdir(0o777)

    return exchanged


def turned(one: Path, other: Path) -> Callable[[], object]:
    """Return what puts one folder in the place of another one."""
    return lambda: (one.rename(one.with_name("aside")), other.rename(one))


@pytest.mark.parametrize("where", ["in the container", "on the host", "in the target of a copy"])
def test_a_user_exchanges_folders_of_root(place: Path, where: str) -> None:
    """A folder of root in a folder of the user keeps its owner and mode, whatever the user puts in which place."""
    data, rootfs = place / "home" / "p" / "data", place / "rootfs"
    roots(data / "root's")
    if where == "in the target of a copy":
        as_user(turned(data / "sub", data / "root's"))
        kept, source = data / "sub", place / "source"
        (source / "sub").mkdir(parents=True)
        os.chown(source / "sub", NOBODY, NOBODY)
        scrun.copy_tree(source, data)
    else:
        binds = scrun.copy_binds(config((data, "/data")), str(rootfs))
        if where == "in the container":
            copied(rootfs).parent.chmod(0o755)  # a container is always in there
            as_user(instead(copied(rootfs) / "root's"))
            kept = data / "root's"
        else:
            as_user(turned(data / "sub", data / "root's"))
            kept = data / "sub"
        scrun.return_binds(binds, str(rootfs))
    status = kept.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (0, 0, 0o700)
    assert (kept / "file").read_text() in ("of root", "of the user")


def test_a_user_keeps_what_is_the_users(place: Path) -> None:
    """Folders of the user, and new ones, get the owner and mode that they have in the container."""
    data, rootfs = place / "home" / "p" / "data", place / "rootfs"
    binds = scrun.copy_binds(config((data, "/data")), str(rootfs))
    (copied(rootfs) / "new" / "below").mkdir(0o750, parents=True)
    os.chown(copied(rootfs) / "new" / "below", NOBODY, NOBODY)
    (copied(rootfs) / "sub").chmod(0o711)
    scrun.return_binds(binds, str(rootfs))
    assert (data / "sub").stat().st_mode & 0o7777 == 0o711
    assert ((data / "new").stat().st_uid, (data / "new" / "below").stat().st_uid) == (0, NOBODY)
    assert (data / "new" / "below").stat().st_mode & 0o7777 == 0o750


@pytest.mark.parametrize("by", ["the user", "root"])
def test_a_user_replaces_the_copy_of_a_file(place: Path, by: str) -> None:
    """A file that was mounted gets the content of the container, and is given to nobody, also not by an access list."""
    hosts, replaces = place / "hosts", copied(place / "rootfs")
    hosts.write_text("of root")
    hosts.chmod(0o640)
    binds = scrun.copy_binds(config((hosts, "/home/hosts")), str(place / "rootfs"))
    os.chown(replaces.parent, NOBODY, NOBODY)

    def replaced() -> None:
        replaces.unlink()
        replaces.write_text("of the container")
        replaces.chmod(0o666)
        os.setxattr(replaces, "user.from", b"container")

    if by == "the user":
        as_user(replaced)
    else:
        replaces.write_text("of the container")
        os.chown(replaces, NOBODY, NOBODY)
    scrun.return_binds(binds, str(place / "rootfs"))
    assert hosts.read_text() == "of the container"
    status = hosts.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (0, 0, 0o640)
    assert os.listxattr(hosts) == []


def test_sources_are_closed(place: Path) -> None:
    """A source is open as long as its bind exists, also if this was copied."""
    before = len(os.listdir("/proc/self/fd"))
    made = config((place / "home", "/data"), (place / "home" / "p" / "data" / "file", "/f"))
    binds = scrun.copy_binds(made, str(place / "rootfs"))
    copies = copy.copy(binds[0])
    assert len(os.listdir("/proc/self/fd")) == before + 2
    del binds
    assert copies.origin is not None
    assert os.fstat(copies.origin.folder).st_nlink
    del copies
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("what", ["", "file"])
def test_a_racing_user(place: Path, what: str) -> None:
    """While the user exchanges folders, files and links, root copies and returns only what is the user's."""
    home, rootfs = place / "home", place / "rootfs"
    data = home / "p" / "data"
    for name, goal in (("link", place / "outside"), ("p link", place), ("file link", place / "outside" / "file")):
        (home / name).symlink_to(goal)
        os.chown(home / name, NOBODY, NOBODY, follow_symlinks=False)
    (place / "data").symlink_to("outside")
    os.chown(place / "data", NOBODY, NOBODY, follow_symlinks=False)

    def attack(tree: Path, aside: Path) -> None:
        chance = random.Random(7)
        while True:
            one, other = chance.choice([(tree, "link"), (tree.parent, "p link"), (tree / "file", "file link")])
            exchange(one, aside / other)

    with attacker(attack, data, home):
        for number in range(ROUNDS):
            with contextlib.suppress(StagingError):
                binds = scrun.copy_binds(config((data / what, "/data")), str(rootfs))
                target = copied(rootfs) if what else copied(rootfs) / "file"
                with contextlib.suppress(OSError):
                    target.unlink()  # it may be a copied link
                    target.write_text(f"of the container {number}")
                scrun.return_binds(binds if number % 2 else again(binds), str(rootfs))
            scrun.remove_tree(copied(rootfs).parent)
    outside_is_whole(place)
