# SPDX-License-Identifier: GPL-2.0-or-later
"""Copy one entry of a folder: a file, symbolic link, FIFO, socket or device."""

from __future__ import annotations

import errno
import os
import stat
import threading

from slurmhooks.log import log
from slurmhooks.scrun import cancel, contents, folders, removal
from slurmhooks.scrun.errors import CancelledError, StagingError
from slurmhooks.scrun.folders import explained
from slurmhooks.scrun.lookup import HANDLE, handle_path, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.scrun.folders import Folder, Identity, Path

NO_LINK = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP}


def copy_file(source: Path, target: Path, *, cancelled: Callable[[], bool] | None = None) -> None:
    """Copy one regular file, with the properties that :func:`copy_tree` copies.

    An existing target is replaced when the copy is complete.

    Args:
        source: path of a regular file; a symbolic link to one is followed, by root only if root has made it. The same
            holds for all links on both paths.
        target: path of the copy; an existing file or symbolic link is replaced, a folder is not.
        cancelled: see :func:`copy_tree`.

    Raises:
        StagingError: the file could not be copied, both paths are the same file, or the target is a folder.
        CancelledError: see :func:`copy_tree`.
    """
    shown, path = os.fsdecode(source), os.fsdecode(target)
    try:
        reading = contents.open_file(shown)
    except OSError as error:
        raise explained(error, shown) from error
    try:
        with opened(reading), folders.parent_of(path) as (parent, name):
            copy_opened_file(reading, name, parent, (shown, path), cancelled or cancel.requested)
    except OSError as error:
        raise explained(error, path) from error


def copy_opened_file(
    reading: int,
    name: str,
    parent: int,
    shown: tuple[str, str],
    cancelled: Callable[[], bool],
    keeps: os.stat_result | None = None,
) -> None:
    """Copy an open file into an open folder; see :func:`copy_file`.

    ``shown`` are paths of the file and the copy, for messages. For ``keeps`` see
    :func:`~slurmhooks.scrun.contents.make_copy`.
    """

    def check(_done: int) -> None:
        if cancelled():
            raise CancelledError

    if _is(name, parent, folders.identity(os.fstat(reading))):
        raise StagingError(f"{shown[0]!r} and {shown[1]!r} are the same file")
    try:
        removal.replace(name, parent, lambda new: contents.make_copy(reading, new, parent, between=check, keeps=keeps))
    except IsADirectoryError as error:
        raise StagingError(f"{shown[1]!r}: a folder, which is not replaced by the file {shown[0]!r}") from error


def _is(name: str, parent: int, expected: Identity) -> bool:
    try:
        return folders.identity(os.stat(name, dir_fd=parent, follow_symlinks=False)) == expected
    except FileNotFoundError:
        return False


class Place:
    """A folder of the source and its copy, with descriptors of its own, because the walk may have left the folder.

    ``path`` is relative to the top folders.
    """

    def __init__(self, folder: Folder) -> None:
        self.path = folder.path
        self.source, self.target = (os.dup(fd) for fd in folder.fds)

    def close(self) -> None:
        """Close the descriptors."""
        os.close(self.source)
        os.close(self.target)


class _Twin:
    """The first copied name of a file with several names."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.place: tuple[str, str] | None = None
        """The folder and the name of the copy; None: the file was not copied."""


class Copier:
    """Copies entries of a tree, from several threads; see copy_tree for the properties that it copies.

    Attributes:
        top: descriptor of the top folder of the target.
        hard_links, update, displace, skip_unreadable: see copy_tree.
        chunk: bytes to copy at a time.
        between: called after each chunk of a file except the last.
        excluded_below: returns a function that tells whether a path relative to the given one is excluded. None: no
            path is.
        skipped: paths of entries that were not copied.
    """

    def __init__(self, source: str, target: str, between: Callable[[int], None]) -> None:
        self.source = source
        self.target = target
        self.between = between
        self.top = -1
        self.hard_links = False
        self.update = False
        self.displace = False
        self.skip_unreadable = False
        self.chunk = contents.CHUNK
        self.excluded_below: Callable[[str], Callable[[str], bool]] | None = None
        self.skipped: list[str] = []
        self._lock = threading.Lock()
        self._twins: dict[Identity, _Twin] = {}

    def copy(self, place: Place, name: str, status: os.stat_result) -> bool | None:
        """Copy an entry.

        Returns:
            True: copied; False: unchanged; None: skipped.

        Raises:
            StagingError: the entry could not be copied; the text names it.
        """
        target = os.path.join(self.target, place.path, name)
        try:
            return self._copy(place, name, status)
        except IsADirectoryError as error:
            shown = os.path.join(self.source, place.path, name)
            raise StagingError(f"{target!r}: a folder, so only delete=True replaces it by {shown!r}") from error
        except OSError as error:
            raise explained(error, target) from error

    def unreadable(self, path: str, name: str, error: OSError) -> None:
        """Skip an entry that this user may not read, or raise StagingError."""
        if not self.skip_unreadable:
            raise explained(error, os.path.join(self.source, path, name)) from error
        self._skip(path, name, "not readable")

    def _skip(self, path: str, name: str, reason: str) -> None:
        shown = os.path.join(self.source, path, name)
        self.skipped.append(shown)
        log.verbose("not copied, %s: %r", reason, shown)

    def _copy(self, place: Place, name: str, status: os.stat_result) -> bool | None:
        if self.update and self._unchanged(place, name, status):
            return False
        if self.hard_links and stat.S_ISREG(status.st_mode) and self._link(place.source, name, place, name):
            return True
        return self._copy_twin(place, name, status) if status.st_nlink > 1 else self._copy_one(place, name, status)

    def _copy_one(self, place: Place, name: str, status: os.stat_result) -> bool | None:
        if stat.S_ISREG(status.st_mode):
            return self._copy_file(place, name)
        goal = os.readlink(name, dir_fd=place.source) if stat.S_ISLNK(status.st_mode) else None
        try:
            self._replace(place, name, lambda new: _make_other(new, place.target, status, goal))
        except OSError as error:
            if goal is not None or error.errno not in contents.NOT_OURS:
                raise
            self._skip(place.path, name, "a device")
            return None
        return True

    def _replace(self, place: Place, name: str, make: Callable[[str], None]) -> None:
        if self.displace and self.excluded_below is not None:
            path = os.path.join(place.path, name)
            keep = self.excluded_below(path)
            removal.refuse_kept(name, place.target, os.path.join(self.target, path), keep)
        removal.replace(name, place.target, make, displace=self.displace)

    def _unchanged(self, place: Place, name: str, status: os.stat_result) -> bool:
        try:
            other = os.stat(name, dir_fd=place.target, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if stat.S_IFMT(other.st_mode) != stat.S_IFMT(status.st_mode) or other.st_size != status.st_size:
            return False
        if stat.S_ISLNK(status.st_mode):
            return os.readlink(name, dir_fd=place.target) == os.readlink(name, dir_fd=place.source)
        mode = contents.kept_mode(status, contents.same_owner(status, other))
        same = (status.st_mtime_ns, mode, status.st_rdev)
        return (other.st_mtime_ns, stat.S_IMODE(other.st_mode), other.st_rdev) == same

    def _copy_file(self, place: Place, name: str) -> bool | None:
        try:
            reading = contents.open_file(name, place.source)
        except PermissionError as error:
            self.unreadable(place.path, name, error)
            return None
        except OSError as error:
            raise explained(error, os.path.join(self.source, place.path, name)) from error

        def make(new: str) -> None:
            contents.make_copy(reading, new, place.target, chunk=self.chunk, between=self.between)

        with opened(reading):
            self._replace(place, name, make)
        return True

    def _copy_twin(self, place: Place, name: str, status: os.stat_result) -> bool | None:
        """Copy a file with several names once, and make hard links for its other names."""
        with self._lock:
            twin = self._twins.get(folders.identity(status))
            if twin is None:
                first = self._twins[folders.identity(status)] = _Twin()
        if twin is None:
            try:
                done = self._copy_one(place, name, status)
                first.place = (place.path, name) if done else None
            finally:
                first.done.set()
            return done
        twin.done.wait()  # another thread is copying it
        if twin.place is not None:
            path, other = twin.place
            with opened(folders.open_below(self.top, filter(None, path.split("/")))) as folder:
                if self._link(folder, other, place, name):
                    return True
        return self._copy_one(place, name, status)

    def _link(self, folder: int, name: str, place: Place, new_name: str) -> bool:
        def make(new: str) -> None:
            os.link(name, new, src_dir_fd=folder, dst_dir_fd=place.target, follow_symlinks=False)

        try:
            self._replace(place, new_name, make)
        except OSError as error:
            if error.errno not in NO_LINK:
                raise
            return False
        return True


def _make_other(name: str, parent: int, status: os.stat_result, goal: str | None) -> None:
    if goal is not None:
        os.symlink(goal, name, dir_fd=parent)
    else:
        os.mknod(name, stat.S_IFMT(status.st_mode) | 0o600, status.st_rdev, dir_fd=parent)
    with opened(os.open(name, HANDLE, dir_fd=parent)) as handle:
        if stat.S_IFMT(os.fstat(handle).st_mode) != stat.S_IFMT(status.st_mode):
            raise OSError(errno.ESTALE, "replaced by another process meanwhile")
        contents.copy_properties(None, handle_path(handle), status)
