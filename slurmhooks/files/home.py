# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the home: the folder of slurmhooks.toml, the sets and the manifest, and the set in force there.

It is the folder of slurm.conf, or the one that a file slurmhooks.home there names, for machines on which the folder of
slurm.conf cannot be written. native/manifest/home.c reads that file, too, before Python starts, so it has only a path.

Launches import this module.
"""

from __future__ import annotations

import posix

from slurmhooks.errors import LoadError
from slurmhooks.files import slurm_conf, trusted

FILE_NAME = "slurmhooks.home"
SET = "slurmhooks.set"
"""The link to the set in force. Nothing else decides which one that is."""
SETS = "slurmhooks.d/sets"
"""The folder of the sets."""
HISTORY = "slurmhooks.d/events"
"""It exists once something has been deployed. Release 1.0.0 had a history of another form, and link, beside it."""
OUTSIDE = "absolute"
"""The folder of a set for files that its sources name by absolute names."""
ENOENT, ENOTDIR = 2, 20
chosen: str | None = None
"""The id of the set that this process is to take in place of the one in force, to find out whether it loads."""
SPACE, DELETE = 0x20, 0x7F


def folder() -> str:
    """Return the home for the slurm.conf of this process; see :func:`of`."""
    return of(slurm_conf.directory())


def of(directory: str) -> str:
    """Return the home for a folder of slurm.conf.

    If slurmhooks.home cannot be used, that is the path of this file, in which nothing exists: whoever looks for
    slurmhooks.toml there fails, and :func:`fault` has the reason.
    """
    return _read(directory)[0]


def pointer(directory: str) -> str | None:
    """Return the path of the link to the set in force for a folder of slurm.conf; None if nothing was deployed here.

    The link may be missing or lead nowhere although something was deployed; then nothing else may be loaded either.
    """
    folder = of(directory)
    if chosen is not None:
        return f"{folder}/{SETS}/{chosen}"
    return f"{folder}/{SET}" if _exists(f"{folder}/{SET}") or _exists(f"{folder}/{HISTORY}") else None


def set_in_force() -> str | None:
    """Return the folder of the set in force, without links; None if nothing has been deployed on this machine.

    Raises:
        LoadError: sets were deployed, and none is in force.
    """
    link = pointer(slurm_conf.directory())
    if link is None:
        return None
    from slurmhooks.files import paths

    folder = paths.real(link)
    if not isinstance(paths.state(folder), tuple):
        raise LoadError([no_set(link)])
    return folder


def no_set(link: str) -> str:
    """Return the finding for a link that should lead to the set in force."""
    return f"{link}: leads to no set, but sets were deployed here: 'slurmhooks rollback ID' puts one in force"


def _exists(path: str) -> bool:
    """Tell whether a name exists, or cannot be looked at."""
    try:
        posix.lstat(path)
    except OSError as error:
        return error.errno not in (ENOENT, ENOTDIR)
    return True


def is_in_set(path: str) -> bool:
    """Tell whether a file or folder, with its links resolved, belongs to a set."""
    return f"/{SETS}/" in f"{path}/"


def placed(name: str, base: str) -> str:
    """Return the path of a name in a configuration or a line of plugstack.conf.

    Args:
        name: relative to ``base``, or absolute. A set has its own copies of files with absolute names.
        base: the folder of the configuration, with its links resolved.
    """
    if not name.startswith("/"):
        return f"{base}/{name}"
    start, sets, rest = base.partition(f"/{SETS}/")
    return f"{start}{sets}{rest.partition('/')[0]}/{OUTSIDE}{name}" if sets else name


def fault(path: str) -> str | None:
    """Return why slurmhooks.toml cannot be used because of slurmhooks.home; None if it is not the reason.

    Args:
        path: of slurmhooks.toml, which does not exist.
    """
    directory = slurm_conf.directory()
    home, reason = _read(directory)
    if home == directory or path.rpartition("/")[0] != home:
        return None
    if reason is not None:
        return reason
    from slurmhooks.files import paths

    if not paths.is_absent(path):
        return None
    return (
        f"{path}: does not exist, but {directory}/{FILE_NAME} names its folder: deploy a set, or put a"
        " configuration there; or mount what has it"
    )


def _read(directory: str) -> tuple[str, str | None]:
    """Return the home, and why slurmhooks.home cannot be used."""
    name = f"{directory.rstrip('/')}/{FILE_NAME}"
    try:
        posix.lstat(name)
    except OSError as error:
        if error.errno == ENOENT:
            return directory, None
    try:
        text = trusted.read(name).removesuffix(b"\n")
    except LoadError as error:
        return name, "; ".join(error.findings)
    except OSError as error:
        return name, f"{name}: {error.strerror}"
    if not text.startswith(b"/") or any(byte < SPACE or byte == DELETE for byte in text):
        return name, f"{name}: must have one line, the absolute path of the folder of slurmhooks.toml"
    return text.decode("utf-8", "surrogateescape").rstrip("/") or "/", None
