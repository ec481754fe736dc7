# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens the files that Slurm's processes run or obey, and refuses those that somebody else could have written.

A path is walked from ``/``, one component at a time: each is opened without following links, and judged by its
descriptor. The walk follows a link itself, so the link and its folder are judged as well. What is read comes from the
descriptor that was judged, so it does not matter what is renamed meanwhile. docs/security.md has the rules.

Launches import this module: it imports next to nothing.
"""

from __future__ import annotations

import posix
from _stat import S_ISDIR, S_ISLNK, S_ISREG, S_ISVTX, S_IWGRP, S_IWOTH

from slurmhooks.errors import LoadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import stat_result

MOST_LINKS = 40
"""On one path, as in the kernel."""
BY_PATH = posix.O_PATH | posix.O_NOFOLLOW | posix.O_CLOEXEC
# A FIFO in the place of a file must not be waited for.
TO_READ = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_NOCTTY | posix.O_CLOEXEC

OVERFLOW_UID = "/proc/sys/kernel/overflowuid"
UID_MAP = "/proc/self/uid_map"
ALL_USERS = (1 << 32) - 1
"""That the map of the first namespace has."""

_owners: tuple[int, ...] | None = None


def guard(*others: int) -> None:
    """Trust only root and this process's own user from now on: it has more rights than ordinary users.

    Its own user is root in slurmd and slurmstepd, which at times has a user's effective id, and SlurmUser in slurmctld.

    Args:
        others: user ids that are trusted as well, for commands that judge for another process.
    """
    global _owners
    _owners = (0, posix.getuid(), *others)


def guarded() -> bool:
    """Tell whether :func:`guard` was called."""
    return _owners is not None


def read(path: str) -> bytes:
    """Return the content of a file.

    Raises:
        LoadError: somebody else could have written it, with the component of the path and the command that repairs it.
        OSError: it cannot be read, or is no regular file.
    """
    descriptor = open_file(path)
    try:
        parts = []
        while part := posix.read(descriptor, 1 << 20):
            parts.append(part)
    finally:
        posix.close(descriptor)
    return b"".join(parts)


def open_file(path: str) -> int:
    """Return a descriptor to read a file from, which the caller closes; raise as :func:`read` does."""
    folder, here, names = _walk(path)
    try:
        _refuse_special(path, posix.fstat(here))
        descriptor = posix.open(names[-1], TO_READ, dir_fd=folder)
    except OSError as error:
        error.filename = path
        raise
    finally:
        posix.close(here)
        posix.close(folder)
    try:
        # The name may have come to another file since; what counts is the one that is read.
        status = posix.fstat(descriptor)
        _refuse_special(path, status)
        _refuse_exposed(path, _join(names), descriptor, status)
    except BaseException:
        posix.close(descriptor)
        raise
    return descriptor


def real(path: str) -> str:
    """Return the name of a file or folder without links and detours; raise as :func:`read` does."""
    folder, here, names = _walk(path)
    posix.close(here)
    posix.close(folder)
    return _join(names)


def check(path: str) -> None:
    """Refuse a path that somebody else could have written, as far as it exists.

    Raises:
        LoadError: as :func:`read`.
    """
    try:
        real(path)
    except OSError:  # whoever opens it will say so
        return


def _walk(path: str) -> tuple[int, int, list[str]]:
    """Judge every component of a path.

    Returns:
        descriptors of what it leads to (the second) and of the folder that this is in (the first), which the caller
        closes and can only look below; and the names from ``/`` on.

    Raises:
        LoadError: a component is exposed.
        OSError: a component does not exist, or cannot be looked into.
    """
    if "\0" in path:
        raise _error("EINVAL", path)
    names: list[str] = []
    links = 0
    left = (path if path.startswith("/") else f"{posix.getcwd()}/{path}").split("/")[::-1]
    here = posix.open("/", BY_PATH)
    folder = posix.dup(here)
    try:
        status = posix.fstat(here)
        _refuse_exposed(path, "/", here, status)
        while left:
            name = left.pop()
            if name in ("", "."):
                continue
            below = _open_below(here, name)
            posix.close(folder)
            folder, here, above = here, below, status
            status = posix.fstat(here)
            names.append(name)
            if not S_ISDIR(status.st_mode):
                # Where everybody may put files, everybody may put this one there, sticky or not.
                _refuse_exposed(path, _join(names[:-1]), folder, above, sticky_is_safe=False)
            _refuse_exposed(path, _join(names), here, status)
            if name == "..":
                del names[-2:]
            if S_ISLNK(status.st_mode):
                links += 1
                if links > MOST_LINKS:
                    raise _error("ELOOP", path)
                target = posix.readlink("", dir_fd=here)
                left += target.split("/")[::-1]
                names.pop()
                if target.startswith("/"):
                    names.clear()
                start = posix.open("/", BY_PATH) if target.startswith("/") else posix.dup(folder)
                posix.close(here)
                here, status = start, posix.fstat(start)
    except BaseException as error:
        posix.close(here)
        posix.close(folder)
        if isinstance(error, OSError):
            error.filename = path
        raise
    return folder, here, names


def _open_below(folder: int, name: str) -> int:
    """Return a descriptor of what a name in a folder is, a link perhaps."""
    try:
        # An automounter mounts for whoever asks for a folder, and for no other O_PATH.
        return posix.open(name, BY_PATH | posix.O_DIRECTORY, dir_fd=folder)
    except NotADirectoryError:
        return posix.open(name, BY_PATH, dir_fd=folder)


def _join(names: list[str]) -> str:
    return "/" + "/".join(names)


def _refuse_special(path: str, status: stat_result) -> None:
    """Refuse what is no regular file.

    Raises:
        OSError: it is a folder, a FIFO, a device ...
    """
    if S_ISDIR(status.st_mode):
        raise _error("EISDIR", path)
    if not S_ISREG(status.st_mode):
        raise OSError(None, "not a file", path)


def _error(name: str, path: str) -> OSError:
    import errno

    number = getattr(errno, name)
    return OSError(number, posix.strerror(number), path)


def _refuse_exposed(
    path: str, component: str, descriptor: int, status: stat_result, sticky_is_safe: bool = True
) -> None:
    """Refuse a component of a path that others can write.

    A process that is not guarded runs as the user who called it: it refuses only what everybody can write.

    Args:
        path: that is walked.
        component: the name of a part of it.
        descriptor: of this part.
        status: of this part.
        sticky_is_safe: nobody can replace what others have in a sticky folder; for a process that is not guarded.

    Raises:
        LoadError: others can write it.
    """
    mode = status.st_mode
    sticky = S_ISDIR(mode) and mode & S_ISVTX
    if S_ISLNK(mode):
        fault = None
    elif mode & S_IWOTH and (_owners is not None or not (sticky and sticky_is_safe)):
        fault = "is writable by everybody", "chmod o-w"
    elif mode & S_IWGRP and _owners is not None:
        # Of any group, as the group's bit also stands for users and groups in an access control list.
        fault = f"is writable by {_group_name(status.st_gid)}", "chmod g-w"
    else:
        fault = None
    if fault is None and _owners is not None and status.st_uid not in _owners and not _is_hidden(descriptor, status):
        fault = f"belongs to {_user_name(status.st_uid)}", f"chown {'-h ' if S_ISLNK(mode) else ''}root"
    if fault is None:
        return
    from shlex import quote

    from slurmhooks.log import visible

    # Others may have chosen the names, and root may copy the command to a shell.
    what, command = fault
    repair = f"{command} {quote(component)}"
    if sticky:
        repair = f"move {path} to a folder that only root can write"
    subject = "it" if component == path else component
    raise LoadError([visible(f"{path}: {subject} {what}, and Slurm would run what they put there: {repair}")])


def _is_hidden(descriptor: int, status: stat_result) -> bool:
    """Tell whether a user namespace hides who an owner is, root perhaps.

    No daemon runs in one, but podman without privileges has scrun, and so its SPANK plugins, in the user's own. All
    owners that it does not map seem to be one, which it may also map: then they are like an ordinary user, such as a
    container's nobody. But what that one has, root of the namespace may write, and nothing of those that are hidden.
    """
    try:
        if status.st_uid != int(_text(OVERFLOW_UID)):
            return False
        rows = [[int(word) for word in row.split()] for row in _text(UID_MAP).split("\n") if row.strip()]
    except (OSError, ValueError):
        return False
    if not any(first <= status.st_uid < first + count for first, _, count in rows):
        return True
    if any(count == ALL_USERS for _, _, count in rows):
        return False
    # Links are writable for nobody and seem so for everybody; what counts is their folder.
    return S_ISLNK(status.st_mode) or not posix.access(f"/proc/self/fd/{descriptor}", posix.W_OK)


def _text(path: str) -> str:
    with open(path) as file:
        return file.read()


def _user_name(uid: int) -> str:
    """Return what an owner is called, with the number."""
    import pwd

    try:
        return f"{pwd.getpwuid(uid).pw_name} (user id {uid})"
    except KeyError:
        return f"user id {uid}"


def _group_name(gid: int) -> str:
    """Return what a group is called, with the number."""
    import grp

    try:
        return f"group {grp.getgrgid(gid).gr_name} (group id {gid})"
    except KeyError:
        return f"group id {gid}"
