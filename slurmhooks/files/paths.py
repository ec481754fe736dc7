# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of files: globs, symbolic links, and results of stat.

Launches import this module. It avoids os, glob and fnmatch where possible, because importing them takes milliseconds.
"""

from __future__ import annotations

import posix
from _stat import S_ISDIR, S_ISLNK

from slurmhooks.errors import LoadError
from slurmhooks.files import trusted
from slurmhooks.log import visible

ENOENT, ENOTDIR = 2, 20
"""The values of the module errno, which this module does not import, to save time."""


def has_magic(pattern: str) -> bool:
    """Tell whether a pattern is a glob rather than the name of a file."""
    return any(sign in pattern for sign in "*?[")


def fixed_folder(pattern: str) -> str:
    """Return the folder of a pattern before the first sign of a glob: files that match are in it, or below it."""
    return pattern.partition("*")[0].partition("?")[0].partition("[")[0].rpartition("/")[0]


def plain_glob(pattern: str) -> tuple[str, str, str] | None:
    """Split a glob like ``folder/*.py``, the usual kind, into folder, start and end; return None for any other glob."""
    folder, slash, last = pattern.rpartition("/")
    folder = folder.rstrip("/") or slash
    start, _, end = last.partition("*")
    if "*" not in last or has_magic(folder + start + end) or start.startswith("."):
        return None
    return folder, start, end


def matches(pattern: str) -> list[str]:
    """Return the names that a pattern matches, sorted; a file name matches itself, whether or not it exists.

    Raises:
        LoadError: a folder cannot be listed, the folder of a glob does not exist, or the pattern has ``**``, which is
            not supported.
    """
    if not has_magic(pattern):
        return [pattern]
    plain = plain_glob(pattern)
    if plain is None:
        return sorted(_walk(pattern))
    # Importing fnmatch takes 5 ms, half of the time that a launch spends in Python.
    folder, start, end = plain
    matching = (name for name in _listing(folder) if name.startswith(start) and name.endswith(end) and name[0] != ".")
    return sorted(below(folder, name) for name in matching if len(name) >= len(start + end))


def _walk(pattern: str) -> list[str]:
    """Return the names that any glob matches. The module glob would ignore folders that it cannot list."""
    import fnmatch

    folder, slash, last = pattern.rpartition("/")
    folder = folder.rstrip("/") or slash
    if last == "**":
        raise LoadError([f"{pattern}: ** is not supported; name each level: hooks.d/*.py and hooks.d/*/*.py"])
    names = []
    for place in _walk(folder) if has_magic(folder) else [folder]:
        if not has_magic(last):
            name = below(place, last)
            found = status(name, link=True)
            if found not in (ENOENT, ENOTDIR) or (found == ENOENT and not is_absent(name)):
                names.append(name)  # if it cannot be read, the loader reports why
        elif place == folder or not _is_file(place):
            candidates = (name for name in _listing(place) if name[0] != "." or last.startswith("."))
            names += [below(place, name) for name in fnmatch.filter(candidates, last)]
    return names


def _is_file(path: str) -> bool:
    """Tell whether a path exists and is not a folder."""
    found = status(path)
    return not isinstance(found, int) and not S_ISDIR(found.st_mode)


def _listing(folder: str) -> list[str]:
    """Return the names in a folder.

    Raises:
        LoadError: it does not exist, or cannot be listed. Without it nobody knows which hook files belong there: it may
            be on a file system that is not mounted yet.
    """
    try:
        return posix.listdir(folder or ".")
    except OSError as error:
        if isinstance(error, FileNotFoundError) and is_absent(folder):
            reason = "does not exist; hook files are expected in it: create it, even if it stays empty, or mount it"
        else:
            reason = f"{unreachable(error)}; it may hold hook files"
        raise LoadError([f"{visible(folder)}: {reason}"]) from error


def unreachable(error: OSError) -> str:
    """Return the reason why a file or folder cannot be read, for messages."""
    # Callers have excluded names that do not exist, see is_absent().
    return "a symbolic link on the way leads nowhere" if isinstance(error, FileNotFoundError) else str(error.strerror)


def is_absent(path: str) -> bool:
    """Tell whether a file or folder certainly does not exist: no dangling link and no unreadable folder hides it."""
    place = path
    while place:
        found = status(place, link=True)
        if not isinstance(found, int):
            return place != path and exists(place)
        if found != ENOENT:
            return False
        place = place.rstrip("/").rpartition("/")[0]
    return True


def below(folder: str, name: str) -> str:
    """Return os.path.join(folder, name), without importing os, which takes a tenth of a launch's time in Python."""
    if name.startswith("/") or not folder:
        return name
    return f"{folder}{name}" if folder.endswith("/") else f"{folder}/{name}"


def real(path: str) -> str:
    """Return os.path.realpath(path); import os only if the path is unusual or contains a link."""
    if trusted.guarded():
        # The loader refuses links that another user could have made; it needs the unresolved name for that.
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


def status(path: str, *, link: bool = False) -> posix.stat_result | int:
    """Return the result of stat for a name, or the errno; ``link``: for a symbolic link itself, not for its target."""
    try:
        return (posix.lstat if link else posix.stat)(path)
    except OSError as error:
        return error.errno or -1


def exists(path: str) -> bool:
    """Tell whether a name leads to a file or folder that can be looked at."""
    return not isinstance(status(path), int)
