# SPDX-License-Identifier: GPL-2.0-or-later
"""Logs that several processes append to, none of which may be told to open another file."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

from slurmhooks.files import durable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def bound(log: Path, most: int) -> None:
    """Move the end of a log that has become too large to the file ``NAME.1``, and empty the log.

    The log stays the same file, because programs that handlers have left running still write to it. What they write
    in this very moment may be lost. If the disk is full, the log is only emptied.

    ``most`` is the largest size, and that of ``NAME.1``, in bytes. Whoever writes to the log has opened it for
    appending. It need not exist.
    """
    with suppress(OSError), open(os.open(log, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW), "rb+", 0) as file:
        if os.fstat(file.fileno()).st_size <= most:
            return
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # otherwise another process does the same
        size = file.seek(0, os.SEEK_END)
        if size <= most:
            return
        end = os.pread(file.fileno(), most, size - most)
        with suppress(OSError):
            durable.write(f"{log}.1", end[end.find(b"\n") + 1 :], sync=False)
        file.truncate(0)
