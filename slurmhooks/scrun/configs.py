# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns a container engine's configuration into one that a rootless runtime accepts on a job's nodes.

Each function changes the configuration in place and can be used alone.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import stat

from slurmhooks.log import log
from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.trees import copy_file, copy_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slurmhooks.scrun.oci import Config, Mount

OCI_VERSION = "1.0.0"
"""The oldest version of the specification, which every runtime takes."""
KERNEL_TREES = ("/proc", "/sys")
MAX_LINKS = 40


def rootless(config: Config, *, user_id: int, group_id: int) -> None:
    """Do all that the functions below do, but for bind mounts and the environment.

    Args:
        config: is changed.
        user_id: ``container.user_id``.
        group_id: ``container.group_id``.
    """
    use_user_namespace(config, user_id=user_id, group_id=group_id)
    drop_mount_owners(config)
    drop_hooks(config)
    drop_rlimits(config)
    drop_cgroup(config)
    config.ociVersion = OCI_VERSION


def use_user_namespace(config: Config, *, user_id: int, group_id: int) -> None:
    """Run the container in a user namespace of its own, in which its user is the job's.

    The map has one line: the uid and gid that the configuration names, 0 by default, are the job's user and group.
    Additional groups are removed, as such a map cannot hold them.

    Args:
        config: is changed.
        user_id: of the job.
        group_id: of the job.
    """
    from slurmhooks.scrun.oci import IDMapping, Linux, Namespace

    linux = config.linux or Linux()
    user = config.process.user if config.process is not None else None
    if not any(namespace.type == "user" for namespace in linux.namespaces):
        linux.namespaces = [*linux.namespaces, Namespace(type="user")]
    linux.uidMappings = [IDMapping(containerID=user.uid if user else 0, hostID=user_id, size=1)]
    linux.gidMappings = [IDMapping(containerID=user.gid if user else 0, hostID=group_id, size=1)]
    if user is not None:
        user.additionalGids = []
        del user.additionalGids
    config.linux = linux


def drop_mount_owners(config: Config) -> None:
    """Remove ``uid=`` and ``gid=`` from the options of all mounts: the user namespace does not know these ids."""
    for mount in config.mounts:
        kept = [option for option in mount.options if not option.startswith(("uid=", "gid="))]
        if kept != mount.options:
            mount.options = kept


def drop_hooks(config: Config, *moments: str) -> None:
    """Remove programs that the runtime would run on the host, such as those that set up an engine's network.

    Args:
        config: is changed.
        moments: keys of ``hooks``; by default only ``prestart``.
    """
    for moment in moments or ("prestart",):
        if config.hooks is not None and getattr(config.hooks, moment):
            delattr(config.hooks, moment)


def drop_rlimits(config: Config) -> None:
    """Remove ``process.rlimits``: only root may raise limits, and the job has Slurm's."""
    if config.process is not None:
        del config.process.rlimits


def drop_cgroup(config: Config) -> None:
    """Remove ``linux.cgroupsPath``: the job has Slurm's cgroup."""
    if config.linux is not None:
        config.linux.cgroupsPath = None


def merge_environment(
    config: Config, environment: Mapping[str, str], *, only: Iterable[str] = ("*",), keep: Iterable[str] = ()
) -> None:
    """Add variables to the container's environment; those that it has already are replaced.

    Args:
        config: is changed.
        environment: for instance ``container.job_env``.
        only: patterns of names to take, such as ``"SLURM_*"``.
        keep: patterns of names that are left as the configuration has them if it has them.
    """
    if config.process is None:
        return
    only, keep = tuple(only), tuple(keep)
    own = {entry.partition("=")[0] for entry in config.process.env}
    new = {
        name: environment[name]
        for name in environment
        if _matches(name, only) and not (name in own and _matches(name, keep))
    }
    kept = [entry for entry in config.process.env if entry.partition("=")[0] not in new]
    config.process.env = [*kept, *(f"{name}={value}" for name, value in new.items())]


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


class Bind:
    """A bind mount that was turned into a copy.

    Attributes:
        source: the file or folder of the host.
        destination: its path in the container.
        read_only: the container was not to write to it.
    """

    __slots__ = ("destination", "read_only", "source")

    def __init__(self, source: str, destination: str, read_only: bool) -> None:
        """Keep the three."""
        self.source = source
        self.destination = destination
        self.read_only = read_only


def copy_binds(config: Config, rootfs: str, *, keep: Iterable[str] = KERNEL_TREES) -> list[Bind]:
    """Copy what bind mounts show into the root file system, and remove the mounts.

    For nodes that do not have the files of the machine where scrun runs. Mounts of devices and sockets stay as they
    are, and so does what lies in ``keep``.

    Args:
        config: is changed.
        rootfs: the staged root file system, into which is copied; no link in it leads out of it.
        keep: folders of the host whose bind mounts stay.

    Returns:
        what was copied; see :func:`return_binds`.

    Raises:
        StagingError: a source is missing or cannot be copied.
    """
    binds: list[Bind] = []
    kept: list[Mount] = []
    folders = tuple(keep)
    for mount in config.mounts:
        if not mount.is_bind or mount.source is None or _below(mount.source, folders):
            kept.append(mount)
            continue
        try:
            mode = os.stat(mount.source).st_mode
        except OSError as error:
            raise StagingError(f"bind mount of {mount.source!r}: {error.strerror}") from error
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            kept.append(mount)
            continue
        _copy_bind(mount.source, inside(rootfs, mount.destination), stat.S_ISDIR(mode))
        binds.append(Bind(mount.source, mount.destination, "ro" in mount.options))
    config.mounts = kept
    return binds


def _copy_bind(source: str, target: str, folder: bool) -> None:
    log.debug("copying what a bind mount shows", source=source, target=target)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    except OSError as error:
        raise StagingError(f"{target!r}: {error.strerror}") from error
    if folder:
        copy_tree(source, target)
    else:
        copy_file(source, target)


def return_binds(binds: Iterable[Bind], rootfs: str) -> None:
    """Copy what the container changed or added in its copies of bind mounts back to where they came from.

    Nothing is deleted there, and read-only ones are left out.

    Args:
        binds: as :func:`copy_binds` returned them.
        rootfs: the root file system that they were copied into.

    Raises:
        StagingError: something could not be copied.
    """
    for bind in binds:
        copied = inside(rootfs, bind.destination)
        if bind.read_only or not os.path.lexists(copied):
            continue
        if os.path.isdir(copied):
            copy_tree(copied, bind.source, update=True)
        elif not _same_file(copied, bind.source):
            copy_file(copied, bind.source)


def _same_file(one: str, other: str) -> bool:
    try:
        first, second = os.stat(one), os.stat(other)
    except OSError:
        return False
    return (first.st_size, first.st_mtime_ns) == (second.st_size, second.st_mtime_ns)


def _below(path: str, folders: Iterable[str]) -> bool:
    real = os.path.normpath(path)
    return any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in folders)


def inside(rootfs: str, path: str) -> str:
    """Return where a path of the container lies on the host.

    Symbolic links are followed as the container would follow them, so the result never leaves the root file system.
    What does not exist yet is taken as it is.

    Args:
        rootfs: the root file system.
        path: seen from inside; relative ones start at its root.

    Raises:
        StagingError: the links go round in circles.
    """
    done: list[str] = []
    todo = _parts(path)
    links = 0
    while todo:
        part = todo.pop(0)
        if part == "..":
            done = done[:-1]
            continue
        try:
            goal = os.readlink(os.path.join(rootfs, *done, part))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):
                raise StagingError(f"{path!r} in the container: {error.strerror}") from error
            done.append(part)
            continue
        links += 1
        if links > MAX_LINKS:
            raise StagingError(f"{path!r} in the container: {os.strerror(errno.ELOOP)}")
        if goal.startswith("/"):
            done = []
        todo = [*_parts(goal), *todo]
    return os.path.join(rootfs, *done)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
