# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the home: the folder of slurmhooks.toml, the bundles and the manifest.

It is the folder of slurm.conf, or the one that a file slurmhooks.home there names, for machines on which the folder of
slurm.conf cannot be written. native/manifest/home.c reads that file, too, before Python starts, so it has only a path.

Launches import this module.
"""

from __future__ import annotations

import posix

from slurmhooks.errors import LoadError
from slurmhooks.files import slurm_conf, trusted

FILE_NAME = "slurmhooks.home"
ENOENT = 2
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
        f"{path}: does not exist, but {directory}/{FILE_NAME} names its folder: deploy a bundle, or make it a link to a"
        " configuration; or mount what has it"
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
