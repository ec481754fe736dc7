# SPDX-License-Identifier: GPL-2.0-or-later
"""What slurmctld knows that belongs to no job: for handlers, while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.job_submit import source
from slurmhooks.job_submit.model import NEEDS_SOURCES
from slurmhooks.values import text_to_c
from slurmhooks.wire.message import Fact

if TYPE_CHECKING:
    from slurmhooks.job_submit.source import Asking


def cluster_name() -> str:
    """Return ClusterName of slurm.conf.

    Raises:
        NotImplementedError: this build has only Slurm's public headers, or this is not slurmctld.
    """
    asking = _asking("the name of the cluster")
    if asking is not None:
        return asking.text(Fact.CLUSTER_NAME, 0) or ""
    module = _private("the name of the cluster")
    name: bytes = module.ffi.string(module.lib.slurmhooks_cluster_name())
    return name.decode()


def qos_priority(name: str) -> int | None:
    """Return the priority of a QOS, or None if there is no such QOS or no accounting.

    Raises:
        NotImplementedError: this build has only Slurm's public headers, or this is not slurmctld.
    """
    asking = _asking("the priority of a QOS")
    if asking is not None:
        return asking.number(Fact.QOS_PRIORITY, text_to_c("name", name))
    module = _private("the priority of a QOS")
    found: int = module.lib.slurmhooks_qos_priority(module.ffi.new("char[]", text_to_c("name", name)))
    return None if found < 0 else found


def _asking(what: str) -> Asking | None:
    """Return what asks slurmctld, in a worker; None elsewhere."""
    asking = source.current
    if asking is not None and "record" not in asking.tables:
        raise NotImplementedError(f"{what} is what only slurmctld knows: {NEEDS_SOURCES}")
    return asking


def _private(what: str) -> Any:
    """Return the compiled module of slurmctld's private structs."""
    try:
        from slurmhooks.job_submit import native
    except ImportError:
        raise NotImplementedError(f"{what} is what only slurmctld knows, and this is not slurmctld") from None
    if native.slurmctld is None:
        raise NotImplementedError(f"{what} is what only slurmctld knows: {native.NEEDS_SOURCES}")
    return native.slurmctld
