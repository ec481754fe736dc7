# SPDX-License-Identifier: GPL-2.0-or-later
"""A lock that processes of every release of slurmhooks respect, whichever kind of lock they use.

On a local file system flock() and record locks do not exclude each other. Where two releases run at once, as during an
upgrade, a lock that changed its kind would belong to one process of each.
"""

from __future__ import annotations

import fcntl
import struct


def take(file: int) -> bool:
    """Lock a file that is open for writing; return False if another process has it.

    It takes both kinds of locks, flock() first, so that of two processes that try at once one gets it. The lock of
    records belongs to the open file, as that of flock() does: NFS makes one of the other, and they must not be of two
    owners. Both end when every process that has the open file has closed it, so a forked child closes it first of all.

    Args:
        file: the descriptor; nobody else in this process may use its open file.

    Raises:
        OSError: the file system has no locks, or does not answer.
    """
    # struct flock: type, whence, start, length (0: all), process.
    whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, whole)
    except (BlockingIOError, PermissionError):
        release(file)
        return False
    return True


def release(file: int) -> None:
    """Give the lock up."""
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_UNLCK, 0, 0, 0, 0))
    fcntl.flock(file, fcntl.LOCK_UN)
