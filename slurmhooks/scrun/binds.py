# SPDX-License-Identifier: GPL-2.0-or-later
"""Copy the sources of bind mounts, for nodes that do not have the files of scrun's machine.

The list of mounts is a stack, and only the runtime knows what lies on top of what, and which option wins. So the list
stays as it is, and only sources change.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time

from slurmhooks.log import log
from slurmhooks.scrun import cancel, contents
from slurmhooks.scrun.entries import copy_opened_file
from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.folders import explained, identity, is_folder, open_below, open_folder
from slurmhooks.scrun.lookup import HANDLE, opened
from slurmhooks.scrun.mount_points import make_mount_points
from slurmhooks.scrun.origins import origin_again, origin_of
from slurmhooks.scrun.trees import copy_opened_tree, open_target, open_top
from slurmhooks.values import several

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slurmhooks.scrun.oci import Config, Mount
    from slurmhooks.scrun.origins import Origin

KERNEL_TREES = ("/proc", "/sys")
"""Folders of the host whose bind mounts stay by default."""
CLOCK_SECONDS = 3.0
"""Seconds to wait for the next time of a file system's clock: the coarsest clocks have steps of two seconds."""


READ_ONLY = ("ro", "rro")
"""Options with which nothing is returned, also beside ``rw``, which crun and runc understand differently."""
COPIES = ".binds"
"""Added to the path of a root file system: the folder with the copies for it."""


class Bind:
    """A bind mount whose source was replaced by a copy.

    Attributes:
        source: the file or folder on the host.
        destination: its path in the container.
        read_only: one of the mount's options is ``ro`` or ``rro``.
        copied_at: when the copies were complete, in nanoseconds of their file system's clock. 0: unknown, so every file
            counts as changed by the container.
        inodes: inode numbers of the copy, with the path ``""``, and of the folders in it, by their paths in it.
        host: device and inode number of the source, or of the folder of a file. None: unknown, so nothing is returned.
        copy: path of the copy, below the folder of the copies. None: unknown, so nothing is returned.
        place: device and inode number of the folder of the copies. None: unknown, so nothing is returned.
        origin: the open source, in the process that has copied it. None: the path is opened again, and must lead to
            ``host``.
    """

    __slots__ = ("copied_at", "copy", "destination", "host", "inodes", "origin", "place", "read_only", "source")

    def __init__(
        self,
        source: str,
        destination: str,
        read_only: bool,
        copied_at: int = 0,
        inodes: dict[str, int] | None = None,
        host: Sequence[int] | None = None,
        copy: str | None = None,
        place: Sequence[int] | None = None,
    ) -> None:
        self.source = source
        self.destination = destination
        self.read_only = read_only
        self.copied_at = copied_at
        self.inodes = inodes or {}
        self.host = host
        self.copy = copy
        self.place = place
        self.origin: Origin | None = None


def copy_binds(config: Config, rootfs: str, *, keep: Iterable[str] = KERNEL_TREES) -> list[Bind]:
    """Copy the sources of bind mounts, and let the mounts have the copies as their sources.

    For nodes that do not have the files of scrun's machine. The copies are in a new folder beside the root file system,
    ``ROOTFS.binds``, which only this user can enter: stage both in one folder, and remove both in the end. One that
    exists is used if it belongs to this user and nobody else can enter it. The mounts
    stay as they are, so the runtime applies them in their order and with their options. Of sources of which one is in
    another one, there is one copy, so the container sees the same files at both places.

    Bind mounts of devices and sockets keep their sources, and so do those of sources below ``keep``. If a source is a
    symbolic link, its target is copied, as a mount would show it; root does not follow links of other users. A
    relative source is in the bundle of the configuration, and becomes absolute. Missing mount points are made in the
    root file system, because folders in it may belong to users whom the runtime of a job does not have.

    Args:
        config: the configuration to change.
        rootfs: path of the staged root file system.
        keep: folders of the host whose bind mounts keep their sources.

    Returns:
        the mounts that have copies, for :func:`return_binds`. Writable sources stay open as long as
        these objects exist.

    Raises:
        StagingError: a source is missing or cannot be copied, or others can enter the folder of the copies.
        TypeError: ``keep`` is a str.
    """
    mounts: list[tuple[Mount, Bind, Origin]] = []
    host_folders = several("keep", keep)
    for mount in config.mounts:
        if not mount.is_bind or mount.source is None:
            continue
        mount.source = os.path.join(config.bundle, mount.source)
        if _below(mount.source, host_folders):
            continue
        try:
            origin = origin_of(mount.source)
        except OSError as error:
            raise StagingError(f"bind mount of {mount.source!r}: {error.strerror}") from error
        if origin is not None:
            read_only = any(option in READ_ONLY for option in mount.options)
            mounts.append((mount, Bind(mount.source, mount.destination, read_only), origin))
    make_mount_points(rootfs, config.mounts)
    if not mounts:
        return []
    place = _place(rootfs)
    copies = Copies(place)
    for _, bind, origin in sorted(mounts, key=lambda each: len(each[2].path)):
        copies.add(bind, origin)
    copied_at = _time_after_copying(place)
    for mount, bind, origin in mounts:
        assert bind.copy is not None
        mount.source = os.path.join(place, bind.copy)
        bind.place = list(copies.identity)
        bind.copied_at = copied_at
        if not bind.read_only:
            bind.origin, bind.host = origin, list(origin.identity)
    return [bind for _, bind, _ in mounts]


def _place(rootfs: str) -> str:
    """Return the path of the folder with the copies for a root file system."""
    return os.path.abspath(rootfs) + COPIES


def _open_place(place: str, known: Sequence[int] | None = None) -> int:
    """Open the folder with the copies.

    ``known`` are its device and inode number; root may have given it to the user of the container. None: it is made, if
    it does not exist, and must be this user's alone.

    Raises:
        StagingError: that is not possible, others can enter it, or it is another one.
    """
    with opened(open_target(place) if known is None else open_top(place)) as folder:
        status = os.fstat(folder)
        if known is None and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
            raise StagingError(
                f"{place!r} is for copies of bind mounts, and others can enter it: it belongs to user id "
                f"{status.st_uid} and has mode {stat.S_IMODE(status.st_mode):04o}; remove it, and stage where only "
                "this user can write"
            )
        if known is not None and identity(status) != tuple(known):
            raise StagingError(
                f"{place!r} is another folder than the one with the copies of bind mounts, so nothing is copied back"
            )
        return os.dup(folder)


def _time_after_copying(rootfs: str) -> int:
    """Return a time that is not before the time of any copy, and before that of every later change.

    A clock of a file system has steps, usually of some milliseconds, so this function waits for the next one. It
    returns 0 if this user may not touch the folder, or if the file system does not keep the times of changes.
    """
    deadline = time.monotonic() + CLOCK_SECONDS
    with opened(open_top(rootfs)) as root:
        try:
            copied_at = _touch(root)
            while time.monotonic() < deadline:
                if _touch(root) > copied_at:
                    return copied_at
                time.sleep(0.001)
        except OSError:
            pass  # the next line says what follows
    log.verbose("no times of changes in %r, so all files of bind mounts will count as changed", rootfs)
    return 0


def _touch(folder: int) -> int:
    """Set the times of a folder to what they are, and return the time of that change."""
    status = os.fstat(folder)
    os.utime(folder, ns=(status.st_atime_ns, status.st_mtime_ns))
    return os.fstat(folder).st_ctime_ns


class Copies:
    """The copies of the sources of bind mounts, in one folder, by numbers.

    Attributes:
        identity: device and inode number of the folder.
    """

    def __init__(self, place: str) -> None:
        """Make the folder, if it does not exist."""
        self._place = place
        with opened(_open_place(place)) as folder:
            self.identity = identity(os.fstat(folder))
            self._next = 1 + max((int(name) for name in os.listdir(folder) if name.isdecimal()), default=-1)
        self._made: list[tuple[str, Bind]] = []
        """The binds that have copies of their own, with the real paths of the sources."""

    def add(self, bind: Bind, origin: Origin) -> None:
        """Set where the copy of a source is and its inode numbers; copy it, unless the copy of a folder has it."""
        for path, other in self._made:
            inner = os.path.relpath(origin.path, path).split("/")
            if inner[0] != ".." and self._has(bind, origin, other, [name for name in inner if name != "."]):
                return
        bind.copy = str(self._next)
        self._next += 1
        target = os.path.join(self._place, bind.copy)
        log.debug("copying the source of a bind mount", source=bind.source, target=target)
        with opened(_open_place(self._place, self.identity)) as parent:
            try:
                bind.inodes = _copy_in(bind.source, parent, bind.copy, origin, target)
            except OSError as error:
                raise explained(error, target) from error
        self._made.append((origin.path, bind))

    def _has(self, bind: Bind, origin: Origin, other: Bind, inner: list[str]) -> bool:
        """Tell whether a copy has a source in it, and set where."""
        names = [*(other.copy or "").split("/"), *inner]
        try:
            with opened(_open_place(self._place, self.identity)) as top, opened(open_below(top, names[:-1])) as parent:
                status = os.stat(names[-1], dir_fd=parent, follow_symlinks=False)
        except OSError:
            return False
        if not (stat.S_ISDIR if origin.name is None else stat.S_ISREG)(status.st_mode):
            return False
        bind.copy = "/".join(names)
        above = "".join(f"{name}/" for name in inner)
        bind.inodes = {
            path.removeprefix(above): inode for path, inode in other.inodes.items() if path.startswith(above)
        }
        bind.inodes[""] = status.st_ino
        return True


def _copy_in(source: str, parent: int, name: str, origin: Origin, target: str) -> dict[str, int]:
    """Copy a file or folder; return its inode numbers, see :class:`Bind`."""
    if origin.name is None:
        os.mkdir(name, 0o700, dir_fd=parent)
        with opened(open_folder(".", origin.folder)) as reading, opened(open_folder(name, parent)) as writing:
            return copy_opened_tree(reading, writing, source, target)
    with origin.opened_file() as handle, opened(contents.open_handle(handle, source)) as reading:
        copy_opened_file(reading, name, parent, (source, target), cancel.requested)
    return {"": os.stat(name, dir_fd=parent, follow_symlinks=False).st_ino}


def return_binds(binds: Iterable[Bind], rootfs: str) -> None:
    """Copy files that the container changed or added in copied bind mounts back to the sources.

    A file that only the host changed stays as it is; of a file that both changed, the container's is copied. Nothing is
    deleted on the host, and read-only mounts are skipped, also where one lies on its own place in a writable one. A
    folder of the host is not replaced by a file, nor a file by
    a folder. If a source is a symbolic link, its target is written.

    Like a mount, this function stays with the folder that was copied, and writes nowhere else if the path leads to
    another one by now. A file is written in the folder in which it was.

    Args:
        binds: the result of :func:`copy_binds`.
        rootfs: path of the root file system; the copies are beside it.

    Raises:
        StagingError: a file could not be copied; the text names it, and both paths if only one of them is a folder. Or
            the source is not there any more, or nobody knows which folder was copied; the text names the copy.
    """
    place = _place(rootfs)
    mounted = list(binds)
    for number, bind in enumerate(mounted, 1):
        hidden = _hidden(bind, mounted[number:])
        if not bind.read_only and "" not in hidden:
            _copy_back(bind, place, hidden)


def _hidden(bind: Bind, later: Iterable[Bind]) -> set[str]:
    """Return the paths in a copy that lie below read-only mounts of themselves; an empty one is that of the whole copy.

    The container cannot have changed them by this mount, whatever their times say. Where the container sees them at
    another place, too, they are not among them.
    """
    hidden = set()
    for other in later:
        inner = os.path.relpath(f"/{other.destination}", f"/{bind.destination}")
        if other.read_only and other.copy == os.path.normpath(os.path.join(bind.copy or "", inner)):
            hidden.add("" if inner == "." else inner)
    return hidden


def _copy_back(bind: Bind, place: str, hidden: set[str]) -> None:
    if bind.copy is None or bind.place is None:
        raise StagingError(
            f"nothing tells which copy of {bind.source!r} below {place!r} is to be returned: keep the binds of "
            "copy_binds(), or store all their attributes, with 'copy' and 'place'"
        )
    copied = os.path.join(place, bind.copy)
    *folders, name = bind.copy.split("/")
    try:
        with opened(_open_place(place, bind.place)) as top, opened(open_below(top, folders)) as parent:
            copy = os.open(name, HANDLE, dir_fd=parent)
    except FileNotFoundError:
        return  # the container removed it
    except OSError as error:
        raise explained(error, copied) from error
    with opened(copy):
        status = os.fstat(copy)
        folder = stat.S_ISDIR(status.st_mode)
        if not folder and bind.inodes.get("") == status.st_ino and status.st_ctime_ns <= bind.copied_at:
            return
        origin = bind.origin or origin_again(bind.source, bind.host, copied)
        origin.still(bind.source, copied)
        if folder != _is_folder(origin):
            kind = "a folder" if folder else "not a folder"
            raise StagingError(
                f"{copied!r} is {kind}, unlike {bind.source!r}, from which it was copied: neither is replaced; "
                "move one of them away"
            )
        try:
            if origin.name is None:
                _folder_back(bind, origin, copy, copied, hidden)
            else:
                _file_back(bind, origin, copy, copied)
        except OSError as error:
            raise explained(error, bind.source) from error


def _is_folder(origin: Origin) -> bool:
    """Tell whether a folder is at an origin now."""
    if origin.name is None:
        return True
    try:
        return is_folder(origin.name, origin.folder)
    except FileNotFoundError:
        return False


def _folder_back(bind: Bind, origin: Origin, copy: int, copied: str, hidden: set[str]) -> None:
    with (
        opened(open_folder(".", copy)) as reading,
        opened(open_folder(".", origin.folder, writable=True)) as writing,
    ):
        copy_opened_tree(
            *(reading, writing, copied, bind.source),
            update=True,
            copied_at=bind.copied_at,
            originals=bind.inodes,
            without=hidden,
        )


def _file_back(bind: Bind, origin: Origin, copy: int, copied: str) -> None:
    assert origin.name is not None
    keeps = None
    with contextlib.suppress(FileNotFoundError), origin.opened_file() as handle:
        status, other = os.fstat(copy), os.fstat(handle)
        if not stat.S_ISREG(other.st_mode):
            raise StagingError(
                f"{bind.source!r} is no regular file any more, so nothing is copied back; the file remains in "
                f"{copied!r}"
            )
        mode = contents.kept_mode(status, contents.same_owner(status, other))
        kept = (status.st_size, status.st_mtime_ns, mode)
        if kept == (other.st_size, other.st_mtime_ns, stat.S_IMODE(other.st_mode)):
            return
        # Not the inode number: that of a file which was replaced may be used again.
        if os.geteuid() == 0 and status.st_uid != other.st_uid:
            keeps = other
    try:
        reading = contents.open_handle(copy, copied)
    except OSError as error:
        raise explained(error, copied) from error
    with opened(reading):
        copy_opened_file(reading, origin.name, origin.folder, (copied, bind.source), cancel.requested, keeps)


def _below(path: str, folders: Iterable[str]) -> bool:
    real = os.path.normpath(path)
    return any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in folders)
