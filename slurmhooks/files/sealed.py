# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells who can change a file: whether a folder that its mode makes writable is out of reach, and where to repair it.

Kubernetes shows a ConfigMap in a folder of mode 1777, on a read-only mount of a file system that only the kubelet can
reach. Files in the folder are judged as everywhere: whoever once could write to it has left no file that runs. Only
processes that find such a mode import this module.
"""

from __future__ import annotations

import posix

LOCAL = frozenset({"btrfs", "erofs", "ext2", "ext3", "ext4", "iso9660", "squashfs", "tmpfs", "xfs"})
"""File systems that no other machine and no server can change, and that have no layers that are mounted elsewhere."""

NETWORK = ("9p", "afs", "beegfs", "ceph", "cifs", "fuse", "gpfs", "lustre", "nfs", "smb")
"""Beginnings of the types of file systems on which another machine may decide what root may do."""

NOBODY = 65534
"""The user as whom NFS treats root of a client, unless the server trusts it."""
Row = tuple[str, str, str, bool, str, bool]
"""Of /proc/self/mountinfo: device, root within the file system, mount point, whether the mount is read-only; type, and
whether the file system itself is read-only."""


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
        ours = _mounts()
        device, root, point, readonly, kind, sealed = ours[_mount_id(descriptor)]
    except (OSError, StopIteration, LookupError, ValueError):
        return ""
    if not (readonly or sealed):
        return ""
    if kind not in LOCAL:
        return f"as {kind}, which can be changed elsewhere"
    if sealed:
        return None
    try:
        theirs = [_row(line.split(" ")) for line in _lines("/proc/1/mountinfo")]
    except (OSError, LookupError, ValueError):
        return "the mounts of the first process are not known"
    if not _is_below(path, point):
        return "at an unknown place"
    place = _joined(root, path[len(point.rstrip("/")) :])
    for other_device, other_root, other_point, other_readonly, _, _ in (*ours.values(), *theirs):
        if other_device == device and not other_readonly and _is_below(place, other_root):
            return f"writable at {_joined(other_point, place[len(other_root.rstrip('/')) :])}"
    return None


def elsewhere(descriptor: int, owner: int) -> str:
    """Return where the permissions of a file can be repaired, to be added to a command; empty if it is here.

    Args:
        descriptor: of the file, which may be an O_PATH one.
        owner: its owner.
    """
    try:
        kind = _mounts()[_mount_id(descriptor)][4]
    except (OSError, StopIteration, LookupError, ValueError):
        return ""
    if not kind.startswith(NETWORK):
        return ""
    text = f", as root of the server of this file system ({kind}) if root may not do that here"
    if owner == NOBODY:
        text += "; nobody is also the owner of what root of a client has written, and of what has an unknown owner"
    return text


def _mount_id(descriptor: int) -> str:
    return next(line for line in _lines(f"/proc/self/fdinfo/{descriptor}") if line.startswith("mnt_id:")).split()[1]


def _mounts() -> dict[str, Row]:
    return {row[0]: _row(row) for row in (line.split(" ") for line in _lines("/proc/self/mountinfo"))}


def _row(words: list[str]) -> Row:
    """Return the facts of a line of /proc/self/mountinfo."""
    rest = words[words.index("-") + 1 :]
    return (
        words[2],
        _unescaped(words[3]),
        _unescaped(words[4]),
        "ro" in words[5].split(","),
        rest[0],
        "ro" in rest[2].split(","),
    )


def _unescaped(text: str) -> str:
    for sign in " \t\n\\":
        text = text.replace(f"\\{ord(sign):03o}", sign)
    return text


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _joined(folder: str, rest: str) -> str:
    return f"{folder.rstrip('/')}{rest}" or "/"


def _lines(path: str) -> list[str]:
    with open(path, errors="surrogateescape", newline="\n") as file:
        return file.read().split("\n")[:-1]
