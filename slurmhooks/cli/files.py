# SPDX-License-Identifier: GPL-2.0-or-later
"""Replace files that other processes may have open."""

import os
import tempfile
from pathlib import Path


def replace(target: Path, content: bytes, mode: int) -> None:
    """Replace a file atomically; processes that have the old file open or mapped keep it.

    Args:
        target: the file; a missing folder is created.
        content: the new content.
        mode: the new permissions, regardless of the umask.

    Raises:
        OSError: the file cannot be written; the old file is unchanged.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        error.filename = str(target)
        raise
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException as error:
        if isinstance(error, OSError):
            error.filename = str(target)
        os.unlink(name)
        raise
