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

STAMPED = rb"(?m)^\[2\d{3}-.*\n"
"""The lines of slurmhooks, which begin with a time."""
MOST_READ = 4
"""How many times the largest size of a log is read at most."""


def bound(log: Path, most: int) -> None:
    """Move the end of a log that has become too large to the file ``NAME.1``, and empty the log.

    Programs may print more in a second than both hold. So of what is older, a quarter of ``NAME.1`` has the last lines
    of slurmhooks: one of them may be about the error whose id a user has read.

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
        import re  # programs that hand calls over import this module

        from slurmhooks.files import regular

        older = b""
        with suppress(OSError):
            older = regular.read(f"{log}.1", most) + b"\n"
        start = max(0, size - MOST_READ * most)
        older += os.pread(file.fileno(), size - start, start)
        room = most // 4  # for lines from before the cut, which is at the start of a line if there is one
        cut = len(older) - (most - room)
        cut = max(cut, older.find(b"\n", cut) + 1)
        kept = bytearray()
        for line in re.finditer(STAMPED, older[:cut]):
            kept += line[0]
        if (over := len(kept) - room) > 0:
            del kept[: kept.find(b"\n", over - 1) + 1]
        with suppress(OSError):
            durable.write(f"{log}.1", bytes(kept) + older[cut:], sync=False)
        file.truncate(0)
