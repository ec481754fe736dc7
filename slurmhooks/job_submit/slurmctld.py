# SPDX-License-Identifier: GPL-2.0-or-later
"""Ask slurmctld for data that belongs to no job; only while a handler of job_submit or job_modify runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.slurmctld import NEEDS_SOURCES
from slurmhooks.slurmctld import asking as questions
from slurmhooks.values import text_to_c
from slurmhooks.wire.protocol import Fact

if TYPE_CHECKING:
    from slurmhooks.slurmctld.asking import Asking


def cluster_name() -> str:
    """Return ClusterName of slurm.conf.

    Raises:
        NotImplementedError: the plugin was built with Slurm's public headers only, or no handler runs in a worker.
    """
    return _asking("the name of the cluster").text(Fact.CLUSTER_NAME, 0) or ""


def qos_priority(name: str) -> int | None:
    """Return the priority of a QOS; None if the QOS does not exist or accounting is off.

    Raises:
        NotImplementedError: the plugin was built with Slurm's public headers only, or no handler runs in a worker.
    """
    return _asking("the priority of a QOS").number(Fact.QOS_PRIORITY, text_to_c("name", name))


def qos_priority_in_lua(name: str) -> int | None:
    """Return what Slurm gives to Lua: 0 for a QOS that does not exist, and None only if Slurm enforces QOS.

    Raises:
        NotImplementedError: see :func:`qos_priority`.
    """
    return _asking("the priority of a QOS").number(Fact.QOS_PRIORITY, text_to_c("name", name), b"as Slurm")


def _asking(what: str) -> Asking:
    asking = questions.current
    if asking is None:
        raise NotImplementedError(f"only slurmctld knows {what}, and no handler of job_submit or job_modify runs here")
    if "record" not in asking.tables:
        raise NotImplementedError(f"only slurmctld knows {what}: {NEEDS_SOURCES}")
    return asking
