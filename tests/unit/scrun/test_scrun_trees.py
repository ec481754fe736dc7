# SPDX-License-Identifier: GPL-2.0-or-later
"""Copying and removing trees."""

import contextlib
import errno
import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from slurmhooks.log import log
from slurmhooks.scrun import contents, tree_copy
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
    """A tree with files, folders and links."""
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
    """Contents, modes, times, links and names are the same in the copy."""
    result = copy_tree(source, tmp_path / "copy", workers=workers)
    assert snapshot(tmp_path / "copy") == snapshot(source)
    assert result.skipped == []


def test_again_over_itself(source: Path, tmp_path: Path) -> None:
    """A copy over an older one equals a fresh one; with delete=True also over entries of other kinds."""
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
    """Only files that differ are copied, and extra entries are removed."""
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
    """With hard_links, original and copy are one file; without it, never."""
    copy_tree(source, tmp_path / "linked", hard_links=True)
    copy_tree(source, tmp_path / "linked", hard_links=True)
    copy_tree(source, tmp_path / "copied")
    inode = (source / "program").stat().st_ino
    assert (tmp_path / "linked" / "program").stat().st_ino == inode
    assert (tmp_path / "copied" / "program").stat().st_ino != inode
    assert snapshot(tmp_path / "linked") == snapshot(source)


def test_names_of_one_file_stay_one_file(tmp_path: Path) -> None:
    """Files that are hard links to each other are also hard links in the copy."""
    top = tmp_path / "source"
    (top / "a").mkdir(parents=True)
    (top / "one").write_text("x")
    os.link(top / "one", top / "a" / "two")
    os.link(top / "one", top / "three")
    copy_tree(top, tmp_path / "copy", workers=3)
    inodes = {(tmp_path / "copy" / name).stat().st_ino for name in ("one", "a/two", "three")}
    assert len(inodes) == 1


def test_holes_stay_holes(tmp_path: Path) -> None:
    """The copy of a sparse file is sparse."""
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
    """Extended attributes are copied if the file system supports them."""
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
    """Files are also copied on file systems without copy_file_range."""

    def refuse(*args: object) -> int:
        raise OSError(errno.EXDEV, "no")

    monkeypatch.setattr(os, "copy_file_range", refuse)
    (source / "big").write_bytes(os.urandom(3 << 20))
    copy_tree(source, tmp_path / "copy")
    assert snapshot(tmp_path / "copy") == snapshot(source)


def test_cancelled(source: Path, tmp_path: Path) -> None:
    """A cancelled copy raises CancelledError and ends its threads."""
    before = threading.active_count()
    with pytest.raises(CancelledError):
        copy_tree(source, tmp_path / "copy", cancelled=lambda: True, workers=4)
    assert threading.active_count() == before


def test_cancelled_within_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy can be cancelled within a large file."""
    monkeypatch.setattr(tree_copy, "CHUNK", 1 << 16)
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
    """A long copy logs its progress."""
    monkeypatch.setattr(tree_copy, "REPORT_SECONDS", 0.0)
    lines: list[str] = []
    monkeypatch.setattr(log, "_sink", lambda level, text: lines.append(text))
    copy_tree(source, tmp_path / "copy")
    assert any("copying" in line and "files" in line for line in lines)


def test_errors_name_the_file(tmp_path: Path) -> None:
    """An error is a refusal that names the path, quoted."""
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
def test_unreadable_as_another_user(public_path: Path) -> None:
    """A file that the user may not read fails the copy, or is skipped and reported; it is never deleted."""
    top, target = public_path / "source", public_path / "copy"
    (top / "shut").mkdir(parents=True)
    (top / "open").write_text("x")
    (top / "secret").write_text("x")
    (top / "secret").chmod(0)
    (top / "shut").chmod(0)
    os.chown(top, 65534, 65534)
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
    """copy_file copies one file, over a file or link."""
    (tmp_path / "there").symlink_to("/etc/passwd")
    copy_file(source / "program", tmp_path / "there")
    assert (tmp_path / "there").read_bytes() == b"#!"
    assert not (tmp_path / "there").is_symlink()
    with pytest.raises(StagingError, match="nowhere"):
        copy_file(tmp_path / "nowhere", tmp_path / "x")


def test_copy_file_keeps_what_it_does_not_replace(tmp_path: Path) -> None:
    """After an error the target is unchanged."""
    one, other, folder = tmp_path / "one", tmp_path / "other", tmp_path / "folder"
    one.write_text("one")
    other.write_text("other")
    folder.mkdir()
    (folder / "inside").write_text("x")
    os.mkfifo(tmp_path / "fifo")
    os.link(one, tmp_path / "same")
    with pytest.raises(StagingError, match=r"nowhere'.*No such file"):
        copy_file(tmp_path / "nowhere", other)
    for same in (one, tmp_path / "same", tmp_path / "folder" / ".." / "one"):
        with pytest.raises(StagingError, match="same file"):
            copy_file(one, same)
    with pytest.raises(StagingError, match=r"folder'.*a folder, which is not replaced by the file .*one'"):
        copy_file(one, folder)
    with pytest.raises(StagingError, match=r"fifo'.*not a regular file"):
        copy_file(tmp_path / "fifo", other)
    with pytest.raises(StagingError, match="last component"):
        copy_file(one, f"{tmp_path}/new/")
    with pytest.raises(CancelledError):
        copy_file_in_pieces(one, other)
    assert (one.read_text(), other.read_text()) == ("one", "other")
    assert (folder / "inside").exists()
    assert sorted(os.listdir(tmp_path)) == ["fifo", "folder", "one", "other", "same"]


def copy_file_in_pieces(source: Path, target: Path) -> None:
    """Cancel a copy after its first byte."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "_copy_content", lambda *args: args[-1](1))
        copy_file(source, target, cancelled=lambda: True)


def test_copy_file_follows_a_link_to_its_source(tmp_path: Path) -> None:
    """The target of a symbolic link is copied."""
    (tmp_path / "file").write_text("zone")
    (tmp_path / "localtime").symlink_to("file")
    copy_file(tmp_path / "localtime", tmp_path / "copy")
    assert not (tmp_path / "copy").is_symlink()
    assert (tmp_path / "copy").read_text() == "zone"


@pytest.mark.parametrize("place", ["", "sub", "sub/new/er", "link"])
def test_a_folder_is_not_copied_into_itself(tmp_path: Path, place: str) -> None:
    """A target that is the source or below it is refused before anything is made, also through a link."""
    top = tmp_path / "tree"
    (top / "sub").mkdir(parents=True)
    (top / "file").write_text("x")
    (tmp_path / "beside").symlink_to(top / "sub")
    target = tmp_path / "beside" if place == "link" else top / place
    before = snapshot(top)
    with pytest.raises(StagingError, match="not copied into itself"):
        copy_tree(top, target)
    assert snapshot(top) == before


@as_root
def test_a_folder_is_not_copied_into_a_mount_of_itself(tmp_path: Path) -> None:
    """A target that is below the source through a bind mount is also refused."""
    top, mount = tmp_path / "tree", tmp_path / "mount"
    (top / "sub" / "target").mkdir(parents=True)
    mount.mkdir()
    if subprocess.run(["mount", "--bind", top / "sub", mount], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        with pytest.raises(StagingError, match="not copied into itself"):
            copy_tree(top, mount / "target")
    finally:
        subprocess.run(["umount", mount], check=True)


def test_deleting_the_source_is_refused(tmp_path: Path) -> None:
    """With delete=True a folder is not copied into a folder above it; without, it is."""
    (tmp_path / "top" / "sub").mkdir(parents=True)
    (tmp_path / "top" / "sub" / "file").write_text("x")
    with pytest.raises(StagingError, match="delete=True would remove it"):
        copy_tree(tmp_path / "top" / "sub", tmp_path / "top", delete=True)
    copy_tree(tmp_path / "top" / "sub", tmp_path / "top")
    assert (tmp_path / "top" / "file").exists()
    assert (tmp_path / "top" / "sub" / "file").exists()


def test_folders_and_files_do_not_replace_each_other(tmp_path: Path) -> None:
    """Without delete, a folder is not replaced by a file or link, nor a file or link by a folder."""
    source, target = tmp_path / "source", tmp_path / "target"
    for name, kind in (("a", "file"), ("b", "link"), ("c", "folder"), ("d", "folder")):
        source.mkdir(exist_ok=True)
        if kind == "file":
            (source / name).write_text("new")
        elif kind == "link":
            (source / name).symlink_to("nowhere")
        else:
            (source / name).mkdir()
        one = tmp_path / f"target {name}"
        if kind == "folder":
            one.mkdir()
            (one / name).write_text("old") if name == "c" else (one / name).symlink_to("/")
        else:
            (one / name).mkdir(parents=True)
            (one / name / "inside").write_text("old")
        before = snapshot(one)
        with pytest.raises(
            StagingError, match=f"target {name}/{name}'.*only delete=True replaces it by .*source/{name}'"
        ):
            copy_tree(source, one)
        assert before.items() <= snapshot(one).items()
        copy_tree(source, target, delete=True)
        copy_tree(source, one, delete=True)
        assert snapshot(one) == snapshot(source)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StagingError, match="file': not a folder"):
        copy_tree(source, tmp_path / "file", delete=True)
    assert (tmp_path / "file").read_text() == "x"


def test_a_failed_replacement_keeps_the_old_file(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk the older copy of a file remains, and no temporary file."""
    target = tmp_path / "copy"
    copy_tree(source, target)
    before = snapshot(target)
    (source / "program").write_bytes(b"longer than before")

    def full(*args: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "copy_file_range", full)
    with pytest.raises(StagingError, match=r"copy/.*: No space left on device"):
        copy_tree(source, target, workers=1)
    after = snapshot(target)
    assert after.keys() == before.keys()
    assert after[b"program"] == before[b"program"]


LEVELS = 1100


def test_deep_trees(tmp_path: Path) -> None:
    """Trees deeper than Python's stack, and than the descriptors of a process, are copied, updated and removed."""
    top = tmp_path / "deep"
    top.mkdir()
    folder = os.open(top, os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir("d", dir_fd=folder)
        lower = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = lower
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    try:
        assert copy_tree(top, tmp_path / "copy").files == 1
        result = copy_tree(top, tmp_path / "copy", update=True, delete=True)
        assert (result.files, result.unchanged, result.removed) == (0, 1, 0)
    finally:
        remove_tree(tmp_path / "copy")
        remove_tree(top)
    assert not top.exists()
    assert not (tmp_path / "copy").exists()


def test_no_descriptors_are_left(source: Path, tmp_path: Path) -> None:
    """Copies and removals close all descriptors, also after errors."""
    before = len(os.listdir("/proc/self/fd"))
    copy_tree(source, tmp_path / "copy", workers=4)
    with pytest.raises(CancelledError):
        copy_tree(source, tmp_path / "copy", workers=4, cancelled=lambda: True)
    (tmp_path / "other" / "program").mkdir(parents=True)
    with pytest.raises(StagingError):
        copy_tree(source, tmp_path / "other", workers=4)
    remove_tree(tmp_path / "copy")
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("exclude", ["proc/*", b"proc/*"])
def test_one_text_is_no_list_of_patterns(tmp_path: Path, exclude: str) -> None:
    """A str instead of a list of patterns is refused with a hint."""
    (tmp_path / "source").mkdir()
    with pytest.raises(TypeError, match=r"write exclude=\[b?'proc/\*'\]"):
        copy_tree(tmp_path / "source", tmp_path / "copy", exclude=exclude)
    assert not (tmp_path / "copy").exists()


def test_procfs(tmp_path: Path) -> None:
    """Files that have content but no size are copied."""
    copy_file("/proc/self/status", tmp_path / "copy")
    assert b"Umask:" in (tmp_path / "copy").read_bytes()


def test_remove_tree(source: Path, tmp_path: Path) -> None:
    """A tree is removed, even with folders without permissions; links are not followed; a second call does nothing."""
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
