# SPDX-License-Identifier: GPL-2.0-or-later
"""What slurmctld knows that belongs to no job: for handlers, while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.job_submit import source
from slurmhooks.slurmctld import NEEDS_SOURCES
from slurmhooks.values import text_to_c
from slurmhooks.wire.message import Fact

if TYPE_CHECKING:
    from slurmhooks.job_submit.source import Asking


def cluster_name() -> str:
    """Return ClusterName of slurm.conf.

    Raises:
        NotImplementedError: this build has only Slurm's public headers, or this is no worker of slurmctld's.
    """
    return _asking("the name of the cluster").text(Fact.CLUSTER_NAME, 0) or ""


def qos_priority(name: str) -> int | None:
    """Return the priority of a QOS, or None if there is no such QOS or no accounting.

    Raises:
        NotImplementedError: this build has only Slurm's public headers, or this is no worker of slurmctld's.
    """
    return _asking("the priority of a QOS").number(Fact.QOS_PRIORITY, text_to_c("name", name))


def _asking(what: str) -> Asking:
    """Return what asks slurmctld."""
    asking = source.current
    if asking is None:
        raise NotImplementedError(f"{what} is what only slurmctld knows, and no request of it is handled here")
    if "record" not in asking.tables:
        raise NotImplementedError(f"{what} is what only slurmctld knows: {NEEDS_SOURCES}")
    return asking
