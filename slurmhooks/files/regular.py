# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads files without waiting: an open of a FIFO would wait for a writer."""

from __future__ import annotations

import errno
import os
import stat
import sys

from slurmhooks.files import trusted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def opened(path: Path | str, flags: int = 0) -> int:
    """Return a descriptor to read a regular file.

    Raises:
        OSError: it cannot be opened, or is a folder, a FIFO, a device or the like.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | flags)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.ENOTSUP, "not a regular file", str(path))
    return fd


def read(path: Path | str, most: int = sys.maxsize) -> bytes:
    """Return the content of a regular file.

    ``most`` limits the bytes of a file that another user may have made, large and sparse.

    Raises:
        OSError: as :func:`opened`; or it cannot be read, or has more bytes.
    """
    content = trusted.rest_of(opened(path), most)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"more than {most} bytes", str(path))
    return content
