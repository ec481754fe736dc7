# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells who can change a file: whether a folder that its mode makes writable is out of reach, and where to repair it.

Kubernetes shows a ConfigMap in a folder of mode 1777, on a read-only mount of a file system that only the kubelet can
reach. Files in the folder are judged as everywhere: whoever once could write to it has left no file that runs. Only
processes that find such a mode import this module.
"""

from __future__ import annotations

import posix

from slurmhooks.files import mounts

LOCAL = frozenset({"btrfs", "erofs", "ext2", "ext3", "ext4", "iso9660", "squashfs", "tmpfs", "xfs"})
"""File systems that no other machine and no server can change, and that have no layers that are mounted elsewhere."""

NETWORK = ("9p", "afs", "beegfs", "ceph", "cifs", "fuse", "gpfs", "lustre", "nfs", "smb")
"""Beginnings of the types of file systems on which another machine may decide what root may do."""

NOBODY = 65534
"""The user as whom NFS treats root of a client, unless the server trusts it."""


def why_not(descriptor: int) -> str | None:
    """Return why a folder can be written to; None if nobody but root can, whatever its mode is.

    That is so if its mount is read-only, and neither this process nor the first process of the machine or container has
    another mount that shows the same place writable: a service manager may have made only the mounts of one service
    read-only. To make a mount writable again takes the rights of root, also in a user namespace, where the kernel locks
    the mounts of its parent.

    Returns:
        an empty text if the mount is not read-only; otherwise a text that completes "it is mounted read-only, but ...".
    """
    try:
        path = posix.readlink(f"/proc/self/fd/{descriptor}")
        ours = mounts.parse(_content("/proc/self/mountinfo"))
        mount = _mount_of(descriptor, ours)
    except (OSError, StopIteration, LookupError, ValueError):
        return ""
    sealed = "ro" in mount.super_options
    if not sealed and "ro" not in mount.options:
        return ""
    if mount.kind not in LOCAL:
        return f"as {mount.kind}, which can be changed elsewhere"
    if sealed:
        return None
    try:
        theirs = mounts.parse(_content("/proc/1/mountinfo"))
    except (OSError, LookupError, ValueError):
        return "the mounts of the first process are not known"
    if not _is_below(path, mount.point):
        return "at an unknown place"
    place = _joined(mount.root, path[len(mount.point.rstrip("/")) :])
    for other in (*ours, *theirs):
        if other.device == mount.device and "ro" not in other.options and _is_below(place, other.root):
            return f"writable at {_joined(other.point, place[len(other.root.rstrip('/')) :])}"
    return None


def elsewhere(descriptor: int, owner: int) -> str:
    """Return where the permissions of a file can be repaired, to be added to a command; empty if it is here.

    Args:
        descriptor: of the file, which may be an O_PATH one.
        owner: its owner.
    """
    try:
        kind = _mount_of(descriptor, mounts.parse(_content("/proc/self/mountinfo"))).kind
    except (OSError, StopIteration, LookupError, ValueError):
        return ""
    if not kind.startswith(NETWORK):
        return ""
    text = f", as root of the server of this file system ({kind}) if root may not do that here"
    if owner == NOBODY:
        text += "; nobody is also the owner of what root of a client has written, and of what has an unknown owner"
    return text


def _mount_of(descriptor: int, ours: list[mounts.Mount]) -> mounts.Mount:
    lines = _content(f"/proc/self/fdinfo/{descriptor}").split("\n")
    number = next(line for line in lines if line.startswith("mnt_id:")).split()[1]
    return next(mount for mount in ours if mount.id == number)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _joined(folder: str, rest: str) -> str:
    return f"{folder.rstrip('/')}{rest}" or "/"


def _content(path: str) -> str:
    with open(path, errors="surrogateescape", newline="\n") as file:
        return file.read()
