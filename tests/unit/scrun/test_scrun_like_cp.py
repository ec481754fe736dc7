# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies and removals compared with ``cp -a`` and ``rm -r --one-file-system``."""

import contextlib
import os
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.folders import parent_of
from slurmhooks.scrun.trees import copy_tree, remove_tree

NOBODY = 65534
NAMES = [b"plain", b"two words", b"-rf", b"'\"`$(id)", b"new\nline", b"\xff\xfe", b"*", b"\\", b".hidden", b"a" * 255]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may")


def facts(top: Path) -> dict[bytes, tuple[object, ...]]:
    """Return everything that a copy must keep, including the top folder; hard links refer to the first name."""
    found: dict[bytes, tuple[object, ...]] = {}
    firsts: dict[int, bytes] = {}
    root = os.fsencode(top)
    paths = [root]
    for folder, folders, files in os.walk(root):
        paths += [os.path.join(folder, name) for name in (*folders, *files)]
    for path in sorted(paths):
        status = os.lstat(path)
        kind = stat.S_IFMT(status.st_mode)
        name = os.path.relpath(path, root)
        content: object = None
        if kind == stat.S_IFREG:
            content = Path(os.fsdecode(path)).read_bytes()
        elif kind == stat.S_IFLNK:
            content = os.readlink(path)
        attributes = {}
        with contextlib.suppress(OSError):
            for attribute in os.listxattr(path, follow_symlinks=False):
                attributes[attribute] = os.getxattr(path, attribute, follow_symlinks=False)
        found[name] = (
            *(status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, status.st_rdev),
            *(content, attributes, status.st_size if kind != stat.S_IFDIR else 0),
            firsts.setdefault(status.st_ino, name) if kind != stat.S_IFDIR else b"",
            status.st_blocks * 512 < status.st_size,
        )
    return found


@pytest.fixture
def nasty(tmp_path: Path) -> Iterator[Path]:
    """A tree with every kind of entry."""
    top = tmp_path / "nasty"
    top.mkdir()
    for name in NAMES:
        folder = os.path.join(os.fsencode(top), name)
        os.mkdir(folder)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(name * 3)
    (top / "empty").mkdir()
    (top / "nothing").touch()
    with open(top / "sparse", "wb") as file:
        file.seek(3 << 20)
        file.write(b"middle")
        file.truncate(9 << 20)
    os.mkfifo(top / "fifo", 0o642)
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(top, os.O_RDONLY)
        made.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
    (top / "dangling").symlink_to("no/where")
    (top / "to folder").symlink_to("empty")
    (top / "to root").symlink_to("/")
    (top / "loop").symlink_to("loop")
    os.link(top / "plain" / "plain", top / "-rf" / "other name")
    os.link(top / "plain" / "plain", top / "third")
    os.link(top / "fifo", top / "fifo too")
    os.link(top / "dangling", top / "dangling too")
    for mode in (0o4755, 0o2755, 0o1644, 0o6755):
        (top / f"mode {mode:o}").write_text("#!")
    (top / "shared").mkdir()
    (top / "attributes").write_text("x")
    with contextlib.suppress(OSError):
        os.setxattr(top / "attributes", "user.site", b"\x00\xff")
        os.setxattr(top / "shared", "user.site", b"folder")
    if os.geteuid() == 0:
        os.mknod(top / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mknod(top / "disk", stat.S_IFBLK | 0o640, os.makedev(7, 99))
        os.chown(top / "shared", NOBODY, 7)
        os.chown(top / "mode 4755", NOBODY, NOBODY)
        os.chown(top / "dangling", 5, 6, follow_symlinks=False)
    for mode in (0o4755, 0o2755, 0o1644, 0o6755):
        (top / f"mode {mode:o}").chmod(mode)
    (top / "attributes").chmod(0o444)
    (top / "shared").chmod(0o3777)
    (top / "two words").chmod(0o555)
    for number, entry in enumerate(sorted(os.listdir(top))):
        os.utime(top / entry, ns=(number, 10**18 + number), follow_symlinks=False)
    yield top
    remove_tree(top)


def as_nobody(work: Callable[[], object]) -> None:
    """Run code as an ordinary user in a second process."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            work()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def cp(source: Path, target: Path) -> None:
    """Copy with cp."""
    subprocess.run(["cp", "-a", "--", f"{source}/.", target], check=True)


@pytest.mark.parametrize("workers", [1, 4])
def test_like_cp(nasty: Path, tmp_path: Path, workers: int) -> None:
    """A copy equals that of cp -a, the first time and over an older copy."""
    cp(nasty, tmp_path / "by cp")
    expected = facts(tmp_path / "by cp")
    for _ in range(2):
        copy_tree(nasty, tmp_path / "copy", workers=workers)
        assert facts(tmp_path / "copy") == expected


@as_root
def test_like_cp_for_an_ordinary_user(nasty: Path, public_path: Path) -> None:
    """For an ordinary user, owners, setuid bits and devices are copied as by cp -a."""
    for name in ("null", "disk"):
        (nasty / name).unlink()
    work = public_path / "work"
    work.mkdir()
    os.chown(work, NOBODY, NOBODY)
    as_nobody(lambda: cp(nasty, work / "by cp"))
    as_nobody(lambda: copy_tree(nasty, work / "copy"))
    (work / "by cp" / "shared").chmod(0o777)  # which bits a folder keeps depends on how cp made it
    assert facts(work / "copy") == facts(work / "by cp")
    assert (work / "copy" / "mode 4755").stat().st_mode & 0o7777 == 0o4755  # the owner is the user who copies
    assert (work / "copy" / "mode 6755").stat().st_mode & 0o7777 == 0o755


names = st.binary(min_size=1, max_size=12).filter(lambda name: b"/" not in name and b"\0" not in name)
leaves = st.one_of(
    st.binary(max_size=9), st.builds(lambda goal: ("link", b"../nowhere/" + goal), names), st.just(("fifo", b""))
)
generated = st.recursive(
    st.dictionaries(names.filter(lambda name: name not in (b".", b"..")), leaves, max_size=4),
    lambda inner: st.dictionaries(names.filter(lambda name: name not in (b".", b"..")), inner | leaves, max_size=4),
    max_leaves=12,
)


def build(top: bytes, tree: object) -> None:
    """Make a generated tree."""
    if isinstance(tree, dict):
        os.mkdir(top)
        for name, inner in tree.items():
            build(os.path.join(top, name), inner)
    elif isinstance(tree, bytes):
        Path(os.fsdecode(top)).write_bytes(tree)
    elif tree[0] == "link":  # type: ignore[index]
        os.symlink(tree[1], top)  # type: ignore[index]
    else:
        os.mkfifo(top)
    os.utime(top, (1, 1), follow_symlinks=False)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(tree=generated, old=generated)
def test_like_cp_on_any_tree(tmp_path: Path, tree: dict[bytes, object], old: dict[bytes, object]) -> None:
    """If cp -a copies one tree over another, copy_tree has the same result; if cp refuses, copy_tree refuses too."""
    source, by_cp, copy = tmp_path / "source", tmp_path / "by cp", tmp_path / "copy"
    try:
        build(os.fsencode(source), tree)
        build(os.fsencode(by_cp), old)
        build(os.fsencode(copy), old)
        # Without --remove-destination cp writes through links in the target.
        command = ["cp", "-a", "--remove-destination", "--", f"{source}/.", str(by_cp)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode == 0:
            copy_tree(source, copy)
            assert facts(copy) == facts(by_cp)
        else:
            with pytest.raises(StagingError, match="only delete=True"):
                copy_tree(source, copy)
        copy_tree(source, copy, delete=True)
        assert facts(copy) == facts(source)
    finally:
        for top in (source, by_cp, copy):
            remove_tree(top)


def rm(path: Path) -> None:
    """Remove with rm."""
    subprocess.run(["rm", "-r", "-f", "--one-file-system", "--", path], capture_output=True, check=False)


def test_like_rm(nasty: Path, tmp_path: Path) -> None:
    """Entries with any name and of any kind are removed, but no target of a link."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    (nasty / "out").symlink_to(outside)
    remove_tree(nasty)
    assert not os.path.lexists(nasty)
    assert (outside / "file").exists()


@as_root
@pytest.mark.parametrize("remove", [rm, remove_tree])
def test_mounts_stay(tmp_path: Path, remove: Callable[[Path], None]) -> None:
    """Mounts in a tree stay, even bind mounts, and everything else is removed."""
    tree, bound = tmp_path / "tree", tmp_path / "bound"
    for folder in (tree / "other", tree / "a", tree / "z", bound):
        folder.mkdir(parents=True)
    (bound / "precious").write_text("x")
    mounts = [(["-t", "tmpfs", "none"], tree / "other")]
    if remove is remove_tree:
        (tree / "bind").mkdir()
        mounts.append((["--bind", str(bound)], tree / "bind"))
    done = []
    try:
        for words, where in mounts:
            if subprocess.run(["mount", *words, where], capture_output=True, check=False).returncode:
                pytest.skip("nothing can be mounted here")
            done.append(where)
        (tree / "other" / "file").write_text("x")
        with (
            pytest.raises(StagingError, match="another file system is mounted here")
            if remove is remove_tree
            else (contextlib.nullcontext())
        ):
            remove(tree)
        assert sorted(os.listdir(tree)) == sorted(path.name for path in done)
        assert (tree / "other" / "file").exists()
        assert (bound / "precious").exists()
    finally:
        for where in done:
            subprocess.run(["umount", where], check=True)


def test_the_root_folder_has_no_name() -> None:
    """The function that opens the parent of an entry to remove refuses "/"; it only opens, so the test is safe."""
    with pytest.raises(StagingError, match="last component"), parent_of("/"):
        pass


@pytest.mark.parametrize("path", ["link/", ".", "..", "tree/.", "tree/..", "", "file/x"])
def test_paths_that_rm_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """A link with a trailing slash, and a path without a last component, are errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "inside").touch()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("tree")
    with pytest.raises(StagingError):
        remove_tree(path)
    assert (tmp_path / "tree" / "inside").exists()
    assert sorted(os.listdir(tmp_path)) == ["file", "link", "tree"]
    remove_tree("tree/")
    assert not (tmp_path / "tree").exists()
    remove_tree("no/such/folder")
