# SPDX-License-Identifier: GPL-2.0-or-later
"""The archive: an uncompressed tar file. The same files always make the same bytes, and the id is their hash."""

import grp
import hashlib
import io
import os
import pwd
import stat
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from slurmhooks.cli.findings import Finding
from slurmhooks.files import durable, regular, trusted

SUFFIX = ".slurmhooks.tar"
ID_DIGITS = 16
LARGEST = 1 << 28
"""Maximum bytes of an archive, which is read into memory before anything about it is known."""
PUBLIC, PRIVATE = 0o644, 0o440
"""The modes of files in an archive: of those that users may read, and of others."""


@dataclass(frozen=True)
class File:
    """A file of a set.

    Attributes:
        content: its bytes.
        is_private: users may not read it.
        group: of a private file, the name of the group that may read it; empty: that of SlurmUser.
    """

    content: bytes
    is_private: bool = False
    group: str = ""

    @classmethod
    def read(cls, path: Path, below: Path | None = None) -> "File":
        """Return a file, and who may read it.

        Args:
            path: of the file.
            below: a folder above the file; who cannot enter this, or a folder below it, cannot read the file. None: the
                modes of folders do not count.

        Raises:
            OSError: it cannot be read, or is not a regular file.
        """
        fd = regular.opened(path)
        groups = _readers(os.fstat(fd), stat.S_IROTH, stat.S_IRGRP)
        content = trusted.rest_of(fd)
        for way in _ways(path) if below is not None else ():
            for folder in way.parents:
                groups |= _readers(folder.stat(), stat.S_IXOTH, stat.S_IXGRP)
                if below is not None and folder.resolve() == below.resolve():
                    break
        # Who may read it is in all of these groups; a copy has one.
        return cls(content, bool(groups), groups.pop() if len(groups) == 1 else "")

    def write(self, path: Path, slurm_user: int) -> None:
        """Write the file so that nobody changes it by accident, and users cannot read it if it is private.

        Raises:
            Finding: this machine does not have the group.
            OSError: it cannot be written.
        """
        durable.write(path, self.content, PRIVATE if self.is_private else 0o444)
        if not self.is_private or os.getuid():
            return
        try:
            group = grp.getgrnam(self.group).gr_gid if self.group else pwd.getpwuid(slurm_user).pw_gid
        except KeyError as error:
            raise Finding(
                f"{path.name}: only the group {self.group or 'of SlurmUser'} may read it, which this machine does not"
                " have: change its mode or group, if users may read it, or another group"
            ) from error
        os.chown(path, -1, group)


def _ways(path: Path) -> Iterator[Path]:
    """Yield a path of a file that exists, and where it leads, one link after the other."""
    yield path
    for part in (*reversed(path.parents), path):
        if part.is_symlink():
            yield from _ways(part.parent / os.readlink(part) / path.relative_to(part))
            return


def _readers(status: os.stat_result, others: int, group: int) -> set[str]:
    """Return the group that the mode of a file or folder lets in, if it keeps out others; empty: no group."""
    mode = status.st_mode
    return set() if mode & others else {_group(status) if mode & group else ""}


def _group(status: os.stat_result) -> str:
    """Return the name of the group that a mode is about; empty for that of root, which needs no mode."""
    try:
        return grp.getgrgid(status.st_gid).gr_name if status.st_gid else ""
    except KeyError:
        return ""


def pack(files: Mapping[str, File]) -> bytes:
    """Return the archive of files, which are given by their relative names."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size = len(files[name].content)
            member.mode, member.gname = PRIVATE if files[name].is_private else PUBLIC, files[name].group
            tar.addfile(member, io.BytesIO(files[name].content))
    return buffer.getvalue()


def unpack(data: bytes, source: str) -> dict[str, File]:
    """Return the files of an archive by their names.

    Raises:
        Finding: it is not exactly what :func:`pack` makes; for example, it has links, or names outside its folder.
    """
    files: dict[str, File] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                content = tar.extractfile(member) if member.type == tarfile.REGTYPE and not member.issparse() else None
                if content is None or not is_plain(member.name):
                    raise Finding(f"{source}: {member.name!r} in it is not a file of a bundle; it is not deployed")
                files[member.name] = File(content.read(), member.mode != PUBLIC, member.gname)
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise Finding(
            f"{source}: not a bundle: {error}; name an archive of 'slurmhooks bundle', or the folder of slurmhooks.toml"
        ) from error
    nested = [name for name in files if any(str(folder) in files for folder in PurePosixPath(name).parents)]
    if nested or "slurmhooks.toml" not in files or pack(files) != data:
        raise Finding(f"{source}: not a bundle as 'slurmhooks bundle' makes it, or damaged; it is not deployed")
    return files


def private(files: Mapping[str, File]) -> list[str]:
    """Return the names of the files that users may not read."""
    return sorted(name for name, file in files.items() if file.is_private)


def identity(data: bytes) -> str:
    """Return the id of a set."""
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


def is_plain(name: str) -> bool:
    """Tell whether a name stays below the folder of the bundle, and is in normal form."""
    return "\0" not in name and all(part not in ("", ".", "..") for part in name.split("/"))
