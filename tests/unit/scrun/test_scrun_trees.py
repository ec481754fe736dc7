# SPDX-License-Identifier: GPL-2.0-or-later
"""Trees are copied with everything in them, updated and removed."""

import errno
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from slurmhooks.errors import DeadlineExceeded
from slurmhooks.log import log
from slurmhooks.scrun import tree_copy
from slurmhooks.scrun.errors import CancelledError, StagingError
from slurmhooks.scrun.trees import copy_tree, remove_tree
from tests.unit.scrun.conftest import NAMES, snapshot


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


def test_excluded_paths_in_folders_that_go(tmp_path: Path) -> None:
    """Excluded paths in a folder that the source does not have stay, with the folders above them, and nothing else."""
    source, target = tmp_path / "source", tmp_path / "copy"
    source.mkdir()
    (source / "f").write_text("f")
    logs = ["results/run.log", "results/deep/er/run.log", "top.log"]
    for name in (*logs, "results/x", "results/deep/x", "a/keep", "a/b/keep", "gone/x", "kept/below/x"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text("x")
    result = copy_tree(source, target, exclude=["*.log", "a/keep", "kept/below"], delete=True)
    left = sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file())
    assert left == ["a/keep", "f", "kept/below/x", "results/deep/er/run.log", "results/run.log", "top.log"]
    assert not (target / "a" / "b").exists()
    assert not (target / "gone").exists()
    assert result.removed == 1


def test_hard_links_where_asked_for(source: Path, tmp_path: Path) -> None:
    """With hard_links, original and copy are one file; without it, never."""
    copy_tree(source, tmp_path / "linked", hard_links=True)
    copy_tree(source, tmp_path / "linked", hard_links=True)
    copy_tree(source, tmp_path / "copied")
    inode = (source / "program").stat().st_ino
    assert (tmp_path / "linked" / "program").stat().st_ino == inode
    assert (tmp_path / "copied" / "program").stat().st_ino != inode
    assert snapshot(tmp_path / "linked") == snapshot(source)


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


@pytest.mark.parametrize("size", [0, 200 << 12])
def test_a_deadline_ends_all_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """When a signal interrupts the caller's wait, no thread continues: with many files, and within a large one."""
    monkeypatch.setattr(tree_copy, "CHUNK", 1 << 12)
    top = tmp_path / "source"
    top.mkdir()
    for number in range(1 if size else 200):
        (top / str(number)).write_bytes(b"x" * size)
    calls: list[int] = []
    returned: list[int] = []

    def slow() -> bool:
        calls.append(1)
        if len(calls) == 5:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        time.sleep(0.01)
        returned.append(1)
        return False

    def interrupt(number: int, frame: object) -> None:
        raise DeadlineExceeded

    old = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(DeadlineExceeded):
            copy_tree(top, tmp_path / "copy", workers=2, cancelled=slow)
        done = len(returned)
        while any(thread.name.startswith("copy-") for thread in threading.enumerate()):
            time.sleep(0.01)
        assert len(calls) == len(returned) == done < 200
    finally:
        signal.signal(signal.SIGUSR1, old)


def test_progress(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long copy logs its progress."""
    monkeypatch.setattr(tree_copy, "REPORT_SECONDS", 0.0)
    lines: list[str] = []
    monkeypatch.setattr(log, "_sink", lambda level, text: lines.append(text))
    copy_tree(source, tmp_path / "copy")
    assert any("copying" in line and "files" in line for line in lines)


LEVELS = 1100


@pytest.mark.slow
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
