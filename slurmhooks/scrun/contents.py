# SPDX-License-Identifier: GPL-2.0-or-later
"""Copy the content and the properties of an open file: owner, mode, times, extended attributes.

The kernel copies the content (copy_file_range): it shares blocks with the original if the file system can (reflinks of
XFS and Btrfs), and otherwise copies them without passing them through this process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from slurmhooks.scrun.lookup import find, handle_path, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 64 << 20
"""Bytes copied between two checks whether the copy was cancelled."""
BY_HAND = 1 << 20
"""Bytes copied at a time without copy_file_range."""

NO_RANGE_COPY = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}
NO_XATTR = {errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.ENODATA, errno.EINVAL, errno.ENOSYS}
NOT_OURS = {errno.EPERM, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}
"""Errors of operations that this user is not permitted to do, or that the file system does not support."""


def open_file(name: str, parent: int | None = None) -> int:
    """Open a regular file for reading.

    ``name`` is a path, see :func:`find`; with ``parent`` a single component, which must not be a symbolic link.
    """
    if parent is None:
        with opened(find(name)) as handle:
            return open_handle(handle, name)
    # Without O_NONBLOCK, opening a FIFO waits for a writer.
    file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW, dir_fd=parent)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "not a regular file", name)
    return file


def open_handle(handle: int, name: str) -> int:
    """Open a regular file, of which there is an O_PATH descriptor, for reading; the name is for messages."""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", name)
    return os.open(handle_path(handle), os.O_RDONLY)


def make_copy(
    reading: int,
    name: str,
    parent: int,
    *,
    between: Callable[[int], None],
    chunk: int = CHUNK,
    keeps: os.stat_result | None = None,
) -> None:
    """Make a new file with the content and properties of an open file.

    If the name exists, FileExistsError is raised. ``between`` is called after each chunk except the last, with its
    size. ``keeps`` is the status of the file that is replaced, whose owner and mode the new one gets, without extended
    attributes. None: it gets those of the open file.
    """
    status = os.fstat(reading)
    # Other users must not read the file before it has its owner and mode.
    writing = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=parent)
    try:
        _copy_content(reading, writing, status, chunk, between)
        if keeps is None:
            copy_properties(reading, writing, status)
        else:
            copy_properties(None, writing, keeps)
            os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))
    finally:
        os.close(writing)


def copy_properties(source: int | None, target: int | str, status: os.stat_result) -> None:
    """Copy owner, mode, times and extended attributes to a new file or folder.

    As with ``cp -a``, the setuid, setgid and sticky bits are kept only if owner and group are: a copy of another user's
    setuid program must not run as the user who copied it.

    ``source`` is the original, for its extended attributes; None: do not copy them. A path ``target`` has no symbolic
    link of a tree.
    """
    mode = kept_mode(status, _change_owner(target, status))
    if source is not None:
        # Before the mode, which may make the attributes read-only.
        _copy_attributes(source, target)
    if not stat.S_ISLNK(status.st_mode):
        os.chmod(target, mode)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def kept_mode(status: os.stat_result, same_owner: bool) -> int:
    """Return the permissions of a copy."""
    return stat.S_IMODE(status.st_mode) if same_owner else status.st_mode & 0o777


def same_owner(one: os.stat_result, other: os.stat_result) -> bool:
    """Return whether owner and group are the same."""
    return (one.st_uid, one.st_gid) == (other.st_uid, other.st_gid)


def _change_owner(target: int | str, status: os.stat_result) -> bool:
    """Give a new file the owner and group of the original; return whether this user may."""
    if same_owner(os.stat(target), status):
        return True
    try:
        os.chown(target, status.st_uid, status.st_gid)
    except OSError as error:
        if error.errno not in NOT_OURS:
            raise
    else:
        return True
    with contextlib.suppress(OSError):
        os.chown(target, -1, status.st_gid)  # permitted if it is a group of this user
    return False


def _copy_content(
    reading: int, writing: int, status: os.stat_result, chunk: int, between: Callable[[int], None]
) -> None:
    size = status.st_size
    if not size:
        # Files of procfs and of some FUSE file systems have content, but no size.
        position = 0
        while done := _copy_by_hand(reading, writing, position, BY_HAND):
            position += done
            between(done)
    elif status.st_blocks * 512 < size and size > 4096:
        os.ftruncate(writing, size)
        for start, end in _data_ranges(reading, size):
            _copy_range(reading, writing, start, end, chunk, between)
    else:
        _copy_range(reading, writing, 0, size, chunk, between)


def _copy_range(reading: int, writing: int, start: int, end: int, chunk: int, between: Callable[[int], None]) -> None:
    position = start
    in_kernel = True
    while position < end:
        wanted = min(chunk, end - position)
        done = 0
        if in_kernel:
            try:
                done = os.copy_file_range(reading, writing, wanted, position, position)
            except OSError as error:
                if error.errno not in NO_RANGE_COPY:
                    raise
                in_kernel = False
        if not done:
            # On some file systems (procfs, FUSE) copy_file_range copies 0 bytes although there is content.
            done = _copy_by_hand(reading, writing, position, min(wanted, BY_HAND))
        if not done:
            return  # the file has become shorter
        position += done
        if position < end:
            between(done)


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
                return ranges  # the rest is a hole
            return [*ranges, (position, size)]
        ranges.append((start, end))
        position = end
    return ranges


def _copy_attributes(source: int, target: int | str) -> None:
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
