# SPDX-License-Identifier: GPL-2.0-or-later
"""Adapt the configuration of a container engine to rootless runtimes on the nodes of a job.

Each function changes the configuration in place and can be used alone.
"""

from __future__ import annotations

import fnmatch

from slurmhooks.values import several

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slurmhooks.scrun.oci import Config

OCI_VERSION = "1.0.0"
"""The oldest version of the specification, which every runtime accepts."""


def rootless(config: Config, *, user_id: int, group_id: int) -> None:
    """Apply all functions of this module except :func:`merge_environment`.

    Args:
        config: the configuration to change.
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
    """Run the container in its own user namespace, which maps its user to that of the job.

    The uid and gid of the configuration, by default 0, become the job's user and group. Additional groups are removed,
    because each map has only one id.

    Args:
        config: the configuration to change.
        user_id: user id of the job.
        group_id: group id of the job.
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
    """Remove ``uid=`` and ``gid=`` from the options of all mounts: these ids do not exist in the user namespace."""
    for mount in config.mounts:
        kept = [option for option in mount.options if not option.startswith(("uid=", "gid="))]
        if kept != mount.options:
            mount.options = kept


def drop_hooks(config: Config, *moments: str) -> None:
    """Remove programs that the runtime would run on the host, such as those that set up an engine's network.

    Args:
        config: the configuration to change.
        moments: keys of ``hooks``; by default only ``prestart``.
    """
    for moment in moments or ("prestart",):
        if config.hooks is not None and getattr(config.hooks, moment):
            delattr(config.hooks, moment)


def drop_rlimits(config: Config) -> None:
    """Remove ``process.rlimits``: only root may raise limits, and Slurm sets those of the job."""
    if config.process is not None:
        del config.process.rlimits


def drop_cgroup(config: Config) -> None:
    """Remove ``linux.cgroupsPath``: the job is in a cgroup of Slurm."""
    if config.linux is not None:
        config.linux.cgroupsPath = None


def merge_environment(
    config: Config, environment: Mapping[str, str], *, only: Iterable[str] = ("*",), keep: Iterable[str] = ()
) -> None:
    """Add variables to the container's environment; existing ones are replaced.

    Args:
        config: the configuration to change.
        environment: the variables, for instance ``container.job_env``.
        only: patterns of the names to add, such as ``["SLURM_*"]``.
        keep: patterns of names whose existing variables are not replaced.

    Raises:
        TypeError: ``only`` or ``keep`` is a str.
    """
    only, keep = several("only", only), several("keep", keep)
    if config.process is None:
        return
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
