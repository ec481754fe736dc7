# SPDX-License-Identifier: GPL-2.0-or-later
"""Removes and replaces entries of folders by descriptor; see :mod:`slurmhooks.scrun.folders`.

What is replaced is there until its successor is complete.
"""

from __future__ import annotations

import contextlib
import errno
import os

from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.folders import (
    HANDLE,
    Folder,
    Walk,
    explained,
    identity,
    is_folder,
    open_folder,
    opened,
    parent_of,
    scan,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slurmhooks.scrun.folders import Identity, Path


def remove_tree(path: Path) -> None:
    """Remove a folder with all that is in it; nothing to do if there is none.

    As ``rm -r --one-file-system`` does: follows no symbolic link, not even the path itself with a slash at its end;
    leaves what is mounted in it, a bind mount too; goes on after what cannot be removed, and raises at the end. Unlike
    rm, it gets over folders without write permission. Others may rename and exchange what is in the folder meanwhile:
    nothing outside of it is removed.

    Raises:
        StagingError: something could not be removed; the text names it.
    """
    shown = os.fsdecode(path)
    bare = shown.rstrip("/")
    try:
        with parent_of(bare or shown) as (parent, name):
            if shown != bare and not is_folder(name, parent):
                raise NotADirectoryError(errno.ENOTDIR, "not a folder")
            remove_at(name, parent, bare)
    except FileNotFoundError:
        return
    except OSError as error:
        raise explained(error, shown) from error


def remove_at(name: str, parent: int, shown: str, expected: Identity | None = None) -> None:
    """Remove an entry of a folder, with all that is in it.

    Args:
        name: the entry.
        parent: descriptor of the folder.
        shown: its path, for messages.
        expected: the identity of the folder that is meant; anything else is left.
    """
    if expected is None and not is_folder(name, parent):
        os.unlink(name, dir_fd=parent)
        return
    with opened(open_folder(name, parent, writable=True)) as top:
        if expected not in (None, identity(os.fstat(top))):
            raise OSError(errno.ESTALE, "is another folder now")
        removal = _Removal(shown, top)
        removal.run(top)
    if removal.failures:
        more = f" (and {len(removal.failures) - 1} more)" if len(removal.failures) > 1 else ""
        raise StagingError(f"{removal.failures[0].text}{more}")
    os.rmdir(name, dir_fd=parent)


class _Removal(Walk):
    """Removes all that is in a folder; what cannot be removed is told at the end."""

    def __init__(self, shown: str, top: int) -> None:
        super().__init__(shown)
        self.failures: list[StagingError] = []
        self._mount = _mount_of(top)

    def enter(self, folder: Folder) -> None:
        for entry in scan(folder.fds[0]):
            if entry.is_dir(follow_symlinks=False):
                folder.names.append(entry.name)
                continue
            with self._noting(folder, entry.name):
                os.unlink(entry.name, dir_fd=folder.fds[0])

    def descend(self, folder: Folder, name: str) -> tuple[int, ...] | None:
        flags = HANDLE | os.O_DIRECTORY
        with self._noting(folder, name), opened(os.open(name, flags, dir_fd=folder.fds[0])) as handle:
            if _mount_of(handle) != self._mount:
                raise OSError(errno.EXDEV, "another file system is mounted here")
            return (open_folder(".", handle, writable=True),)
        return None

    def leave(self, folder: Folder, parent: Folder | None) -> None:
        if parent is None:
            return
        try:
            os.rmdir(folder.name, dir_fd=parent.fds[0])
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or not self.failures:
                self.failures.append(explained(error, os.path.join(self.shown, folder.path)))

    @contextlib.contextmanager
    def _noting(self, folder: Folder, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            pass  # somebody else has removed it
        except OSError as error:
            self.failures.append(explained(error, os.path.join(self.shown, folder.path, name)))


def _mount_of(folder: int) -> tuple[int, bytes]:
    """Return what differs between mounts, bind mounts of one file system and Btrfs subvolumes."""
    with opened(os.open(f"/proc/self/fdinfo/{folder}", os.O_RDONLY)) as info:
        mount = next((line for line in os.read(info, 4096).splitlines() if line.startswith(b"mnt_id:")), b"")
    return os.fstat(folder).st_dev, mount


def _new_name() -> str:
    return f".slurmhooks-{os.urandom(8).hex()}"


@contextlib.contextmanager
def _set_aside(name: str, parent: int) -> Iterator[None]:
    """Rename an entry, and remove it once the block has put another in its place; otherwise rename it back."""
    old = _new_name()
    os.rename(name, old, src_dir_fd=parent, dst_dir_fd=parent)
    try:
        yield
    except BaseException:
        os.rename(old, name, src_dir_fd=parent, dst_dir_fd=parent)
        raise
    remove_at(old, parent, old)


def replace(name: str, parent: int, make: Callable[[str], None], *, displace: bool = False) -> None:
    """Make an entry that is no folder; what had its name before is there until the new one is complete.

    Args:
        name: what to make.
        parent: descriptor of the folder that is to hold it.
        make: makes it under the name that it is given, with what else belongs to it; raises FileExistsError if there
            is something.
        displace: a folder may be replaced as well, with all that is in it.

    Raises:
        IsADirectoryError: there is a folder, and ``displace`` is not set.
    """
    try:
        make(name)
    except FileExistsError:
        pass
    else:
        return
    folder = is_folder(name, parent)
    if folder and not displace:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    new = _new_name()
    try:
        make(new)
        with _set_aside(name, parent) if folder else contextlib.nullcontext():
            os.rename(new, name, src_dir_fd=parent, dst_dir_fd=parent)
    finally:
        with contextlib.suppress(FileNotFoundError):  # rename() leaves it if both names are one file
            os.unlink(new, dir_fd=parent)


def make_folder(name: str, parent: int, *, displace: bool = False) -> int:
    """Open a folder to be filled; make it if need be.

    Args:
        name: its name.
        parent: descriptor of the folder that is to hold it.
        displace: replace what is there and no folder.

    Raises:
        NotADirectoryError: something else is there, and ``displace`` is not set.
    """
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        if displace and not is_folder(name, parent):
            with _set_aside(name, parent):
                os.mkdir(name, 0o700, dir_fd=parent)
    return open_folder(name, parent, writable=True)
