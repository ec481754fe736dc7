# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of files: globs, symbolic links, and what stat says of them.

Launches import this module, so it does without os, glob and fnmatch where it can.
"""

from __future__ import annotations

import posix
from _stat import S_ISDIR, S_ISLNK

from slurmhooks import trusted
from slurmhooks.errors import LoadError
from slurmhooks.log import visible

ENOENT, ENOTDIR = 2, 20
"""As in errno, which is not imported for two numbers of Linux."""

Identity = tuple[int, int, int, int, int, int, int, int]
"""Device, inode, size, mtime and ctime in nanoseconds, mode, owner, group."""

State = Identity | int
"""What stat says of a name: the identity of what it leads to, or the errno."""


def has_magic(pattern: str) -> bool:
    """Tell whether a pattern is a glob, and not the name of one file."""
    return any(sign in pattern for sign in "*?[")


def plain_glob(pattern: str) -> tuple[str, str, str] | None:
    """Return folder, start and end of a glob like ``folder/*.py``, as nearly all are; None for any other."""
    folder, slash, last = pattern.rpartition("/")
    folder = folder.rstrip("/") or slash
    start, _, end = last.partition("*")
    if "*" not in last or has_magic(folder + start + end) or start.startswith("."):
        return None
    return folder, start, end


def matches(pattern: str) -> list[str]:
    """Return the names that a pattern stands for, sorted; a pattern without magic stands for itself.

    Raises:
        LoadError: a folder exists but cannot be listed, or the pattern has ``**``, which is not supported.
    """
    if not has_magic(pattern):
        return [pattern]
    plain = plain_glob(pattern)
    if plain is None:
        return sorted(_walk(pattern))
    # Importing fnmatch takes 5 ms, half of what a launch spends in Python.
    folder, start, end = plain
    fit = (name for name in _listing(folder) if name.startswith(start) and name.endswith(end) and name[0] != ".")
    return sorted(below(folder, name) for name in fit if len(name) >= len(start + end))


def _walk(pattern: str) -> list[str]:
    """Return the names that any glob stands for, as the module glob does, which hides folders that cannot be listed."""
    import fnmatch

    folder, slash, last = pattern.rpartition("/")
    folder = folder.rstrip("/") or slash
    if last == "**":
        raise LoadError([f"{pattern}: ** is not supported; name each level: hooks.d/*.py and hooks.d/*/*.py"])
    found = []
    for place in _walk(folder) if has_magic(folder) else [folder]:
        if not has_magic(last):
            name = below(place, last)
            status = state(name, link=True)
            if status not in (ENOENT, ENOTDIR) or (status == ENOENT and not is_absent(name)):
                found.append(name)  # if it cannot be read, load() says why
        elif place == folder or not _is_file(place):
            fit = (name for name in _listing(place) if name[0] != "." or last.startswith("."))
            found += [below(place, name) for name in fnmatch.filter(fit, last)]
    return found


def _is_file(path: str) -> bool:
    """Tell whether a name leads to something other than a folder."""
    status = state(path)
    return isinstance(status, tuple) and not S_ISDIR(status[5])


def _listing(folder: str) -> list[str]:
    """Return the names in a folder; none if it does not exist.

    Raises:
        LoadError: it exists, but cannot be listed.
    """
    try:
        return posix.listdir(folder or ".")
    except OSError as error:
        if isinstance(error, FileNotFoundError) and is_absent(folder):
            return []
        raise LoadError([f"{visible(folder)}: {unreachable(error)}; it may hold hook files"]) from error


def unreachable(error: OSError) -> str:
    """Return why a file or folder cannot be read, for messages."""
    # A name that leads nowhere and yet is not absent.
    return "a symbolic link on the way leads nowhere" if isinstance(error, FileNotFoundError) else str(error.strerror)


def is_absent(path: str) -> bool:
    """Tell whether a file or folder really does not exist: no link to nowhere, and no folder that hides it."""
    place = path
    while place:
        found = state(place, link=True)
        if isinstance(found, tuple):
            return place != path and isinstance(state(place), tuple)
        if found != ENOENT:
            return False
        place = place.rstrip("/").rpartition("/")[0]
    return True


def below(folder: str, name: str) -> str:
    """Return os.path.join() of the two, without importing os: that takes a millisecond, a tenth of a launch's."""
    if name.startswith("/") or not folder:
        return name
    return f"{folder}{name}" if folder.endswith("/") else f"{folder}/{name}"


def real(path: str) -> str:
    """Return os.path.realpath(), importing os only for a path that is unusual or leads over a link."""
    if trusted.guarded():
        # Over links that somebody else could have made, load() refuses to go: it needs the name as it is.
        try:
            return trusted.real(path)
        except (LoadError, OSError):
            return path
    root, *parts = path.split("/")
    if not root and all(part not in ("", ".", "..") for part in parts):
        try:
            if not any(S_ISLNK(posix.lstat("/" + "/".join(parts[:end])).st_mode) for end in range(1, len(parts) + 1)):
                return path
        except OSError:
            pass
    import os

    return os.path.realpath(path)


def state(path: str, *, link: bool = False) -> State:
    """Return what tells one content of a file, and one right to read it, from another; or the errno.

    Args:
        path: its name.
        link: of a symbolic link, and not of what it leads to.
    """
    try:
        status = (posix.lstat if link else posix.stat)(path)
    except OSError as error:
        return error.errno or -1
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_mode,
        status.st_uid,
        status.st_gid,
    )


def identity(path: str) -> Identity | None:
    """Return what tells one content of a file from another without reading it; None if it cannot be told."""
    found = state(path)
    return None if isinstance(found, int) else found
