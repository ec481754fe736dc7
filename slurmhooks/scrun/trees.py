# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies and removes trees of files, with no shell and no other program: any name survives.

A file is copied inside the kernel (copy_file_range), which shares the blocks with the original where the file system
can (reflink: XFS, Btrfs) and moves them without passing them through this process where it cannot.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import os
import stat
import threading
import time

from slurmhooks.log import log
from slurmhooks.scrun import cancel
from slurmhooks.scrun.errors import CancelledError, StagingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

BATCH = 128
"""Files that a worker takes at a time."""
CHUNK = 64 << 20
"""Bytes copied between two looks at whether the copy is still wanted."""
REPORT_SECONDS = 10.0
MAX_WORKERS = 8

NO_RANGE_COPY = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}
NO_LINK = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP}
NO_XATTR = {errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.ENODATA, errno.EINVAL, errno.ENOSYS}
NOT_OURS = {errno.EPERM, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}


class CopyResult:
    """What a copy came to.

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

    Kept are modes, times, symbolic links (as they are: none is followed), hard links among the files, holes, extended
    attributes as far as the target takes them, and owners as far as this user may give files away. Sockets and devices
    that this user may not make are left out and logged. A copy that takes long says every ten seconds in the log how
    far it is. Reflinks are used where the file system has them.

    Args:
        source: a folder; a symbolic link to one is followed.
        target: the folder to fill.
        exclude: patterns (as in fnmatch, ``*`` matches ``/`` too) of paths relative to the source, such as
            ``"proc/*"``; an excluded folder is left out with all that is in it. They hold for ``delete`` as well.
        hard_links: link regular files instead of copying them. For trees that nobody writes to: both names are one
            file.
        update: leave files alone that have the same size and time of modification already.
        delete: remove from the target what the source does not have, when all is copied. What this user cannot read is
            left: it cannot have been staged before.
        unreadable: what to do about a file or folder of the source that this user has no right to read.
        workers: threads that copy; by default one a processor, at most 8.
        cancelled: asked from time to time; true ends the copy. By default, whether scrun gave the container up.

    Raises:
        StagingError: something could not be copied; the text names it. What was copied stays.
        CancelledError: see ``cancelled``.
    """
    job = _Copy(os.fsencode(source), os.fsencode(target), tuple(os.fsencode(pattern) for pattern in exclude))
    job.hard_links = hard_links
    job.update = update
    job.skip_unreadable = unreadable == "skip"
    job.cancelled = cancelled or cancel.requested
    job.run(workers or min(MAX_WORKERS, len(os.sched_getaffinity(0))))
    if delete:
        job.delete_others()
    return job.result


def copy_file(source: Path, target: Path, *, cancelled: Callable[[], bool] | None = None) -> None:
    """Copy one regular file over another, or to a new name, as :func:`copy_tree` would.

    Raises:
        StagingError: it could not be copied.
        CancelledError: see :func:`copy_tree`.
    """
    job = _Copy(os.fsencode(source), os.fsencode(target), ())
    job.cancelled = cancelled or cancel.requested
    try:
        _remove_any(job.target)
        job.copy_regular(job.source, job.target, os.stat(job.source))
    except OSError as error:
        raise _explained(error, job.source) from error


def remove_tree(path: Path) -> None:
    """Remove a folder with all that is in it; nothing to do if there is none.

    Follows no symbolic link, does not leave the file system that the folder is on, and gets over folders without write
    permission.

    Raises:
        StagingError: something could not be removed; the text names it.
    """
    top = os.fsencode(path)
    try:
        status = os.lstat(top)
    except FileNotFoundError:
        return
    try:
        if stat.S_ISDIR(status.st_mode):
            _remove_folder(top, status.st_dev)
        else:
            os.unlink(top)
    except OSError as error:
        raise _explained(error, top) from error


def _remove_folder(path: bytes, device: int) -> None:
    with contextlib.suppress(OSError):
        os.chmod(path, 0o700)
    with os.scandir(path) as entries:
        found = list(entries)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            if entry.stat(follow_symlinks=False).st_dev != device:
                raise OSError(errno.EXDEV, "another file system is mounted here", entry.path)
            _remove_folder(entry.path, device)
        else:
            os.unlink(entry.path)
    os.rmdir(path)


def _remove_any(path: bytes) -> None:
    """Make way for a new entry."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(status.st_mode):
        _remove_folder(path, status.st_dev)
    else:
        os.unlink(path)


def _explained(error: OSError, path: bytes) -> StagingError:
    name = os.fsdecode(error.filename2 or error.filename or path)
    return StagingError(f"{name!r}: {error.strerror or error}")


Entry = tuple[bytes, bytes, os.stat_result]
"""Source, target, status of the source."""


class _Copy:
    """One copy at work: a stack of folders and batches of files, from which the workers take."""

    def __init__(self, source: bytes, target: bytes, exclude: tuple[bytes, ...]) -> None:
        self.source = source
        self.target = target
        self.exclude = exclude
        self.hard_links = False
        self.update = False
        self.skip_unreadable = False
        self.cancelled: Callable[[], bool] = cancel.requested
        self.result = CopyResult()
        self.range_copy = True
        self._is_root = os.geteuid() == 0
        self._umask = _umask()
        self._lock = threading.Condition()
        self._folders: list[tuple[bytes, bytes]] = []
        self._batches: list[list[Entry]] = []
        self._busy = 0
        self._under_way = 0
        self._error: BaseException | None = None
        self._linked: dict[tuple[int, int], bytes] = {}
        self._twins: list[tuple[bytes, bytes, bytes]] = []
        self._finished_folders: list[tuple[bytes, bytes, os.stat_result]] = []
        self._last_report = time.monotonic()

    # -- all of it

    def run(self, workers: int) -> None:
        """Copy everything; see copy_tree."""
        try:
            status = os.stat(self.source)
            if not stat.S_ISDIR(status.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, "not a folder", self.source)
            self._make_folder(self.target)
            self._finished_folders.append((self.source, self.target, status))
        except OSError as error:
            raise _explained(error, self.source) from error
        self._folders.append((self.source, self.target))
        helpers = [threading.Thread(target=self._work, name=f"copy-{n}", daemon=True) for n in range(1, workers)]
        for helper in helpers:
            helper.start()
        self._work()
        for helper in helpers:
            helper.join()
        if self._error is not None:
            if isinstance(self._error, OSError):
                raise _explained(self._error, self.source) from self._error
            raise self._error
        try:
            for first, target, path in self._twins:
                self._make_twin(first, target, path)
            # The deepest first: filling a folder changes its time, and it may end up without write permission.
            for path, target, status in reversed(self._finished_folders):
                self._finish(path, target, status)
        except OSError as error:
            raise _explained(error, self.source) from error

    def delete_others(self) -> None:
        """Remove from the target what the source has not."""
        try:
            self._delete_in(self.source, self.target)
        except OSError as error:
            raise _explained(error, self.target) from error

    # -- the workers

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._folders and not self._batches and self._busy and self._error is None:
                    self._lock.wait()
                if self._error is not None or (not self._folders and not self._batches):
                    self._lock.notify_all()
                    return
                batch = self._batches.pop() if self._batches else None
                folder = self._folders.pop() if batch is None else None
                self._busy += 1
            error: BaseException | None = None
            try:
                if batch is not None:
                    self._copy_batch(batch)
                elif folder is not None:
                    self._copy_folder(*folder)
            except BaseException as raised:  # noqa: BLE001 - raised again by run(), in the caller's thread
                error = raised
            with self._lock:
                self._busy -= 1
                if self._error is None:
                    self._error = error
                self._lock.notify_all()

    def _copy_folder(self, source: bytes, target: bytes) -> None:
        files: list[Entry] = []
        for entry in self._entries(source):
            if self.exclude and self._excluded(entry.path):
                continue
            other = os.path.join(target, entry.name)
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                if not os.access(entry.path, os.R_OK | os.X_OK):
                    self._unreadable(entry.path)
                    continue
                self._make_folder(other)
                with self._lock:
                    self._finished_folders.append((entry.path, other, status))
                    self._folders.append((entry.path, other))
                    self._lock.notify()
                continue
            files.append((entry.path, other, status))
            if len(files) >= BATCH:
                with self._lock:
                    self._batches.append(files)
                    self._lock.notify()
                files = []
        self._copy_batch(files)

    def _entries(self, path: bytes) -> list[os.DirEntry[bytes]]:
        with os.scandir(path) as entries:
            return list(entries)

    def _copy_batch(self, batch: list[Entry]) -> None:
        copied = unchanged = size = 0
        for source, target, status in batch:
            if self._error is not None:
                return
            if self.cancelled():
                raise CancelledError
            try:
                done = self._copy_entry(source, target, status)
            except PermissionError as error:
                # Of the source? Only then may it be left out.
                if os.access(source, os.R_OK, follow_symlinks=False) or stat.S_ISLNK(status.st_mode):
                    raise
                self._unreadable(source, error)
                continue
            copied += done
            unchanged += not done
            size += status.st_size if done and stat.S_ISREG(status.st_mode) else 0
        with self._lock:
            self.result.files += copied
            self.result.unchanged += unchanged
            self.result.bytes += size
        self._report()

    def _unreadable(self, path: bytes, error: OSError | None = None) -> None:
        if not self.skip_unreadable:
            raise error or PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        self._leave_out(path, "not readable")

    def _leave_out(self, path: bytes, reason: str) -> None:
        with self._lock:
            self.result.skipped.append(os.fsdecode(path))
        log.verbose("not copied, %s: %r", reason, os.fsdecode(path))

    def _excluded(self, path: bytes) -> bool:
        relative = path[len(self.source) :].lstrip(b"/")
        return any(fnmatch.fnmatchcase(relative, pattern) for pattern in self.exclude)

    def _report(self) -> None:
        now = time.monotonic()
        with self._lock:
            if now - self._last_report < REPORT_SECONDS:
                return
            self._last_report = now
        log.info(
            "copying %r: %d files, %d MiB so far",
            os.fsdecode(self.source),
            self.result.files,
            (max(self.result.bytes, self._under_way)) >> 20,
        )

    # -- one entry

    def _copy_entry(self, source: bytes, target: bytes, status: os.stat_result) -> bool:
        mode = status.st_mode
        if stat.S_ISREG(mode):
            if self.update and _same(status, target):
                return False
            if status.st_nlink > 1 and not self.hard_links and not self._first_of(source, target, status):
                return True
            self._copy_or_link(source, target, status)
            return True
        if stat.S_ISLNK(mode):
            if self.update and _same_link(source, target):
                return False
            self._copy_link(source, target, status)
        else:
            self._copy_special(source, target, status)
        return True

    def _first_of(self, source: bytes, target: bytes, status: os.stat_result) -> bool:
        """Say whether this is the first name of a file that has several; the others are linked at the end."""
        with self._lock:
            first = self._linked.setdefault((status.st_dev, status.st_ino), target)
            if first != target:
                self._twins.append((first, target, source))
            return first == target

    def _make_twin(self, first: bytes, target: bytes, source: bytes) -> None:
        _remove_any(target)
        try:
            os.link(first, target)
        except FileNotFoundError:  # the first name was left alone as unchanged, or out as unreadable
            self._copy_or_link(source, target, os.lstat(source))

    def _copy_or_link(self, source: bytes, target: bytes, status: os.stat_result) -> None:
        if self.hard_links:
            try:
                try:
                    os.link(source, target, follow_symlinks=False)
                except FileExistsError:
                    _remove_any(target)
                    os.link(source, target, follow_symlinks=False)
                return
            except OSError as error:
                if error.errno not in NO_LINK:
                    raise
        self.copy_regular(source, target, status)

    def copy_regular(self, source: bytes, target: bytes, status: os.stat_result) -> None:
        """Copy a regular file."""
        reading = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            mode = stat.S_IMODE(status.st_mode)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            try:
                writing = os.open(target, flags, mode & 0o777)
            except FileExistsError:
                _remove_any(target)
                writing = os.open(target, flags, mode & 0o777)
            try:
                if status.st_size:
                    self._copy_content(reading, writing, status)
                self._copy_owner(writing, status)
                if mode & (0o7000 | self._umask):
                    os.fchmod(writing, mode)
                _copy_attributes(reading, writing)
                os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))
            finally:
                os.close(writing)
        except BaseException as error:
            if isinstance(error, OSError) and error.filename is None:
                error.filename = target
            raise
        finally:
            os.close(reading)

    def _copy_content(self, reading: int, writing: int, status: os.stat_result) -> None:
        if status.st_blocks * 512 < status.st_size and status.st_size > 4096:
            os.ftruncate(writing, status.st_size)
            for start, end in _data_ranges(reading, status.st_size):
                self._copy_range(reading, writing, start, end)
        else:
            self._copy_range(reading, writing, 0, status.st_size)

    def _copy_range(self, reading: int, writing: int, start: int, end: int) -> None:
        position = start
        while position < end:
            wanted = min(CHUNK, end - position)
            done = 0
            if self.range_copy:
                try:
                    done = os.copy_file_range(reading, writing, wanted, position, position)
                except OSError as error:
                    if error.errno not in NO_RANGE_COPY:
                        raise
                    self.range_copy = False
                    continue
            if not done:
                # Some file systems (procfs, FUSE ones) answer 0 where there is content.
                done = _copy_by_hand(reading, writing, position, min(wanted, 1 << 20))
            if not done:
                return  # it has become shorter
            position += done
            if position < end:
                self._between_chunks(done)

    def _between_chunks(self, done: int) -> None:
        """Count what a file that is still being copied has come to, for the log."""
        with self._lock:
            self._under_way += done
        if self.cancelled():
            raise CancelledError
        self._report()

    def _copy_owner(self, writing: int, status: os.stat_result) -> None:
        if not self._is_root:
            return
        try:
            os.fchown(writing, status.st_uid, status.st_gid)
        except OSError as error:
            if error.errno not in NOT_OURS:
                raise

    def _copy_link(self, source: bytes, target: bytes, status: os.stat_result) -> None:
        goal = os.readlink(source)
        try:
            os.symlink(goal, target)
        except FileExistsError:
            _remove_any(target)
            os.symlink(goal, target)
        if self._is_root:
            with contextlib.suppress(OSError):
                os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)

    def _copy_special(self, source: bytes, target: bytes, status: os.stat_result) -> None:
        _remove_any(target)
        try:
            os.mknod(target, status.st_mode, status.st_rdev)
        except OSError as error:
            if error.errno not in NOT_OURS:
                raise
            self._leave_out(source, "a device")
            return
        os.chmod(target, stat.S_IMODE(status.st_mode))
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))

    # -- folders

    def _make_folder(self, path: bytes) -> None:
        try:
            (os.makedirs if path == self.target else os.mkdir)(path, 0o700)
        except FileExistsError:
            status = os.lstat(path)
            if stat.S_ISDIR(status.st_mode) or (path == self.target and os.path.isdir(path)):
                if status.st_mode & 0o700 != 0o700 and stat.S_ISDIR(status.st_mode):
                    os.chmod(path, stat.S_IMODE(status.st_mode) | 0o700)
            else:
                os.unlink(path)
                os.mkdir(path, 0o700)

    def _finish(self, source: bytes, target: bytes, status: os.stat_result) -> None:
        if self._is_root:
            with contextlib.suppress(OSError):
                os.chown(target, status.st_uid, status.st_gid)
        _copy_attributes(source, target)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        os.chmod(target, stat.S_IMODE(status.st_mode))

    def _delete_in(self, source: bytes, target: bytes) -> None:
        gone = 0
        for entry in self._entries(target):
            other = os.path.join(source, entry.name)
            if self.exclude and self._excluded(other):
                continue
            folder = entry.is_dir(follow_symlinks=False)
            if os.path.lexists(other):
                if folder and os.path.isdir(other) and os.access(entry.path, os.R_OK | os.X_OK):
                    self._delete_in(other, entry.path)
                continue
            if entry.is_symlink() or os.access(entry.path, os.R_OK | (os.X_OK if folder else 0)):
                _remove_any(entry.path)
                gone += 1
            else:
                log.verbose("not removed, as it cannot be read: %r", os.fsdecode(entry.path))
        if gone:
            self.result.removed += gone
            status = os.stat(source)
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _same(status: os.stat_result, target: bytes) -> bool:
    try:
        other = os.lstat(target)
    except OSError:
        return False
    return (
        stat.S_ISREG(other.st_mode)
        and other.st_size == status.st_size
        and other.st_mtime_ns == status.st_mtime_ns
        and stat.S_IMODE(other.st_mode) == stat.S_IMODE(status.st_mode)
    )


def _same_link(source: bytes, target: bytes) -> bool:
    try:
        return os.readlink(target) == os.readlink(source)
    except OSError:
        return False


def _copy_by_hand(reading: int, writing: int, position: int, wanted: int) -> int:
    content = os.pread(reading, wanted, position)
    view = memoryview(content)
    done = 0
    while done < len(content):
        done += os.pwrite(writing, view[done:], position + done)
    return done


def _data_ranges(file: int, size: int) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    position = 0
    while position < size:
        try:
            start = os.lseek(file, position, os.SEEK_DATA)
            end = os.lseek(file, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return ranges  # a hole to the end
            return [*ranges, (position, size)]
        ranges.append((start, end))
        position = end
    return ranges


def _copy_attributes(source: int | bytes, target: int | bytes) -> None:
    try:
        names = os.listxattr(source)
    except OSError as error:
        if error.errno in NO_XATTR:
            return
        raise
    for name in names:
        try:
            os.setxattr(target, name, os.getxattr(source, name))
        except OSError as error:
            if error.errno not in NO_XATTR:
                raise


def _umask() -> int:
    """Return the umask without changing it: other threads make files meanwhile."""
    with open("/proc/self/status", "rb") as file:
        for line in file:
            if line.startswith(b"Umask:"):
                return int(line.split()[1], 8)
    return 0o777
