# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies what an open file holds, and what belongs to it: owner, mode, times, extended attributes.

Content is copied inside the kernel (copy_file_range), which shares the blocks with the original where the file system
can (reflink: XFS, Btrfs) and moves them without passing them through this process where it cannot.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 64 << 20
"""Bytes copied between two looks at whether the copy is still wanted."""
BY_HAND = 1 << 20

NO_RANGE_COPY = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}
NO_XATTR = {errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.ENODATA, errno.EINVAL, errno.ENOSYS}
NOT_OURS = {errno.EPERM, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}
"""What a user may not do, and what a file system without such a thing answers."""


def open_file(name: str, parent: int | None = None) -> int:
    """Open a regular file for reading.

    Args:
        name: below ``parent`` one component, which is no symbolic link; otherwise a path.
        parent: descriptor of a folder.
    """
    # Without O_NONBLOCK a FIFO would wait for a writer.
    follow = os.O_NOFOLLOW if parent is not None else 0
    file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | follow, dir_fd=parent)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "not a regular file", name)
    return file


def make_copy(reading: int, name: str, parent: int, *, between: Callable[[int], None], chunk: int = CHUNK) -> None:
    """Make a new file with all that an open one has.

    Args:
        reading: the file to copy.
        name: the new file's name; FileExistsError if there is something.
        parent: descriptor of the folder that is to hold it.
        between: called after each chunk but the last, with its size.
        chunk: bytes to copy at a time.
    """
    status = os.fstat(reading)
    # Nobody else can read it before it has its owner.
    writing = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=parent)
    try:
        _copy_content(reading, writing, status, chunk, between)
        copy_properties(reading, writing, status)
    finally:
        os.close(writing)


def copy_properties(source: int | None, target: int | str, status: os.stat_result) -> None:
    """Give a new file or folder what belongs to another one.

    As with ``cp -a``, the setuid, setgid and sticky bits are kept only with owner and group: a copy of somebody else's
    program must not run as the one who copied it.

    Args:
        source: descriptor of the original, for extended attributes; None for what has none.
        target: descriptor of the copy, or a path that leads to it through no symbolic link of a tree.
        status: of the original.
    """
    mode = kept_mode(status, _give(target, status))
    if source is not None:
        # Before the mode: it may take away the permission to write them.
        _copy_attributes(source, target)
    if not stat.S_ISLNK(status.st_mode):
        os.chmod(target, mode)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def kept_mode(status: os.stat_result, same_owner: bool) -> int:
    """Return the permissions that a copy gets."""
    return stat.S_IMODE(status.st_mode) if same_owner else status.st_mode & 0o777


def same_owner(one: os.stat_result, other: os.stat_result) -> bool:
    """Tell whether owner and group are the same."""
    return (one.st_uid, one.st_gid) == (other.st_uid, other.st_gid)


def _give(target: int | str, status: os.stat_result) -> bool:
    """Give a new file to the owner and group of the original, or tell that this user may not."""
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
        os.chown(target, -1, status.st_gid)  # one of this user's groups?
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
            # Some file systems (procfs, FUSE ones) answer 0 where there is content.
            done = _copy_by_hand(reading, writing, position, min(wanted, BY_HAND))
        if not done:
            return  # it has become shorter
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
                return ranges  # a hole to the end
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
