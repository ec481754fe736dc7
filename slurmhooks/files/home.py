# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the home: the folder of slurmhooks.toml and of the sets, and the set in force there.

It is the folder of slurm.conf, or the one that a file slurmhooks.home there names, for machines on which the folder of
slurm.conf cannot be written. native/manifest/home.c reads that file, too, before Python starts, so it has only a path.

Launches import this module.
"""

from __future__ import annotations

import posix
import sys

from slurmhooks.errors import LoadError
from slurmhooks.files import slurm_conf, trusted

FILE_NAME = "slurmhooks.home"
SOURCE = "slurmhooks.toml"
SET = "slurmhooks.set"
"""The link to the set in force. Nothing else decides which one that is."""
SETS = "slurmhooks.d/sets"
"""The folder of the sets."""
FORMER_MANIFEST = "slurmhooks.manifest"
"""Release 1.0.0, which read files without a deployment, has written it on machines with a line of plugstack.conf."""
HISTORY = "slurmhooks.d/events"
"""It exists once something has been deployed. Release 1.0.0 had a history of another form, and link, beside it."""
NONE = "none"
"""In place of the id of a set that does not exist."""
EXPECTS_SET = "expects-set"
"""A file beside the core library, in which 'slurmhooks install' names the folders of slurm.conf for which a set must be
in force, one in each line; an empty file means all of them."""
OUTSIDE = "absolute"
"""The folder of a set for files that its sources name by absolute names."""
ENOENT, ENOTDIR = 2, 20
chosen: str | None = None
"""The id of the set that this process is to take in place of the one in force, to find out whether it loads."""
is_slurmd = False
"""This process is slurmd, which starts without a set, too: its node may get one before its first job."""
SPACE, DELETE = 0x20, 0x7F


def folder() -> str:
    """Return the home for the slurm.conf of this process; see :func:`of`."""
    return of(slurm_conf.directory())


def of(directory: str) -> str:
    """Return the home for a folder of slurm.conf.

    If slurmhooks.home cannot be used, that is the path of this file, in which nothing exists.
    """
    return _read(directory)[0]


def set_in_force() -> str | None:
    """Return the folder of the set in force, without links; None: this machine has never had one.

    Raises:
        LoadError: no set is in force although one should be.
    """
    from slurmhooks.files import paths

    directory = slurm_conf.directory()
    home, fault = _read(directory)
    if fault is not None:
        raise LoadError([fault])
    link = f"{home}/{SETS}/{chosen}" if chosen is not None else f"{home}/{SET}"
    folder = paths.real(link)
    if paths.exists(folder):
        return folder
    if any(map(_exists, (link, f"{home}/{HISTORY}"))):
        why = f"{link}: leads to no set, but sets were deployed here: 'slurmhooks rollback ID' puts one in force"
    elif is_slurmd:
        return None
    elif _exists(f"{home}/{FORMER_MANIFEST}"):
        why = f"{home}/{FORMER_MANIFEST}: an earlier release ran files that were never deployed: 'slurmhooks deploy'"
    elif home != directory:
        why = f"{link}: does not exist, but {directory}/{FILE_NAME} names its folder: mount what has it, or deploy"
    elif _expects_set(directory):
        why = f"{link}: does not exist, nor does slurmhooks.d, and this machine expects a set: 'slurmhooks deploy'"
    else:
        return None
    raise LoadError([why])


def source_in(directory: str) -> str:
    """Return the path of the slurmhooks.toml that people edit, for a folder of slurm.conf: there, or in the home.

    In the home it was read by release 1.0.0.
    """
    inside = f"{of(directory)}/{SOURCE}"
    return inside if _exists(inside) else f"{directory.rstrip('/')}/{SOURCE}"


def never_deployed() -> str | None:
    """Return the finding if there are sources, for a machine without a set; None: there are none.

    Somebody may be writing them, so launches go on without hooks. slurmctld, which would lose its policy if an earlier
    release has run them, refuses requests until they are deployed.
    """
    path = source_in(slurm_conf.directory())
    return f"{path}: was never deployed, so no hooks are in force: 'slurmhooks deploy'" if _exists(path) else None


def _expects_set(directory: str) -> bool:
    """Tell whether the plugin that this process serves was installed on a machine that always has a set in force.

    Users may name a slurm.conf in another folder, such as that of another cluster, which has no set. Processes of root
    and of daemons must have one wherever theirs is.
    """
    folder = sys._xoptions.get("slurmhooks_plugins")
    if not isinstance(folder, str) or not _exists(f"{folder}/{EXPECTS_SET}"):
        return False
    if trusted.guarded():
        return True
    from slurmhooks.files import paths

    try:
        with open(f"{folder}/{EXPECTS_SET}", errors="surrogateescape") as file:
            known = file.read().splitlines()
    except OSError:
        return True
    return not known or paths.real(directory) in map(paths.real, known)  # earlier builds wrote no folder


def _exists(path: str) -> bool:
    """Tell whether a name exists, or cannot be looked at."""
    try:
        posix.lstat(path)
    except OSError as error:
        return error.errno not in (ENOENT, ENOTDIR)
    return True


def is_deployed(path: str) -> bool:
    """Tell whether a file or folder, with its links resolved, belongs to what this or an earlier release deployed."""
    return is_in_set(path) or "/slurmhooks.d/bundles/" in path


def is_in_set(path: str) -> bool:
    """Tell whether a file or folder, with its links resolved, belongs to a set."""
    return f"/{SETS}/" in f"{path}/"


def set_of(path: str) -> str:
    """Return the folder of the set that a file belongs to, whose name is the id of the set; empty if there is none."""
    start, sets, rest = path.partition(f"/{SETS}/")
    return f"{start}{sets}{rest.partition('/')[0]}" if sets else ""


def placed(name: str, base: str) -> str:
    """Return the path of a name in a configuration or a line of plugstack.conf.

    ``base`` is the folder of the configuration, with its links resolved. A set has its own copies of files with
    absolute names.
    """
    if not name.startswith("/"):
        return f"{base}/{name}"
    folder = set_of(base)
    return f"{folder}/{OUTSIDE}{name}" if folder else name


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
