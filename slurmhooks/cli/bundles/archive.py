# SPDX-License-Identifier: GPL-2.0-or-later
"""The archive: an uncompressed tar file. The same files always make the same bytes, and the id is their hash."""

import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from slurmhooks.cli.findings import Finding
from slurmhooks.files import durable

SUFFIX = ".slurmhooks.tar"
ID_DIGITS = 16
LARGEST = 1 << 28
"""Maximum bytes of an archive, which is read into memory before anything about it is known."""


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return the archive of files, which are given by their relative names."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size = len(files[name])
            member.mode = 0o644
            tar.addfile(member, io.BytesIO(files[name]))
    return buffer.getvalue()


def unpack(data: bytes, source: str) -> dict[str, bytes]:
    """Return the files of an archive by their names.

    Args:
        data: the archive.
        source: name of its origin, for messages.

    Raises:
        Finding: it is not exactly what :func:`pack` makes; for example, it has links, or names outside its folder.
    """
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                content = tar.extractfile(member) if member.type == tarfile.REGTYPE and not member.issparse() else None
                if content is None or not _is_plain(member.name):
                    raise Finding(f"{source}: {member.name!r} in it is not a file of a bundle; it is not deployed")
                files[member.name] = content.read()
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise Finding(f"{source}: not a bundle: {error}") from error
    nested = [name for name in files if any(str(folder) in files for folder in PurePosixPath(name).parents)]
    if nested or "slurmhooks.toml" not in files or pack(files) != data:
        raise Finding(f"{source}: not a bundle as 'slurmhooks bundle' makes it, or damaged; it is not deployed")
    return files


def identity(data: bytes) -> str:
    """Return the id of a bundle."""
    return hashlib.sha256(data).hexdigest()[:ID_DIGITS]


def write(path: Path, data: bytes, mode: int) -> None:
    """Write an archive, or a script that carries one.

    Raises:
        Finding: its folder does not exist.
        OSError: it cannot be written for another reason.
    """
    try:
        durable.write(path, data, mode)
    except FileNotFoundError as error:
        raise Finding(f"{path}: its folder does not exist: create it") from error


def _is_plain(name: str) -> bool:
    """Tell whether a name stays below the folder of the bundle, and is in normal form."""
    return "\0" not in name and all(part not in ("", ".", "..") for part in name.split("/"))
