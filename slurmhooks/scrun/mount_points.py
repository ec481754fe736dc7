# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths in a container, on the host."""

from __future__ import annotations

import contextlib
import errno
import os

from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.folders import open_below, open_folder
from slurmhooks.scrun.lookup import opened
from slurmhooks.scrun.trees import open_top

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.scrun.oci import Mount

MAX_LINKS = 40
"""Symbolic links in a path before it counts as a loop, as in Linux."""


def make_mount_points(rootfs: str, mounts: Iterable[Mount]) -> None:
    """Make missing mount points in the root file system, except those that are on an earlier mount.

    What cannot be made is left to the runtime, which says why.

    Args:
        rootfs: path of the root file system; links in it do not lead out of it.
        mounts: the mounts in their order; sources of bind mounts are absolute.
    """
    covered: list[list[str]] = []
    with opened(open_top(rootfs)) as root:
        for mount in mounts:
            with contextlib.suppress(OSError, ValueError, StagingError):
                parts = _resolved(rootfs, mount.destination)
                on_another = any(parts[: len(other)] == other for other in covered)
                covered.append(parts)
                if parts and not on_another:
                    _make_mount_point(root, parts, mount)


def _make_mount_point(root: int, parts: list[str], mount: Mount) -> None:
    with opened(open_below(root, parts[:-1], make=True)) as parent:
        if mount.is_bind and not os.path.isdir(mount.source or ""):
            os.close(os.open(parts[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=parent))
            return
        os.mkdir(parts[-1], dir_fd=parent)
        if mount.type == "tmpfs":
            # Runtimes give a tmpfs the mode of its mount point, if that exists, runc also despite of mode=.
            modes = [option[5:] for option in mount.options if option.startswith("mode=")]
            with opened(open_folder(parts[-1], parent)) as folder:
                os.fchmod(folder, int(modes[-1], 8) & 0o7777 if modes else 0o1777)


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
