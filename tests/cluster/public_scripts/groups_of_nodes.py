# SPDX-License-Identifier: GPL-2.0-or-later
"""In some partitions, a node stands for a group of machines below one switch."""

from typing import Any

from slurmhooks import Reject, hook

MACHINES = {"gpu": 2}


@hook.job_submit
def groups_of_nodes(job: Any) -> None:
    """Ask for all machines of the groups."""
    machines = MACHINES.get(job.partition or "", 1)
    if machines > 1:
        if job.min_nodes is None:
            job.min_nodes = job.max_nodes = 1
        if job.min_nodes != job.max_nodes:
            raise Reject("ask for a number of nodes, not for a range")
        job.req_switch, nodes = job.min_nodes, job.min_nodes * machines
        job.min_nodes = job.max_nodes = nodes
