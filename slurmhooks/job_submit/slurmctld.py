# SPDX-License-Identifier: GPL-2.0-or-later
"""What slurmctld knows that belongs to no job: for handlers, while they run."""

from __future__ import annotations

from typing import Any


def cluster_name() -> str:
    """Return ClusterName of slurm.conf.

    Raises:
        NotImplementedError: this build has only Slurm's public headers, or this is not slurmctld.
    """
    module = _private("the name of the cluster")
    name: bytes = module.ffi.string(module.lib.slurmhooks_cluster_name())
    return name.decode()


def qos_priority(name: str) -> int | None:
    """Return the priority of a QOS, or None if there is no such QOS or no accounting.

    Raises:
        NotImplementedError: this build has only Slurm's public headers, or this is not slurmctld.
    """
    from slurmhooks.values import text_to_c

    module = _private("the priority of a QOS")
    found: int = module.lib.slurmhooks_qos_priority(module.ffi.new("char[]", text_to_c("name", name)))
    return None if found < 0 else found


def _private(what: str) -> Any:
    """Return the compiled module of slurmctld's private structs."""
    try:
        from slurmhooks.job_submit import native
    except ImportError:
        raise NotImplementedError(f"{what} is what only slurmctld knows, and this is not slurmctld") from None
    if native.slurmctld is None:
        raise NotImplementedError(f"{what} is what only slurmctld knows: {native.NEEDS_SOURCES}")
    return native.slurmctld
