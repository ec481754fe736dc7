# SPDX-License-Identifier: GPL-2.0-or-later
"""Copying and removing trees."""

import contextlib
import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from slurmhooks.log import log
from slurmhooks.scrun import trees
from slurmhooks.scrun.errors import CancelledError, StagingError
from slurmhooks.scrun.trees import copy_file, copy_tree, remove_tree

NAMES = [
    b"plain",
    b"two words",
    b"-rf",
    b"--",
    b"'\"`$(id)",
    b"new\nline",
    b"\xff\xfe bytes",
    b"*",
    b".hidden",
    b"a" * 255,
]

needs_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may")


def snapshot(top: Path) -> dict[bytes, tuple[object, ...]]:
    """Return everything below a folder: kind, mode, time, content."""
    found: dict[bytes, tuple[object, ...]] = {}
    root = os.fsencode(top)
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            content: object = None
            if stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            elif stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            found[os.path.relpath(path, root)] = (status.st_mode, status.st_mtime_ns, content)
    return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A tree with what trees hold."""
    top = tmp_path / "source"
    top.mkdir()
    for name in NAMES:
        folder = os.path.join(os.fsencode(top), name)
        os.mkdir(folder)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(name * 3)
    (top / "empty").mkdir()
    (top / "link").symlink_to("two words/nowhere")
    (top / "absolute").symlink_to("/etc/passwd")
    (top / "loop").symlink_to("loop")
    os.mkfifo(top / "fifo")
    program = top / "program"
    program.write_bytes(b"#!")
    program.chmod(0o4755)
    (top / "read only").mkdir()
    (top / "read only" / "file").write_bytes(b"x")
    (top / "read only" / "file").chmod(0o400)
    os.utime(top / "program", ns=(1, 1_000_000_007))
    os.utime(top / "link", ns=(1, 2_000_000_009), follow_symlinks=False)
    (top / "read only").chmod(0o555)
    os.utime(top / "read only", ns=(1, 3_000_000_001))
    return top


@pytest.mark.parametrize("workers", [1, 4])
def test_everything_is_kept(source: Path, tmp_path: Path, workers: int) -> None:
    """Contents, modes, times, links and the strangest names are the same in the copy."""
    result = copy_tree(source, tmp_path / "copy", workers=workers)
    assert snapshot(tmp_path / "copy") == snapshot(source)
    assert result.skipped == []


def test_again_over_itself(source: Path, tmp_path: Path) -> None:
    """A copy over an older one is the same as a fresh one, with delete=True over other kinds of entries, too."""
    target = tmp_path / "copy"
    (target / "link").mkdir(parents=True)
    (target / "link" / "inside").write_text("in the way")
    (target / "empty").write_text("in the way")
    (target / "program").symlink_to("/etc/passwd")
    before = Path("/etc/passwd").read_bytes()
    copy_tree(source, target, delete=True)
    copy_tree(source, target)
    assert snapshot(target) == snapshot(source)
    assert Path("/etc/passwd").read_bytes() == before


def test_update_and_delete(source: Path, tmp_path: Path) -> None:
    """Only what differs is copied, and what the source lacks is removed."""
    target = tmp_path / "copy"
    copy_tree(source, target)
    (target / "extra").mkdir()
    (target / "extra" / "file").write_text("x")
    (target / "-rf" / "more").write_text("x")
    (source / "program").write_bytes(b"other")
    result = copy_tree(source, target, update=True, delete=True)
    assert snapshot(target) == snapshot(source)
    assert result.removed == 2
    assert result.unchanged >= len(NAMES)
    assert result.files <= 2  # the program, and the FIFO


def test_exclude_holds_for_deleting(source: Path, tmp_path: Path) -> None:
    """Excluded paths are neither copied nor deleted."""
    target = tmp_path / "copy"
    (target / "plain").mkdir(parents=True)
    (target / "plain" / "mine").write_text("x")
    copy_tree(source, target, exclude=["plain", "plain/*", "two*"], delete=True)
    assert (target / "plain" / "mine").exists()
    assert not (target / "plain" / "plain").exists()
    assert not (target / "two words").exists()


def test_hard_links_where_asked_for(source: Path, tmp_path: Path) -> None:
    """With hard_links both names are one file; without, never."""
    copy_tree(source, tmp_path / "linked", hard_links=True)
    copy_tree(source, tmp_path / "linked", hard_links=True)
    copy_tree(source, tmp_path / "copied")
    inode = (source / "program").stat().st_ino
    assert (tmp_path / "linked" / "program").stat().st_ino == inode
    assert (tmp_path / "copied" / "program").stat().st_ino != inode
    assert snapshot(tmp_path / "linked") == snapshot(source)


def test_names_of_one_file_stay_one_file(tmp_path: Path) -> None:
    """Files that are hard links to each other are so in the copy."""
    top = tmp_path / "source"
    (top / "a").mkdir(parents=True)
    (top / "one").write_text("x")
    os.link(top / "one", top / "a" / "two")
    os.link(top / "one", top / "three")
    copy_tree(top, tmp_path / "copy", workers=3)
    inodes = {(tmp_path / "copy" / name).stat().st_ino for name in ("one", "a/two", "three")}
    assert len(inodes) == 1


def test_holes_stay_holes(tmp_path: Path) -> None:
    """A sparse file takes no more room than before."""
    top = tmp_path / "source"
    top.mkdir()
    with open(top / "sparse", "wb") as file:
        file.seek(50 << 20)
        file.write(b"in the middle")
        file.truncate(100 << 20)
    if (top / "sparse").stat().st_blocks * 512 > 10 << 20:
        pytest.skip("this file system has no holes")
    copy_tree(top, tmp_path / "copy")
    copy = tmp_path / "copy" / "sparse"
    assert copy.stat().st_size == 100 << 20
    assert copy.stat().st_blocks * 512 < 10 << 20
    with open(copy, "rb") as file:
        file.seek(50 << 20)
        assert file.read(13) == b"in the middle"


def test_attributes(tmp_path: Path) -> None:
    """Extended attributes are kept where the file system has them."""
    top = tmp_path / "source"
    top.mkdir()
    (top / "file").write_text("x")
    try:
        os.setxattr(top / "file", "user.site", b"\x00\xff")
        os.setxattr(top, "user.site", b"folder")
    except OSError as error:
        pytest.skip(f"no extended attributes here: {error}")
    copy_tree(top, tmp_path / "copy")
    assert os.getxattr(tmp_path / "copy" / "file", "user.site") == b"\x00\xff"
    assert os.getxattr(tmp_path / "copy", "user.site") == b"folder"


def test_without_copy_file_range(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File systems that copy nothing by themselves are copied by hand."""

    def refuse(*args: object) -> int:
        raise OSError(errno.EXDEV, "no")

    monkeypatch.setattr(os, "copy_file_range", refuse)
    (source / "big").write_bytes(os.urandom(3 << 20))
    copy_tree(source, tmp_path / "copy")
    assert snapshot(tmp_path / "copy") == snapshot(source)


def test_cancelled(source: Path, tmp_path: Path) -> None:
    """A cancelled copy ends with its own error, and its threads with it."""
    before = threading.active_count()
    with pytest.raises(CancelledError):
        copy_tree(source, tmp_path / "copy", cancelled=lambda: True, workers=4)
    assert threading.active_count() == before


def test_cancelled_within_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One huge file is no reason to go on."""
    monkeypatch.setattr(trees, "CHUNK", 1 << 16)
    top = tmp_path / "source"
    top.mkdir()
    (top / "big").write_bytes(os.urandom(1 << 20))
    asked = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 3

    with pytest.raises(CancelledError):
        copy_tree(top, tmp_path / "copy", cancelled=cancelled, workers=1)
    assert (tmp_path / "copy" / "big").stat().st_size < 1 << 20


def test_progress(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that takes long says how far it is."""
    monkeypatch.setattr(trees, "REPORT_SECONDS", 0.0)
    lines: list[str] = []
    monkeypatch.setattr(log, "_sink", lambda level, text: lines.append(text))
    copy_tree(source, tmp_path / "copy")
    assert any("copying" in line and "files" in line for line in lines)


def test_errors_name_the_file(tmp_path: Path) -> None:
    """What is wrong is said with its path, quoted, as a refusal."""
    with pytest.raises(StagingError, match=r"nowhere'.*No such file"):
        copy_tree(tmp_path / "nowhere", tmp_path / "copy")
    (tmp_path / "file").write_text("x")
    with pytest.raises(StagingError, match=r"file'.*not a folder"):
        copy_tree(tmp_path / "file", tmp_path / "copy")


def test_disk_full(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk ends the copy and names the file that did not fit."""

    def full(*args: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "copy_file_range", full)
    with pytest.raises(StagingError, match=r"copy/.*: No space left on device"):
        copy_tree(source, tmp_path / "copy")


@as_root
def test_unreadable_as_another_user(tmp_path: Path) -> None:
    """What the user may not read fails the copy, or is left out and named; deleting never touches it."""
    top, target = tmp_path / "source", tmp_path / "copy"
    (top / "shut").mkdir(parents=True)
    (top / "open").write_text("x")
    (top / "secret").write_text("x")
    (top / "secret").chmod(0)
    (top / "shut").chmod(0)
    os.chown(top, 65534, 65534)
    for folder in (tmp_path, *tmp_path.parents):
        with contextlib.suppress(OSError):
            folder.chmod(folder.stat().st_mode | 0o005)
    target.mkdir()
    os.chown(target, 65534, 65534)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            with contextlib.suppress(StagingError):
                copy_tree(top, target)
                os._exit(2)
            result = copy_tree(top, target, unreadable="skip")
            names = sorted(os.path.basename(path) for path in result.skipped)
            back = copy_tree(target, top, update=True, delete=True)
            code = 0 if names == ["secret", "shut"] and back.removed == 0 else 3
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (top / "secret").exists()
    assert (top / "shut").exists()


def test_copy_file(source: Path, tmp_path: Path) -> None:
    """One file, over whatever is there."""
    (tmp_path / "there").symlink_to("/etc/passwd")
    copy_file(source / "program", tmp_path / "there")
    assert (tmp_path / "there").read_bytes() == b"#!"
    assert not (tmp_path / "there").is_symlink()
    with pytest.raises(StagingError, match="nowhere"):
        copy_file(tmp_path / "nowhere", tmp_path / "x")


def test_remove_tree(source: Path, tmp_path: Path) -> None:
    """All goes, links are not followed, folders without permissions are no obstacle, and twice is fine."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    (source / "out").symlink_to(outside)
    remove_tree(source)
    assert not source.exists()
    assert (outside / "file").exists()
    remove_tree(source)
    remove_tree(outside / "file")
    assert not (outside / "file").exists()
