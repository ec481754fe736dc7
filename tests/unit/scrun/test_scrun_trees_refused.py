# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies that fail or are refused name the path, and remove nothing that was there."""

import contextlib
import errno
import os
import subprocess
from pathlib import Path

import pytest

from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.trees import copy_tree
from tests.unit.scrun.conftest import snapshot

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may")


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


@pytest.mark.parametrize("kind", ["file", "link", "names"])
def test_a_folder_with_an_excluded_path_is_not_replaced(tmp_path: Path, kind: str) -> None:
    """A file or link of the source replaces a folder with delete=True, unless something in it is excluded."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    (target / "a" / "b").mkdir(parents=True)
    (target / "a" / "b" / "run.log").write_text("x")
    (target / "a" / "b").chmod(0)
    if kind == "link":
        (source / "a").symlink_to("nowhere")
    else:
        (source / "a").write_text("a")
    if kind == "names":
        os.link(source / "a", source / "b")
    with pytest.raises(StagingError, match=r"target/a': a folder with 'b/run\.log', which is excluded"):
        copy_tree(source, target, exclude=["*.log"], delete=True)
    assert (target / "a" / "b" / "run.log").exists()
    copy_tree(source, target, exclude=["*.other"], delete=True)
    assert snapshot(target) == snapshot(source)


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


@pytest.mark.parametrize("exclude", ["proc/*", b"proc/*"])
def test_one_text_is_no_list_of_patterns(tmp_path: Path, exclude: str) -> None:
    """A str instead of a list of patterns is refused with a hint."""
    (tmp_path / "source").mkdir()
    with pytest.raises(TypeError, match=r"write exclude=\[b?'proc/\*'\]"):
        copy_tree(tmp_path / "source", tmp_path / "copy", exclude=exclude)
    assert not (tmp_path / "copy").exists()
