# SPDX-License-Identifier: GPL-2.0-or-later
"""Open folders and walk through them by descriptor, so that no link and no rename leads out of a tree.

Other processes may change the tree at the same time. Therefore each folder is opened by a single name relative to the
descriptor of its parent, never through a symbolic link, and the path of the tree is resolved only once, by
:mod:`slurmhooks.scrun.lookup`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.lookup import HANDLE, find, handle_path, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    Identity = tuple[int, int]

FOLDER = os.O_RDONLY | os.O_DIRECTORY
"""Flags to open ``.`` and ``..``, which are never links."""


def explained(error: OSError, path: str) -> StagingError:
    """Return a refusal that names a path and the reason of an error."""
    reason = "not a folder" if error.errno == errno.ENOTDIR else error.strerror
    return StagingError(f"{path!r}: {reason or error}")


def identity(status: os.stat_result) -> Identity:
    """Return device and inode, which identify a file or folder."""
    return status.st_dev, status.st_ino


def open_folder(name: str, parent: int, *, writable: bool = False) -> int:
    """Open a folder in another one; fails for a symbolic link.

    ``writable``: first give the owner of the folder all permissions, if this user may.
    """
    with opened(os.open(name, HANDLE | os.O_DIRECTORY, dir_fd=parent)) as handle:
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        if writable and mode & 0o700 != 0o700:
            with contextlib.suppress(OSError):
                os.chmod(handle_path(handle), mode | 0o700)
        return os.open(".", FOLDER, dir_fd=handle)


def open_below(top: int, names: Iterable[str], *, make: bool = False) -> int:
    """Open a folder several levels below another one, without following symbolic links."""
    folder = os.dup(top)
    try:
        for name in names:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=folder)
            lower = open_folder(name, folder)
            os.close(folder)
            folder = lower
    except BaseException:
        os.close(folder)
        raise
    return folder


@contextlib.contextmanager
def parent_of(path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Open the parent folder of a path, see :func:`find`, and yield its descriptor and the last component."""
    head, name = os.path.split(path)
    if name in ("", ".", ".."):
        raise StagingError(f"{path!r}: the last component must be the name of a file or folder")
    with opened(find(head or ".", make=0o777 if make else None)) as parent:
        yield parent, name


def scan(folder: int) -> list[os.DirEntry[str]]:
    """Return the entries of an open folder; their status is available as long as the folder is open."""
    with os.scandir(folder) as entries:
        return list(entries)


def is_folder(name: str, parent: int) -> bool:
    """Return whether an entry is a folder, not a link to one."""
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


class Folder:
    """A folder on the path of a walk, in one tree or in several.

    Attributes:
        name: the last component of its path.
        path: path relative to the top of the walk.
        fds: a descriptor for each tree.
        names: names of the folders in it that the walk has not visited yet.
    """

    __slots__ = ("_identities", "fds", "name", "names", "path")

    def __init__(self, name: str, path: str, fds: tuple[int, ...]) -> None:
        """Take ownership of open descriptors."""
        self.name = name
        self.path = path
        self.fds = fds
        self.names: list[str] = []
        self._identities = [identity(os.fstat(fd)) for fd in fds]

    def close(self) -> None:
        """Close the descriptors, until :meth:`reopen`."""
        for fd in self.fds:
            os.close(fd)
        self.fds = ()

    def reopen(self, child: Folder) -> None:
        """Open the folder again, as the parent of an open child."""
        fds: list[int] = []
        try:
            for fd, expected in zip(child.fds, self._identities, strict=True):
                fds.append(os.open("..", FOLDER, dir_fd=fd))
                if identity(os.fstat(fds[-1])) != expected:
                    raise OSError(errno.ESTALE, "moved by another process meanwhile")
        except BaseException:
            for fd in fds:
                os.close(fd)
            raise
        self.fds = tuple(fds)


class Walk:
    """A walk through one tree, or through several trees of the same shape at once.

    Only the current folder is open, and the walk is not recursive, so the depth of a tree is not limited. The walk
    returns to the parent through ``..``, and fails if that is not the folder that it came from.
    """

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def enter(self, folder: Folder) -> None:
        """Visit a folder before the folders in it, and fill its ``names``."""
        raise NotImplementedError

    def descend(self, folder: Folder, name: str) -> tuple[int, ...] | None:
        """Open a folder in a folder, in each tree; return None to skip it."""
        raise NotImplementedError

    def leave(self, folder: Folder, parent: Folder | None) -> None:
        """Visit a folder after the folders in it; the parent of the top folder is None."""

    def run(self, *tops: int) -> None:
        """Walk through the trees below top folders, whose descriptors stay open.

        Raises:
            StagingError: an operation failed; the text names the folder.
        """
        stack = [Folder("", "", tuple(os.dup(top) for top in tops))]
        try:
            self.enter(stack[0])
            while stack:
                folder = stack[-1]
                if folder.names:
                    name = folder.names.pop()
                    fds = self.descend(folder, name)
                    if fds is not None:
                        stack.append(Folder(name, os.path.join(folder.path, name), fds))
                        folder.close()
                        self.enter(stack[-1])
                    continue
                parent = stack[-2] if len(stack) > 1 else None
                if parent is not None:
                    parent.reopen(folder)
                self.leave(folder, parent)
                stack.pop().close()
        except OSError as error:
            inner = error.filename if isinstance(error.filename, str) else ""
            raise explained(error, os.path.join(self.shown, stack[-1].path, inner).rstrip("/")) from error
        finally:
            for folder in stack:
                folder.close()
