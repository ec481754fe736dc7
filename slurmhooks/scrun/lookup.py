# SPDX-License-Identifier: GPL-2.0-or-later
"""Find files and folders by their paths. Root follows no link that another user has made.

Users may exchange the components of a path at any time, for links to what only root may read or write. So root walks
along a path by descriptors, each component by a single name, and reads links itself.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from slurmhooks.files.trusted import ALL_USERS, MOST_LINKS, OVERFLOW_UID, UID_MAP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

HANDLE = os.O_PATH | os.O_NOFOLLOW
"""Flags to open an entry without any permission for it, to get its status or for :func:`handle_path`."""
PLACE = os.O_PATH | os.O_DIRECTORY
"""Flags to open a folder from which a path starts."""


def handle_path(handle: int) -> str:
    """Return a path to the entry of a descriptor, even a symbolic link, for calls without ``dir_fd``."""
    return f"/proc/self/fd/{handle}"


@contextlib.contextmanager
def opened(descriptor: int) -> Iterator[int]:
    """Close a descriptor after the block."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def find(path: str, *, make: int | None = None) -> int:
    """Return an O_PATH descriptor of the file or folder at a path; a link at the end is followed, too.

    An ordinary user follows all links, as the kernel permits. Root refuses links of other users.

    A relative path starts in the current folder. ``make``: create missing folders, the last one with this mode.

    Raises:
        OSError: the path does not exist or cannot be created, or there is a link that root does not follow.
    """
    if os.geteuid() != 0:
        if make is not None:
            os.makedirs(path, make, exist_ok=True)
        return os.open(path or ".", os.O_PATH)
    here = os.open("/" if path.startswith("/") else ".", PLACE)
    left = _components(path)
    links = 0
    try:
        while left:
            name = left.pop()
            below = _below(name, here, make, last=not left)
            if stat.S_ISLNK(os.fstat(below).st_mode):
                with opened(below):
                    links += 1
                    if links > MOST_LINKS:
                        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                    _refuse_foreign(below, name)
                    goal = os.readlink("", dir_fd=below)
                    if _on_proc(below):  # these links may lead where no path does
                        below = os.open(name, os.O_PATH, dir_fd=here)
                    else:
                        left += _components(goal)
                        below = os.open("/", PLACE) if goal.startswith("/") else os.dup(here)
            os.close(here)
            here = below
    except BaseException:
        os.close(here)
        raise
    return here


def _components(path: str) -> list[str]:
    """Return the components of a path, the last one first. A slash at the end stands for ".", as in the kernel."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    if path.endswith(("/", "/.")):
        names.append(".")
    return names[::-1]


def _below(name: str, parent: int, make: int | None, *, last: bool) -> int:
    """Open an entry of a folder, even a link; create a folder if it is missing and ``make`` is not None."""
    try:
        return _entry(name, parent)
    except FileNotFoundError:
        if make is None:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, make if last else 0o777, dir_fd=parent)
    return _entry(name, parent)


def _entry(name: str, parent: int) -> int:
    try:
        # O_PATH makes an automounter mount only together with O_DIRECTORY.
        return os.open(name, HANDLE | os.O_DIRECTORY, dir_fd=parent)
    except NotADirectoryError:
        return os.open(name, HANDLE, dir_fd=parent)


def _refuse_foreign(link: int, name: str) -> None:
    """Refuse a link of another user than root.

    A user namespace, such as that of rootless podman, hides the owners of most links of the host, perhaps root. There,
    root of the namespace can do no more than the user of the engine.
    """
    owner = os.fstat(link).st_uid
    if owner == 0 or (owner == _number(OVERFLOW_UID) and not _maps_all_users()):
        return
    raise OSError(errno.ELOOP, f"{name!r} is a symbolic link of user id {owner}, which root does not follow")


def _number(path: str) -> int:
    with open(path) as file:
        return int(file.read())


def _maps_all_users() -> bool:
    with open(UID_MAP) as file:
        return any(int(row.split()[2]) == ALL_USERS for row in file)


def _on_proc(link: int) -> bool:
    return os.fstat(link).st_dev == os.stat("/proc").st_dev
