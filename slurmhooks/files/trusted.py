# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens hook files, configurations and manifests, and refuses those that another user could have written.

A path is walked from ``/``, one component at a time. Each component is opened without following links and checked by
its descriptor. The walk follows links itself, so that a link and its folder are checked, too. The content is read from
the descriptor that was checked, so that it does not matter if a name changes meanwhile. docs/security.md has the rules.

Launches import this module, so it imports as little as possible.
"""

from __future__ import annotations

import posix
import sys
from _stat import S_ISDIR, S_ISLNK, S_ISREG, S_ISVTX, S_IWGRP, S_IWOTH

from slurmhooks.errors import LoadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import stat_result

CHUNK = 1 << 16
"""Bytes to read at once. For larger blocks malloc() maps memory, which takes longer than reading a usual hook file."""
MOST = 64 << 20
"""Bytes of the largest file that is read: a sparse file, or one that never ends, must not use up a node's memory."""
MOST_LINKS = 40
"""Symbolic links on one path, as in the kernel."""
BY_PATH = posix.O_PATH | posix.O_NOFOLLOW | posix.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO would wait for a writer.
TO_READ = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_NOCTTY | posix.O_CLOEXEC

OVERFLOW_UID = "/proc/sys/kernel/overflowuid"
UID_MAP = "/proc/self/uid_map"
ALL_USERS = (1 << 32) - 1
"""Number of user ids that the initial namespace maps."""

_owners: tuple[int, ...] | None = None


def guard(*others: int) -> None:
    """Trust only root and the real user of this process from now on. For processes with special rights.

    The real user is root in slurmd and slurmstepd, even while slurmstepd has the effective id of the job's user, and
    SlurmUser in the processes of slurmctld.

    Args:
        others: further trusted user ids, for commands that check files on behalf of another process.
    """
    global _owners
    _owners = (0, posix.getuid(), *others)


def guarded() -> bool:
    """Tell whether :func:`guard` has been called."""
    return _owners is not None


def read(path: str) -> bytes:
    """Return the content of a file.

    Raises:
        LoadError: another user could have written it; names the component of the path and the command that repairs it.
        OSError: it cannot be read, is not a regular file, or has more than MOST bytes.
    """
    content = rest_of(open_file(path), MOST)
    if len(content) > MOST:
        raise OSError(None, f"larger than {MOST >> 20} MiB", path)
    return content


def rest_of(descriptor: int, most: int = sys.maxsize) -> bytes:
    """Return what an open file still has, and close it; not much more than ``most`` bytes.

    Raises:
        OSError: it cannot be read.
    """
    try:
        parts = []
        while most >= 0 and (part := posix.read(descriptor, CHUNK)):
            parts.append(part)
            most -= len(part)
    finally:
        posix.close(descriptor)
    return b"".join(parts)


def open_file(path: str) -> int:
    """Open a file for reading; the caller closes the descriptor. Raise as :func:`read` does."""
    folder, here, names = _walk(path, to_file=True)
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
        # The name may denote another file by now; check the open one.
        status = posix.fstat(descriptor)
        _refuse_special(path, status)
        refuse_exposed(path, _join(names), descriptor, status)
    except BaseException:
        posix.close(descriptor)
        raise
    return descriptor


def real(path: str) -> str:
    """Return the path of a file or folder without links, "." and ".."; raise as :func:`read` does."""
    folder, here, names = _walk(path)
    posix.close(here)
    posix.close(folder)
    return _join(names)


def check(path: str) -> None:
    """Refuse a path that another user could have written, as far as it exists.

    Raises:
        LoadError: as :func:`read`.
    """
    try:
        real(path)
    except OSError:  # reported when the file is opened
        return


def _walk(path: str, *, to_file: bool = False) -> tuple[int, int, list[str]]:
    """Check every component of a path.

    ``to_file``: it should be a file, so that nothing need be mounted at its last component.

    Returns:
        two O_PATH descriptors, for the folder of the file and for the file, which the caller closes; and the components
        of the resolved path.

    Raises:
        LoadError: another user could have written a component.
        OSError: a component does not exist, or cannot be opened.
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
        refuse_exposed(path, "/", here, status)
        while left:
            name = left.pop()
            if name in ("", "."):
                continue
            below = posix.open(name, BY_PATH, dir_fd=here) if to_file and not left else _open_below(here, name)
            posix.close(folder)
            folder, here, above = here, below, status
            status = posix.fstat(here)
            names.append(name)
            if not S_ISDIR(status.st_mode):
                # In a folder that everybody can write to, sticky or not, any user could have created this file.
                refuse_exposed(path, _join(names[:-1]), folder, above, sticky_is_safe=False)
            refuse_exposed(path, _join(names), here, status)
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
    """Return an O_PATH descriptor of a file, folder or link in a folder."""
    try:
        # O_PATH makes an automounter mount only together with O_DIRECTORY.
        return posix.open(name, BY_PATH | posix.O_DIRECTORY, dir_fd=folder)
    except NotADirectoryError:
        return posix.open(name, BY_PATH, dir_fd=folder)


def _join(names: list[str]) -> str:
    return "/" + "/".join(names)


def _refuse_special(path: str, status: stat_result) -> None:
    """Refuse everything but regular files.

    Raises:
        OSError: it is a folder, a FIFO, a device or the like.
    """
    if S_ISDIR(status.st_mode):
        raise _error("EISDIR", path)
    if not S_ISREG(status.st_mode):
        raise OSError(None, "not a file", path)


def _error(name: str, path: str) -> OSError:
    import errno

    number = getattr(errno, name)
    return OSError(number, posix.strerror(number), path)


def refuse_exposed(
    path: str,
    component: str,
    descriptor: int,
    status: stat_result,
    sticky_is_safe: bool = True,
    recursive: bool = False,
) -> None:
    """Refuse a component of a path that another user can write to.

    A process that is not guarded runs as the user who called it, and refuses only what everybody can write to.

    ``sticky_is_safe``: if this process is not guarded, accept a sticky folder: others cannot replace the files in it.
    ``recursive``: the command is to repair everything in a folder.

    Raises:
        LoadError: another user can write to it.
    """
    mode = status.st_mode
    sticky = S_ISDIR(mode) and mode & S_ISVTX
    if S_ISLNK(mode):
        fault = None
    elif mode & S_IWOTH and (_owners is not None or not (sticky and sticky_is_safe)):
        fault = "is writable by everybody", "chmod o-w"
    elif mode & S_IWGRP and _owners is not None:
        # For every group: the bit also covers the users and groups of an access control list.
        fault = f"is writable by {_group_name(status.st_gid)}", "chmod g-w"
    else:
        fault = None
    reach = ""
    if fault is not None and S_ISDIR(mode):
        from slurmhooks.files import sealed

        unsealed = sealed.why_not(descriptor)
        fault = None if unsealed is None else fault
        reach = f" (it is mounted read-only, but {unsealed})" if unsealed else ""
    if fault is None and _owners is not None and status.st_uid not in _owners and not _is_hidden(descriptor, status):
        fault = f"belongs to {_user_name(status.st_uid)}", f"chown {'-h ' if S_ISLNK(mode) else ''}root"
    if fault is None:
        return
    from shlex import quote

    from slurmhooks.files import sealed
    from slurmhooks.log import visible

    # Other users may have chosen the names, and root may copy the command into a shell.
    what, command = fault
    if recursive:
        command = command.replace(" ", " -R ", 1)
    repair = f"{command} {quote(component)}"
    if sticky or component == _home(status.st_uid):
        repair = f"move {path} to a folder that only root can write"
    else:
        repair += sealed.elsewhere(descriptor, status.st_uid)
    subject = "it" if component == path else component
    raise LoadError([visible(f"{path}: {subject} {what}{reach}, and what they put there would run: {repair}")])


def _is_hidden(descriptor: int, status: stat_result) -> bool:
    """Tell whether a user namespace hides the owner of a component, who may be root.

    Daemons do not run in one, but rootless podman runs scrun, and so its SPANK plugins, in a namespace of the user. All
    owners that a namespace does not map appear as the overflow user. If the namespace also maps an ordinary user with
    that id, such as a container's nobody, write permission tells them apart: root of the namespace can write to the
    files of mapped users, but not to those of hidden ones.
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
    # A link cannot be written to, whatever its mode is; its folder counts.
    return S_ISLNK(status.st_mode) or not posix.access(f"/proc/self/fd/{descriptor}", posix.W_OK)


def _text(path: str) -> str:
    with open(path) as file:
        return file.read()


def _user_name(uid: int) -> str:
    """Return name and id of a user, for messages."""
    import pwd

    try:
        return f"{pwd.getpwuid(uid).pw_name} (user id {uid})"
    except KeyError:
        return f"user id {uid}"


def _home(uid: int) -> str | None:
    """Return the home directory of a user, which must stay theirs; of root, none."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_dir if uid else None
    except KeyError:
        return None


def _group_name(gid: int) -> str:
    """Return name and id of a group, for messages."""
    import grp

    try:
        return f"group {grp.getgrgid(gid).gr_name} (group id {gid})"
    except KeyError:
        return f"group id {gid}"
