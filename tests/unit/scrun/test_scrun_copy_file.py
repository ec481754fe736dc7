# SPDX-License-Identifier: GPL-2.0-or-later
"""copy_file copies one file, or leaves the target as it was."""

import os
from pathlib import Path

import pytest

from slurmhooks.scrun import contents
from slurmhooks.scrun.errors import CancelledError, StagingError
from slurmhooks.scrun.trees import copy_file


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


def test_procfs(tmp_path: Path) -> None:
    """Files that have content but no size are copied."""
    copy_file("/proc/self/status", tmp_path / "copy")
    assert b"Umask:" in (tmp_path / "copy").read_bytes()
