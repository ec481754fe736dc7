# SPDX-License-Identifier: GPL-2.0-or-later
"""Remove and replace entries of folders by descriptor; see :mod:`slurmhooks.scrun.folders`.

A replaced entry exists until the new one is complete.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.folders import (
    Folder,
    Walk,
    explained,
    identity,
    is_folder,
    open_folder,
    parent_of,
    scan,
)
from slurmhooks.scrun.lookup import HANDLE, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slurmhooks.scrun.folders import Identity, Path

    Keep = Callable[[str], bool]


def remove_tree(path: Path) -> None:
    """Remove a folder and everything in it; do nothing if it does not exist.

    Like ``rm -r --one-file-system``, this function follows no symbolic link, not even if the path ends with a slash;
    does not remove what is mounted in the folder, not even by a bind mount; and continues after an error, which it
    raises at the end. Unlike rm, it removes folders without write permission. Other processes may rename entries at the
    same time: nothing outside of the folder is removed.

    Raises:
        StagingError: an entry could not be removed; the text names it.
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


def remove_at(name: str, parent: int, shown: str, expected: Identity | None = None, keep: Keep | None = None) -> bool:
    """Remove an entry of a folder, and everything in it; tell whether it was removed, or something in it stays.

    ``expected`` is the identity of the folder to remove; another one is not removed. ``keep`` tells of what is in a
    folder, by its path in it, whether it stays, and with it the folders above it.
    """
    if expected is None and not is_folder(name, parent):
        os.unlink(name, dir_fd=parent)
        return True
    with opened(open_folder(name, parent, writable=True)) as top:
        if expected not in (None, identity(os.fstat(top))):
            raise OSError(errno.ESTALE, "is another folder now")
        removal = _Removal(shown, top, keep)
        removal.run(top)
    if removal.failures:
        more = f" (and {len(removal.failures) - 1} more)" if len(removal.failures) > 1 else ""
        raise StagingError(f"{removal.failures[0].text}{more}")
    if "" in removal.kept:
        return False
    os.rmdir(name, dir_fd=parent)
    return True


class _Removal(Walk):
    """Removes everything in a folder, and collects failures."""

    def __init__(self, shown: str, top: int, keep: Keep | None) -> None:
        super().__init__(shown)
        self.failures: list[StagingError] = []
        self.kept: set[str] = set()
        """Paths of folders in which something stays."""
        self._keep = keep
        self._mount = _mount_of(top)

    def enter(self, folder: Folder) -> None:
        for entry in scan(folder.fds[0]):
            if self._keep is not None and self._keep(os.path.join(folder.path, entry.name)):
                self.kept.add(folder.path)
                continue
            if entry.is_dir(follow_symlinks=False):
                folder.names.append(entry.name)
                continue
            with self._collecting(folder, entry.name):
                os.unlink(entry.name, dir_fd=folder.fds[0])

    def descend(self, folder: Folder, name: str) -> tuple[int, ...] | None:
        flags = HANDLE | os.O_DIRECTORY
        with self._collecting(folder, name), opened(os.open(name, flags, dir_fd=folder.fds[0])) as handle:
            if _mount_of(handle) != self._mount:
                raise OSError(errno.EXDEV, "another file system is mounted here")
            return (open_folder(".", handle, writable=True),)
        return None

    def leave(self, folder: Folder, parent: Folder | None) -> None:
        if parent is None:
            return
        if folder.path in self.kept:
            self.kept.add(parent.path)
            return
        try:
            os.rmdir(folder.name, dir_fd=parent.fds[0])
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or not self.failures:
                self.failures.append(explained(error, os.path.join(self.shown, folder.path)))

    @contextlib.contextmanager
    def _collecting(self, folder: Folder, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            pass  # another process removed it
        except OSError as error:
            self.failures.append(explained(error, os.path.join(self.shown, folder.path, name)))


def _mount_of(folder: int) -> tuple[int, bytes]:
    """Return an identifier of a mount, which differs for bind mounts of one file system and for Btrfs subvolumes."""
    with opened(os.open(f"/proc/self/fdinfo/{folder}", os.O_RDONLY)) as info:
        mount = next((line for line in os.read(info, 4096).splitlines() if line.startswith(b"mnt_id:")), b"")
    return os.fstat(folder).st_dev, mount


def _new_name() -> str:
    return f".slurmhooks-{os.urandom(8).hex()}"


@contextlib.contextmanager
def _set_aside(name: str, parent: int) -> Iterator[None]:
    """Rename an entry while the block creates its successor; then remove it, or rename it back if the block failed."""
    old = _new_name()
    os.rename(name, old, src_dir_fd=parent, dst_dir_fd=parent)
    try:
        yield
    except BaseException:
        os.rename(old, name, src_dir_fd=parent, dst_dir_fd=parent)
        raise
    remove_at(old, parent, old)


class _Search(Walk):
    """Searches a folder for something that must stay."""

    def __init__(self, shown: str, keep: Keep) -> None:
        super().__init__(shown)
        self._keep = keep

    def enter(self, folder: Folder) -> None:
        for entry in scan(folder.fds[0]):
            path = os.path.join(folder.path, entry.name)
            if self._keep(path):
                raise StagingError(f"{self.shown!r}: a folder with {path!r}, which is excluded, so it is not replaced")
            if entry.is_dir(follow_symlinks=False):
                folder.names.append(entry.name)

    def descend(self, folder: Folder, name: str) -> tuple[int, ...]:
        return (open_folder(name, folder.fds[0], writable=True),)


def refuse_kept(name: str, parent: int, shown: str, keep: Keep) -> None:
    """Raise StagingError if an entry is a folder with something that must stay; see :func:`remove_at`."""
    try:
        top = open_folder(name, parent, writable=True)
    except (FileNotFoundError, NotADirectoryError):
        return
    with opened(top):
        _Search(shown, keep).run(top)


def replace(name: str, parent: int, make: Callable[[str], None], *, displace: bool = False) -> None:
    """Create an entry that is not a folder; an existing entry is replaced when the new one is complete.

    ``make`` creates the complete entry under a given name, or raises FileExistsError if the name exists. ``displace``:
    also replace a folder, with everything in it.

    Raises:
        IsADirectoryError: a folder exists, and ``displace`` is not set.
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
        with contextlib.suppress(FileNotFoundError):  # rename() does nothing if both names are the same file
            os.unlink(new, dir_fd=parent)


def replace_file(name: str, parent: int, content: bytes) -> None:
    """Write a whole file; an existing file is replaced when the new one is complete, and its mode kept."""
    new = _new_name()
    try:
        mode = _mode_of_file(name, parent)
        # Nobody else can open it before it has its mode.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(os.open(new, flags, 0o666 if mode is None else 0o600, dir_fd=parent), "wb") as file:
            file.write(content)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
        os.rename(new, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new, dir_fd=parent)
        raise


def _mode_of_file(name: str, parent: int) -> int | None:
    """Return the permissions of a regular file; None if there is none."""
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else None


def make_folder(name: str, parent: int, *, displace: bool = False) -> int:
    """Open a folder for writing; create it if it does not exist.

    ``displace``: replace an existing entry that is not a folder.

    Raises:
        NotADirectoryError: another entry exists, and ``displace`` is not set.
    """
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        if displace and not is_folder(name, parent):
            with _set_aside(name, parent):
                os.mkdir(name, 0o700, dir_fd=parent)
    return open_folder(name, parent, writable=True)
