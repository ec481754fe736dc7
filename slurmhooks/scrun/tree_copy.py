# SPDX-License-Identifier: GPL-2.0-or-later
"""The two walks that copy a tree: the first creates folders and copies files, the second finishes the folders.

One thread walks through the folders; the same thread and its helpers copy the files.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import queue
import stat
import threading
import time

from slurmhooks.log import log
from slurmhooks.scrun import contents, folders, removal
from slurmhooks.scrun.contents import CHUNK
from slurmhooks.scrun.entries import Copier, Place
from slurmhooks.scrun.errors import CancelledError, StagingError
from slurmhooks.scrun.folders import Walk, explained, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from slurmhooks.scrun.folders import Folder, Identity

    Batch = tuple[Place, list[tuple[str, os.stat_result]]]

BATCH = 128
"""Number of files that a thread copies before it looks at the queue again."""
REPORT_SECONDS = 10.0
"""Seconds between two lines of progress in the log."""


class CopyResult:
    """The result of a copy.

    Attributes:
        files: number of files and other entries that were copied or linked.
        bytes: their size.
        unchanged: number of files that were skipped because of ``update=True``.
        removed: number of entries that were removed from the target because of ``delete=True``.
        skipped: paths of entries of the source that could not be copied and were skipped.
    """

    __slots__ = ("bytes", "files", "removed", "skipped", "unchanged")

    def __init__(self) -> None:
        self.files = 0
        self.bytes = 0
        self.unchanged = 0
        self.removed = 0
        self.skipped: list[str] = []

    def __repr__(self) -> str:
        """Show the numbers."""
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        return (
            f"<{self.files} files, {self.bytes >> 20} MiB, {self.unchanged} unchanged, {self.removed} removed{skipped}>"
        )


class TreeCopy(Walk):
    """The first walk: makes the folders and copies the files. :class:`Finish` sets the properties of the folders."""

    def __init__(self, source: str, target: str, exclude: list[str], cancelled: Callable[[], bool]) -> None:
        super().__init__(source)
        self.target = target
        self.exclude = exclude
        self.without: Collection[str] = ()
        """Paths relative to the top that are left out, with everything in them."""
        self.delete = False
        self.copied_at = 0
        self.originals: Mapping[str, int] = {}
        self.keeps_top = False
        self.returns = False
        """Whether the source is a copy of the target that a container may have changed."""
        self.cancelled = cancelled
        self.copier = Copier(source, target, self._between_chunks)
        self.copier.chunk = CHUNK
        self.copier.excluded_below = self.excluded_below if exclude else None
        self.result = CopyResult()
        self.result.skipped = self.copier.skipped
        self.visited: dict[str, tuple[os.stat_result, list[str]]] = {}
        """For each folder, by path: its status before it was read, and the names of the copied folders in it."""
        self.inodes: dict[str, int] = {}
        """The inode number of each folder of the target, by path."""
        self.empty: dict[str, Identity] = {}
        """The folders of the target that were empty before the copy, by path."""
        self._lock = threading.Lock()
        self._under_way = 0
        self._error: BaseException | None = None
        self._last_report = time.monotonic()
        self._helpers: list[tuple[threading.Thread, threading.Event]] = []
        """The other threads, each with an event that it sets at its end."""
        self._batches: queue.Queue[Batch | None] = queue.Queue()

    def copy(self, source: int, target: int, workers: int) -> None:
        """Copy a tree between open folders in ``workers`` threads, including the calling one; see copy_tree."""
        if os.path.samestat(os.fstat(source), os.fstat(target)):
            raise StagingError(f"{self.shown!r} is {self.target!r}: a folder is not copied into itself")
        self.copier.top = target
        self._note_empty("", target)
        self._batches = queue.Queue(2 * workers)
        for number in range(1, workers):
            ended = threading.Event()
            helper = threading.Thread(target=self._help, args=(ended,), name=f"copy-{number}", daemon=True)
            helper.start()
            self._helpers.append((helper, ended))
        try:
            self.run(source, target)
            self._end_helpers()
        except BaseException as error:
            self._error = self._error or error  # ends the helpers, even if a deadline interrupts the wait for them
            raise
        finally:
            self._end_helpers()
        if self._error is not None:
            raise self._error
        Finish(self).run(source, target)

    def _end_helpers(self) -> None:
        """Wait until the helpers have ended; may be called again."""
        for _ in self._helpers:
            self._batches.put(None)
        for helper, ended in self._helpers:
            ended.wait()  # a join() after one that an exception interrupted may return at once (CPython issue 90882)
            helper.join()

    def is_excluded(self, path: str) -> bool:
        """Return whether a path, relative to the top, is excluded."""
        return path in self.without or any(fnmatch.fnmatchcase(path, pattern) for pattern in self.exclude)

    def excluded_below(self, path: str) -> Callable[[str], bool]:
        """Return a function that tells whether a path relative to another path is excluded."""
        return lambda inner: self.is_excluded(os.path.join(path, inner))

    def enter(self, folder: Folder) -> None:
        """Copy the files of a folder, or give them to helpers; collect the folders in it."""
        status = os.fstat(folder.fds[0])
        self.visited[folder.path] = (status, [])
        original = self.originals.get(folder.path) == status.st_ino
        files: list[tuple[str, os.stat_result]] = []
        for entry in scan(folder.fds[0]):
            if (self.exclude or self.without) and self.is_excluded(os.path.join(folder.path, entry.name)):
                continue
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                folder.names.append(entry.name)
                continue
            if original and status.st_ctime_ns <= self.copied_at:
                continue
            files.append((entry.name, status))
            if len(files) == BATCH:
                self._hand_out((Place(folder), files))
                files = []
        if files:
            self._hand_out((Place(folder), files))
        if self._error is not None:
            raise self._error

    def descend(self, folder: Folder, name: str) -> tuple[int, ...] | None:
        """Open a folder of the source, and make and open its copy."""
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
        self.visited[folder.path][1].append(name)
        return source, target

    def _make_folder(self, folder: Folder, name: str, source: int) -> int:
        shown, other = (os.path.join(top, folder.path, name) for top in (self.shown, self.target))
        if os.path.samestat(os.fstat(source), os.fstat(self.copier.top)):
            raise StagingError(f"{shown!r} is {self.target!r}: a folder is not copied into itself")
        try:
            target = removal.make_folder(name, folder.fds[1], displace=self.delete)
            self._note_empty(os.path.join(folder.path, name), target)
            return target
        except NotADirectoryError as error:
            raise StagingError(f"{other!r}: not a folder, so only delete=True replaces it by {shown!r}") from error
        except OSError as error:
            raise explained(error, other) from error

    def _note_empty(self, path: str, target: int) -> None:
        if not scan(target):
            self.empty[path] = folders.identity(os.fstat(target))

    def _hand_out(self, batch: Batch) -> None:
        """Give files to a helper, or copy them here if the queue is full."""
        if self._helpers:
            try:
                self._batches.put_nowait(batch)
            except queue.Full:
                pass
            else:
                return
        self._copy_batch(batch)

    def _help(self, ended: threading.Event) -> None:
        while (batch := self._batches.get()) is not None:
            try:
                self._copy_batch(batch)
            except BaseException as error:  # noqa: BLE001 - the thread that called copy_tree raises it again
                self._error = self._error or error
        ended.set()

    def _copy_batch(self, batch: Batch) -> None:
        copied = unchanged = size = 0
        place, files = batch
        try:
            for name, status in files:
                if self._error is not None:
                    return
                if self.cancelled():
                    raise CancelledError
                result = self.copier.copy(place, name, status)
                copied += result is True
                unchanged += result is False
                size += status.st_size if result and stat.S_ISREG(status.st_mode) else 0
        finally:
            place.close()
        with self._lock:
            self.result.files += copied
            self.result.unchanged += unchanged
            self.result.bytes += size
        self._report()

    def _between_chunks(self, done: int) -> None:
        """Count the bytes of a file that is still being copied, for the log."""
        with self._lock:
            self._under_way += done
        if self.cancelled() or self._error is not None:
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


class Finish(Walk):
    """The second walk: deletes entries that the source does not have, and sets the properties of the folders.

    This walk comes last because filling a folder changes its time, and needs write permission.
    """

    def __init__(self, copy: TreeCopy) -> None:
        super().__init__(copy.target)
        self._copy = copy

    def enter(self, folder: Folder) -> None:
        """Continue in the copied folders; with ``delete``, remove entries that the source does not have."""
        folder.names = list(self._copy.visited[folder.path][1])
        if self._copy.delete:
            self._delete_others(folder)

    def descend(self, folder: Folder, name: str) -> tuple[int, ...] | None:
        """Open a folder of the source and its copy."""
        source = folders.open_folder(name, folder.fds[0])
        try:
            return source, folders.open_folder(name, folder.fds[1])
        except BaseException:
            os.close(source)
            raise

    def leave(self, folder: Folder, parent: Folder | None) -> None:
        """Copy the properties of the original folder when everything in it is done."""
        status = os.fstat(folder.fds[1])
        if (parent is not None or not self._copy.keeps_top) and self._may_change(folder, status):
            try:
                contents.copy_properties(folder.fds[0], folder.fds[1], self._copy.visited[folder.path][0])
            except OSError as error:
                # In a mount, the container could not have changed such a folder either.
                others = error.errno == errno.EPERM and status.st_uid != os.geteuid()
                if not self._copy.returns or not (others or error.errno == errno.EROFS):
                    raise
                log.verbose("owner and mode stay as they are: %r", os.path.join(self.shown, folder.path))
        self._copy.inodes[folder.path] = status.st_ino

    def _may_change(self, folder: Folder, status: os.stat_result) -> bool:
        """Tell whether a folder gets owner and mode of the original.

        Whoever can rename entries of the parent can have put a folder of root or of somebody else in this place, even
        since the first walk, and root must not give it away. Nobody gains anything from one that was empty.
        """
        if os.geteuid() != 0 or self._copy.empty.get(folder.path) == folders.identity(status):
            return True
        parent = os.stat("..", dir_fd=folder.fds[1])
        by_others = parent.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not parent.st_mode & stat.S_ISVTX
        if parent.st_uid == status.st_uid or (parent.st_uid == 0 and not by_others):
            return True
        log.verbose("owner and mode stay as they are: %r", os.path.join(self.shown, folder.path))
        return False

    def _delete_others(self, folder: Folder) -> None:
        source, target = folder.fds
        names = {entry.name for entry in scan(source)}
        for entry in scan(target):
            path = os.path.join(folder.path, entry.name)
            if entry.name in names or self._copy.is_excluded(path):
                continue
            needed = os.R_OK | (os.X_OK if entry.is_dir(follow_symlinks=False) else 0)
            if entry.is_symlink() or os.access(entry.name, needed, dir_fd=target, follow_symlinks=False):
                keep = self._copy.excluded_below(path)
                gone = removal.remove_at(entry.name, target, os.path.join(self.shown, path), keep=keep)
                self._copy.result.removed += gone
            else:
                log.verbose("not removed, as it cannot be read: %r", os.path.join(self.shown, path))
