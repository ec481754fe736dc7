# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that other processes have open while they are replaced."""

import os
import tempfile
from pathlib import Path


def replace(target: Path, content: bytes, mode: int) -> None:
    """Put a file in place in one step: a process that has the old one open or mapped keeps it whole.

    Args:
        target: the file; its folder is made if it is missing.
        content: of the file.
        mode: its permissions, whatever the umask is.

    Raises:
        OSError: it cannot be written; what was there stays.
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
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
