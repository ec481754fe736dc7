# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies files and trees of files, with no shell and no other program: any name survives.

One thread walks through the folders; it and its helpers copy the files.
"""

from __future__ import annotations

import fnmatch
import os
import queue
import stat
import threading
import time

from slurmhooks.log import log
from slurmhooks.scrun import cancel, contents, folders, removal
from slurmhooks.scrun.contents import CHUNK
from slurmhooks.scrun.entries import Copier, Place, copy_file
from slurmhooks.scrun.errors import CancelledError, StagingError
from slurmhooks.scrun.folders import Walk, explained, scan
from slurmhooks.scrun.removal import remove_tree
from slurmhooks.values import several

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal

    from slurmhooks.scrun.folders import Folder, Path

    Batch = tuple[Place, list[tuple[str, os.stat_result]]]

__all__ = ["CopyResult", "copy_file", "copy_tree", "remove_tree"]

BATCH = 128
"""Files that a worker takes at a time."""
REPORT_SECONDS = 10.0
MAX_WORKERS = 8


class CopyResult:
    """Count what was copied.

    Attributes:
        files: files and symbolic links copied or linked.
        bytes: their size together.
        unchanged: files that were left alone, for ``update=True``.
        removed: entries removed from the target, for ``delete=True``.
        skipped: paths of what could not be copied and was left out (in the source).
    """

    __slots__ = ("bytes", "files", "removed", "skipped", "unchanged")

    def __init__(self) -> None:
        """Start at nothing."""
        self.files = 0
        self.bytes = 0
        self.unchanged = 0
        self.removed = 0
        self.skipped: list[str] = []

    def __repr__(self) -> str:
        """Return the numbers."""
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        return (
            f"<{self.files} files, {self.bytes >> 20} MiB, {self.unchanged} unchanged, {self.removed} removed{skipped}>"
        )


def copy_tree(
    source: Path,
    target: Path,
    *,
    exclude: Iterable[str] = (),
    hard_links: bool = False,
    update: bool = False,
    delete: bool = False,
    unreadable: Literal["fail", "skip"] = "fail",
    workers: int | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> CopyResult:
    """Copy what is in a folder into another, which is made if need be.

    As ``cp -a`` does, it keeps modes, times, symbolic links (as they are: none is followed), hard links among the
    files, holes, extended attributes as far as the target takes them, and owners as far as this user may give files
    away; without its owner and group a file loses its setuid, setgid and sticky bits. Sockets and devices that this
    user may not make are left out and logged. A file that is replaced stays as it was until the new one is complete; a
    folder is not replaced by something else, nor something else by a folder, unless ``delete`` is set.

    Others may rename, exchange and link what is in both trees meanwhile: nothing outside of them is read or written.
    The copy then fails, or has what it found.

    A copy that takes long says every ten seconds in the log how far it is. Reflinks are used where the file system has
    them.

    Args:
        source: a folder; a symbolic link to one is followed.
        target: the folder to fill; a symbolic link to one is followed.
        exclude: patterns (as in fnmatch, ``*`` matches ``/`` too) of paths relative to the source, such as
            ``["proc/*"]``; an excluded folder is left out with all that is in it. They hold for ``delete`` as well.
        hard_links: link regular files instead of copying them. For trees that nobody writes to: both names are one
            file.
        update: leave files alone that have the same size and time of modification already.
        delete: remove from the target what the source does not have, when all is copied. What this user cannot read is
            left: it cannot have been staged before.
        unreadable: what to do about a file or folder of the source that this user has no right to read.
        workers: threads that copy; by default one a processor, at most 8.
        cancelled: asked from time to time; true ends the copy. By default, whether scrun gave the container up.

    Raises:
        StagingError: something could not be copied, or the target is the source or lies in it; the text names it. What
            was copied stays.
        CancelledError: see ``cancelled``.
        TypeError: ``exclude`` is one text.
    """
    excluded = [os.fsdecode(pattern) for pattern in several("exclude", exclude)]
    copy = _Copy(os.fsdecode(source), os.fsdecode(target), excluded, cancelled or cancel.requested)
    copy.delete = copy.copier.displace = delete
    copy.copier.hard_links = hard_links
    copy.copier.update = update
    copy.copier.skip_unreadable = unreadable == "skip"
    with folders.opened(open_top(copy.shown)) as top:
        _refuse_nesting(copy.shown, copy.target, delete)
        with folders.opened(open_target(copy.target)) as other:
            copy.copy(top, other, workers or _workers())
    return copy.result


def copy_opened_tree(source: int, target: int, shown: str, shown_target: str, *, update: bool = False) -> None:
    """Copy what is in an open folder into another one; see :func:`copy_tree`.

    Args:
        source: descriptor of the folder.
        target: descriptor of the folder to fill.
        shown: path of the source, for messages.
        shown_target: path of the target, for messages.
        update: see :func:`copy_tree`.
    """
    copy = _Copy(shown, shown_target, [], cancel.requested)
    copy.copier.update = update
    copy.copy(source, target, _workers())


def _workers() -> int:
    return min(MAX_WORKERS, len(os.sched_getaffinity(0)))


def open_top(path: str, *, writable: bool = False) -> int:
    """Open a folder through all links.

    Raises:
        StagingError: it cannot be opened, or is not a folder.
    """
    try:
        with folders.opened(os.open(path, os.O_PATH | os.O_DIRECTORY)) as handle:
            return folders.open_folder(".", handle, writable=writable)
    except OSError as error:
        raise explained(error, path) from error


def open_target(path: str) -> int:
    """Open a folder to fill, through all links; make it and what leads to it if need be.

    Raises:
        StagingError: it cannot be made or opened, or is not a folder.
    """
    try:
        os.makedirs(path, 0o700, exist_ok=True)
    except FileExistsError as error:
        raise StagingError(f"{path!r}: not a folder, so nothing is copied into it") from error
    except OSError as error:
        raise explained(error, path) from error
    return open_top(path, writable=True)


def _refuse_nesting(source: str, target: str, delete: bool) -> None:
    """Look before anything is made; the walk looks again, by descriptor."""
    if _lies_in(target, source):
        raise StagingError(f"{target!r} is {source!r} or lies in it: a folder is not copied into itself")
    if delete and _lies_in(source, target):
        raise StagingError(f"{source!r} lies in {target!r}: delete=True would remove it there")


def _lies_in(path: str, folder: str) -> bool:
    try:
        known = folders.identity(os.stat(folder))
    except OSError:
        return False
    path = os.path.realpath(path)
    while True:
        try:
            if folders.identity(os.stat(path)) == known:
                return True
        except OSError:
            pass  # does not exist yet
        if path == os.path.dirname(path):
            return False
        path = os.path.dirname(path)


class _Copy(Walk):
    """Makes the folders and copies the files; metadata of folders is left to _Finish."""

    def __init__(self, source: str, target: str, exclude: list[str], cancelled: Callable[[], bool]) -> None:
        super().__init__(source)
        self.target = target
        self.exclude = exclude
        self.delete = False
        self.cancelled = cancelled
        self.copier = Copier(source, target, self._between_chunks)
        self.copier.chunk = CHUNK
        self.result = CopyResult()
        self.result.skipped = self.copier.skipped
        self.found: dict[str, tuple[os.stat_result, list[str]]] = {}
        """Of each folder: its status before it was read, and the folders in it that were copied."""
        self._lock = threading.Lock()
        self._under_way = 0
        self._error: BaseException | None = None
        self._last_report = time.monotonic()
        self._helpers: list[threading.Thread] = []
        self._batches: queue.Queue[Batch | None] = queue.Queue()

    def copy(self, source: int, target: int, workers: int) -> None:
        """Copy everything; see copy_tree."""
        if os.path.samestat(os.fstat(source), os.fstat(target)):
            raise StagingError(f"{self.shown!r} is {self.target!r}: a folder is not copied into itself")
        self.copier.top = target
        self._batches = queue.Queue(2 * workers)
        self._helpers = [threading.Thread(target=self._help, name=f"copy-{n}", daemon=True) for n in range(1, workers)]
        for helper in self._helpers:
            helper.start()
        try:
            self.run(source, target)
        except BaseException as error:
            self._error = error
            raise
        finally:
            for _ in self._helpers:
                self._batches.put(None)
            for helper in self._helpers:
                helper.join()
        if self._error is not None:
            raise self._error
        _Finish(self).run(source, target)

    def is_excluded(self, path: str) -> bool:
        """Tell whether a path relative to the top is excluded."""
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in self.exclude)

    # -- folders

    def enter(self, folder: Folder) -> None:
        status = os.fstat(folder.fds[0])
        self.found[folder.path] = (status, [])
        files: list[tuple[str, os.stat_result]] = []
        for entry in scan(folder.fds[0]):
            if self.exclude and self.is_excluded(os.path.join(folder.path, entry.name)):
                continue
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                folder.names.append(entry.name)
                continue
            files.append((entry.name, status))
            if len(files) == BATCH:
                self._give((Place(folder), files))
                files = []
        if files:
            self._give((Place(folder), files))
        if self._error is not None:
            raise self._error

    def descend(self, folder: Folder, name: str) -> tuple[int, ...] | None:
        try:
            source = folders.open_folder(name, folder.fds[0])
        except PermissionError as error:
            self.copier.unreadable(folder.path, name, error)
            return None
        try:
            target = self._make_folder(folder, name, source)
        except BaseException:
            os.close(source)
            raise
        self.found[folder.path][1].append(name)
        return source, target

    def _make_folder(self, folder: Folder, name: str, source: int) -> int:
        shown, other = (os.path.join(top, folder.path, name) for top in (self.shown, self.target))
        if os.path.samestat(os.fstat(source), os.fstat(self.copier.top)):
            raise StagingError(f"{shown!r} is {self.target!r}: a folder is not copied into itself")
        try:
            return removal.make_folder(name, folder.fds[1], displace=self.delete)
        except NotADirectoryError as error:
            raise StagingError(f"{other!r}: not a folder, so only delete=True replaces it by {shown!r}") from error
        except OSError as error:
            raise explained(error, other) from error

    # -- the workers

    def _give(self, batch: Batch) -> None:
        """Leave files to a helper, or copy them if all have enough to do."""
        if self._helpers:
            try:
                self._batches.put_nowait(batch)
            except queue.Full:
                pass
            else:
                return
        self._copy_batch(batch)

    def _help(self) -> None:
        while (batch := self._batches.get()) is not None:
            try:
                self._copy_batch(batch)
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that called copy_tree
                self._error = self._error or error

    def _copy_batch(self, batch: Batch) -> None:
        copied = unchanged = size = 0
        place, files = batch
        try:
            for name, status in files:
                if self._error is not None:
                    return
                if self.cancelled():
                    raise CancelledError
                done = self.copier.copy(place, name, status)
                copied += done is True
                unchanged += done is False
                size += status.st_size if done and stat.S_ISREG(status.st_mode) else 0
        finally:
            place.close()
        with self._lock:
            self.result.files += copied
            self.result.unchanged += unchanged
            self.result.bytes += size
        self._report()

    def _between_chunks(self, done: int) -> None:
        """Count what a file that is still being copied has come to, for the log."""
        with self._lock:
            self._under_way += done
        if self.cancelled():
            raise CancelledError
        self._report()

    def _report(self) -> None:
        now = time.monotonic()
        with self._lock:
            if now - self._last_report < REPORT_SECONDS:
                return
            self._last_report = now
        mib = max(self.result.bytes, self._under_way) >> 20
        log.info("copying %r: %d files, %d MiB so far", self.shown, self.result.files, mib)


class _Finish(Walk):
    """Deletes from the target what the source does not have, and gives its folders what belongs to them.

    Afterwards, as filling a folder changes its time, and it may end up without write permission.
    """

    def __init__(self, copy: _Copy) -> None:
        super().__init__(copy.target)
        self._copy = copy

    def enter(self, folder: Folder) -> None:
        folder.names = list(self._copy.found[folder.path][1])
        if self._copy.delete:
            self._delete_others(folder)

    def descend(self, folder: Folder, name: str) -> tuple[int, ...] | None:
        source = folders.open_folder(name, folder.fds[0])
        try:
            return source, folders.open_folder(name, folder.fds[1])
        except BaseException:
            os.close(source)
            raise

    def leave(self, folder: Folder, parent: Folder | None) -> None:
        contents.copy_properties(folder.fds[0], folder.fds[1], self._copy.found[folder.path][0])

    def _delete_others(self, folder: Folder) -> None:
        source, target = folder.fds
        known = {entry.name for entry in scan(source)}
        for entry in scan(target):
            path = os.path.join(folder.path, entry.name)
            if entry.name in known or self._copy.is_excluded(path):
                continue
            needed = os.R_OK | (os.X_OK if entry.is_dir(follow_symlinks=False) else 0)
            if entry.is_symlink() or os.access(entry.name, needed, dir_fd=target, follow_symlinks=False):
                removal.remove_at(entry.name, target, os.path.join(self.shown, path))
                self._copy.result.removed += 1
            else:
                log.verbose("not removed, as it cannot be read: %r", os.path.join(self.shown, path))
