# SPDX-License-Identifier: GPL-2.0-or-later
"""The places on the host from which bind mounts were copied, and to which nothing but them is copied back.

Between the two copies users may rename folders and exchange them for links. A real mount stays at the folder that was
mounted. So an origin is an open folder, not a path.
"""

from __future__ import annotations

import contextlib
import os
import stat

from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.folders import explained, identity
from slurmhooks.scrun.lookup import find, handle_path, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slurmhooks.scrun.folders import Identity


class Origin:
    """The source of a bind mount, as it was opened; it is closed with this object.

    Attributes:
        folder: descriptor (O_PATH) of the source if this is a folder, otherwise of the folder of the file.
        name: the name of the file in this folder, after all links; None: the source is a folder.
    """

    __slots__ = ("folder", "name")

    def __init__(self, folder: int, name: str | None) -> None:
        """Take ownership of an open descriptor."""
        self.folder = folder
        self.name = name

    def __del__(self) -> None:
        """Close the descriptor."""
        os.close(self.folder)

    @property
    def identity(self) -> Identity:
        """Device and inode of the folder."""
        return identity(os.fstat(self.folder))

    @property
    def path(self) -> str:
        """The path of the source now, without links."""
        return os.path.join(os.readlink(handle_path(self.folder)), self.name or "").rstrip("/") or "/"

    @contextlib.contextmanager
    def opened_file(self) -> Iterator[int]:
        """Open the file, without any permission for it."""
        assert self.name is not None
        with opened(os.open(self.name, os.O_PATH | os.O_NOFOLLOW, dir_fd=self.folder)) as handle:
            yield handle

    def still(self, source: str, copied: str) -> None:
        """Refuse if the folder was removed since."""
        if not os.fstat(self.folder).st_nlink:
            what = repr(source) if self.name is None else f"the folder of {source!r}"
            raise StagingError(
                f"{what} was removed after it had been copied, so nothing is copied back; the files remain in "
                f"{copied!r}"
            )


def origin_of(source: str) -> Origin | None:
    """Open the source of a bind mount; return None if it is neither a folder nor a regular file.

    Raises:
        OSError: the source does not exist, or cannot be opened; or there is a link that root does not follow.
    """
    handle = find(source)
    status = os.fstat(handle)
    if stat.S_ISDIR(status.st_mode):
        return Origin(handle, None)
    with opened(handle):
        if not stat.S_ISREG(status.st_mode):
            return None
        head, name = os.path.split(os.readlink(handle_path(handle)))
        origin = Origin(find(head), name)
        with origin.opened_file() as again:
            if identity(os.fstat(again)) != identity(status):
                raise OSError(None, "moved by another process meanwhile", source)
    return origin


def origin_again(source: str, expected: Sequence[int] | None, copied: str) -> Origin:
    """Open the source of a bind mount that another process has copied.

    ``expected`` are device and inode of the folder that was copied, or of the folder of the file. None: unknown.

    Raises:
        StagingError: there is another folder at that path now, or nobody knows which one was copied.
    """
    if expected is None:
        raise StagingError(
            f"nothing tells which folder {source!r} was when it was copied, so nothing is copied back; the files "
            f"remain in {copied!r}: keep the binds of copy_binds(), or store all their attributes, with 'host'"
        )
    try:
        origin = origin_of(source)
        if origin is None:
            raise OSError(None, "neither a file nor a folder", source)
    except FileNotFoundError:
        head, name = os.path.split(source)
        try:
            origin = Origin(find(head or "."), name)  # the host has removed the file
        except OSError as error:
            raise explained(error, source) from error
    except OSError as error:
        raise explained(error, source) from error
    if origin.identity != tuple(expected):
        what = repr(source) if origin.name is None else f"the folder of {source!r}"
        raise StagingError(
            f"{what} is another folder than the one that was copied, so nothing is copied back; the files remain in "
            f"{copied!r}"
        )
    return origin
