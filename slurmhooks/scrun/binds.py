# SPDX-License-Identifier: GPL-2.0-or-later
"""Replace bind mounts by copies, for nodes that do not have the files of scrun's machine."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time

from slurmhooks.log import log
from slurmhooks.scrun import cancel, contents
from slurmhooks.scrun.entries import copy_opened_file
from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.folders import explained, is_folder, open_below, open_folder
from slurmhooks.scrun.lookup import HANDLE, opened
from slurmhooks.scrun.origins import origin_again, origin_of
from slurmhooks.scrun.removal import make_folder
from slurmhooks.scrun.trees import copy_opened_tree, open_top
from slurmhooks.values import several

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slurmhooks.scrun.oci import Config, Mount
    from slurmhooks.scrun.origins import Origin

KERNEL_TREES = ("/proc", "/sys")
"""Folders of the host whose bind mounts stay by default."""
MAX_LINKS = 40
"""Symbolic links in a path before it counts as a loop, as in Linux."""
CLOCK_SECONDS = 3.0
"""Seconds to wait for the next time of a file system's clock: the coarsest clocks have steps of two seconds."""


class Bind:
    """A bind mount that was replaced by a copy.

    Attributes:
        source: the file or folder on the host.
        destination: its path in the container.
        read_only: the mount was read-only.
        copied_at: when the copies were complete, in nanoseconds of their file system's clock. 0: unknown, so every file
            counts as changed by the container.
        inodes: inode numbers of the copy, with the path ``""``, and of the folders in it, by their paths in it.
        host: device and inode number of the source, or of the folder of a file. None: unknown, so nothing is returned.
        origin: the open source, in the process that has copied it. None: the path is opened again, and must lead to
            ``host``.
    """

    __slots__ = ("copied_at", "destination", "host", "inodes", "origin", "read_only", "source")

    def __init__(
        self,
        source: str,
        destination: str,
        read_only: bool,
        copied_at: int = 0,
        inodes: dict[str, int] | None = None,
        host: Sequence[int] | None = None,
    ) -> None:
        """Set all attributes except ``origin``."""
        self.source = source
        self.destination = destination
        self.read_only = read_only
        self.copied_at = copied_at
        self.inodes = inodes or {}
        self.host = host
        self.origin: Origin | None = None


def copy_binds(config: Config, rootfs: str, *, keep: Iterable[str] = KERNEL_TREES) -> list[Bind]:
    """Copy the sources of bind mounts into the root file system, and remove the mounts from the configuration.

    For nodes that do not have the files of scrun's machine. Bind mounts of devices and sockets stay, and so do those of
    sources below ``keep``. If a source is a symbolic link, its target is copied, as a mount would show it; root does
    not follow links of other users. A mount below another one hides what the other has there, as real mounts do.

    Args:
        config: the configuration to change.
        rootfs: path of the staged root file system; links in it cannot lead the copy out of it.
        keep: folders of the host whose bind mounts stay.

    Returns:
        the copied mounts, for :func:`return_binds`. Writable sources stay open as long as
        these objects exist.

    Raises:
        StagingError: a source is missing or cannot be copied, or only one of source and destination is a folder.
        TypeError: ``keep`` is a str.
    """
    to_copy: list[tuple[Bind, Origin]] = []
    kept: list[Mount] = []
    host_folders = several("keep", keep)
    for mount in config.mounts:
        if not mount.is_bind or mount.source is None or _below(mount.source, host_folders):
            kept.append(mount)
            continue
        try:
            origin = origin_of(mount.source)
        except OSError as error:
            raise StagingError(f"bind mount of {mount.source!r}: {error.strerror}") from error
        if origin is None:
            kept.append(mount)
            continue
        to_copy.append((Bind(mount.source, mount.destination, "ro" in mount.options), origin))
    binds = [bind for bind, _ in to_copy]
    places = _places(binds, rootfs)
    for bind, origin in to_copy:
        bind.inodes = _copy_in(bind.source, rootfs, bind.destination, origin, places)
        if not bind.read_only:
            bind.origin, bind.host = origin, list(origin.identity)
    config.mounts = kept
    copied_at = _time_after_copying(rootfs) if binds else 0
    for bind in binds:
        bind.copied_at = copied_at
    return binds


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


def _copy_in(source: str, rootfs: str, destination: str, origin: Origin, places: list[list[str]]) -> dict[str, int]:
    """Copy a file or folder; return its inode numbers, see :class:`Bind`."""
    parts = _resolved(rootfs, destination)
    target = os.path.join(rootfs, *parts)
    log.debug("copying the source of a bind mount", source=source, target=target)
    if not parts:
        raise StagingError(f"bind mount of {source!r}: {destination!r} is the container's whole root file system")
    with opened(open_top(rootfs)) as root:
        try:
            with opened(open_below(root, parts[:-1], make=True)) as parent:
                if origin.name is None:
                    with (
                        opened(open_folder(".", origin.folder)) as reading,
                        opened(make_folder(parts[-1], parent)) as writing,
                    ):
                        exclude = _below_place(parts, places)
                        return copy_opened_tree(reading, writing, source, target, exclude=exclude)
                with origin.opened_file() as handle, opened(contents.open_handle(handle, source)) as reading:
                    copy_opened_file(reading, parts[-1], parent, (source, target), cancel.requested)
                return {"": os.stat(parts[-1], dir_fd=parent, follow_symlinks=False).st_ino}
        except OSError as error:
            raise explained(error, target) from error


def _places(binds: Iterable[Bind], rootfs: str) -> list[list[str]]:
    """Return the components of the destinations, with all links resolved."""
    places: list[list[str]] = []
    for bind in binds:
        with contextlib.suppress(StagingError):  # raised again if this mount is copied
            places.append(_resolved(rootfs, bind.destination))
    return places


def _below_place(parts: list[str], places: list[list[str]]) -> list[str]:
    """Return patterns for the destinations below another one, which hide what it has there."""
    from glob import escape

    depth = len(parts)
    return [escape("/".join(other[depth:])) for other in places if len(other) > depth and other[:depth] == parts]


def return_binds(binds: Iterable[Bind], rootfs: str) -> None:
    """Copy files that the container changed or added in copied bind mounts back to the sources.

    A file that only the host changed stays as it is; of a file that both changed, the container's is copied. Nothing is
    deleted on the host, and read-only mounts are skipped. A folder of the host is not replaced by a file, nor a file by
    a folder. If a source is a symbolic link, its target is written.

    Like a mount, this function stays with the folder that was copied, and writes nowhere else if the path leads to
    another one by now. A file is written in the folder in which it was.

    Args:
        binds: the result of :func:`copy_binds`.
        rootfs: path of the root file system with the copies; links in it cannot lead out of it.

    Raises:
        StagingError: a file could not be copied; the text names it, and both paths if only one of them is a folder. Or
            the source is not there any more, or nobody knows which folder was copied; the text names the copy.
    """
    copied_binds = list(binds)
    places = _places(copied_binds, rootfs)
    for bind in copied_binds:
        if not bind.read_only:
            _copy_back(bind, rootfs, places)


def _copy_back(bind: Bind, rootfs: str, places: list[list[str]]) -> None:
    parts = _resolved(rootfs, bind.destination)
    if not parts:
        raise StagingError(
            f"{bind.destination!r} in the container is now a link to its root, which is not copied to {bind.source!r}"
        )
    copied = os.path.join(rootfs, *parts)
    try:
        with opened(open_top(rootfs)) as root, opened(open_below(root, parts[:-1])) as parent:
            copy = os.open(parts[-1], HANDLE, dir_fd=parent)
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
                _folder_back(bind, origin, copy, copied, _below_place(parts, places))
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


def _folder_back(bind: Bind, origin: Origin, copy: int, copied: str, exclude: list[str]) -> None:
    with (
        opened(open_folder(".", copy)) as reading,
        opened(open_folder(".", origin.folder, writable=True)) as writing,
    ):
        copy_opened_tree(
            *(reading, writing, copied, bind.source),
            exclude=exclude,
            update=True,
            copied_at=bind.copied_at,
            originals=bind.inodes,
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
        if (status.st_size, status.st_mtime_ns) == (other.st_size, other.st_mtime_ns):
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


def inside(rootfs: str, path: str) -> str:
    """Return the path on the host of a path in the container.

    Symbolic links are followed as the container would follow them, so the result is always below the root file system.
    Components that do not exist yet stay as they are.

    Args:
        rootfs: path of the root file system.
        path: path in the container; a relative path starts at its root.

    Raises:
        StagingError: the links form a loop.
    """
    return os.path.join(rootfs, *_resolved(rootfs, path))


def _resolved(rootfs: str, path: str) -> list[str]:
    """Return the components of a path in the container, with all links resolved."""
    from collections import deque

    done: list[str] = []
    todo = deque(_parts(path))
    links = 0
    while todo:
        part = todo.popleft()
        if part == "..":
            del done[-1:]
            continue
        try:
            goal = os.readlink("/".join((rootfs, *done, part)))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):
                raise StagingError(f"{path!r} in the container: {error.strerror}") from error
            done.append(part)
            continue
        links += 1
        if links > MAX_LINKS:
            raise StagingError(f"{path!r} in the container: {os.strerror(errno.ELOOP)}")
        if goal.startswith("/"):
            done = []
        todo.extendleft(reversed(_parts(goal)))
    return done


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
