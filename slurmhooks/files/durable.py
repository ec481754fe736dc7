# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are replaced completely or not at all, even if the power fails."""

from __future__ import annotations

import os
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path | str, data: bytes, mode: int = 0o600, *, sync: bool = True) -> None:
    """Write a file completely or not at all; it is on the disk when this function returns, unless ``sync`` is false.

    Processes that have the old file open or mapped keep it, and several processes may write at the same time.

    The mode does not depend on the umask. Waiting for the disk takes too long for files that nobody needs after a power
    cut.

    Raises:
        OSError: the file cannot be written; the old file stays. The error names the path.
    """
    folder, name = os.path.split(path)
    new = os.path.join(folder, _new_name(name))
    try:
        # Nobody else can open it before it has its mode.
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException as error:
        if isinstance(error, OSError):
            error.filename = str(path)  # the error of a full disk names no file
            del error.filename2  # None would be shown
        with suppress(OSError):  # of a path that is too long, for example, also the new name is
            os.unlink(new)
        raise
    if sync:
        force(folder or ".")


def make(folder: Path) -> None:
    """Make a folder, and those above it, if need be; everybody can enter what was made, whatever the umask is.

    Raises:
        OSError: it cannot be made.
    """
    if not folder.is_dir():
        make(folder.parent)
        folder.mkdir()
        folder.chmod(0o755)


def link(path: Path, target: str) -> None:
    """Create a symbolic link, or change its target, by one rename.

    Raises:
        OSError: the link cannot be created; what had its name stays.
    """
    new = path.with_name(_new_name(path.name))
    new.symlink_to(target)
    try:
        new.replace(path)
    except BaseException:
        new.unlink()
        raise
    force(path.parent)


def _new_name(name: str) -> str:
    """Return the name that a file has until it is complete."""
    return f".{name}.{os.getpid()}.{os.urandom(4).hex()}"


def leftovers(path: Path) -> list[Path]:
    """Return the incomplete files that killed processes have left; nothing may write the file meanwhile."""
    import re  # power programs import this module, and are to keep their calls soon

    pattern = re.compile(rf"\.{re.escape(path.name)}\.\d+\.[0-9a-f]{{8}}")
    return [each for each in path.parent.iterdir() if pattern.fullmatch(each.name)]


def force(folder: Path | str) -> None:
    """Sync the names in a folder to the disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
