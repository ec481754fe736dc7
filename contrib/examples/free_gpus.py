# SPDX-License-Identifier: GPL-2.0-or-later
"""Send a job that asks for GPUs to the partition with the most free GPUs."""

from slurmhooks import hook
from slurmhooks.job_submit.constants import NodeState, NodeStateFlag
from slurmhooks.job_submit.strings import Tres
from slurmhooks.types import Node, Table, WholeJob

PARTITIONS = ("gpu_small", "gpu_large")
"""The partitions with GPUs; if several are equal, the first one is chosen."""
OUT_OF_SERVICE = NodeStateFlag.NODE_STATE_DRAIN | NodeStateFlag.NODE_STATE_NO_RESPOND | NodeStateFlag.NODE_STATE_MAINT


@hook.job
def most_free_gpus(job: WholeJob, nodes: Table[str, Node]) -> None:
    """Ignore jobs that name a partition or need no GPU."""
    if not job.leaves_out("partition") or not job.bounds.gpus.least:
        return
    free = dict.fromkeys(PARTITIONS, 0)
    for node in nodes.values():
        if node.state in (NodeState.NODE_STATE_IDLE, NodeState.NODE_STATE_ALLOCATED) and not (
            (node.state_flags or 0) & OUT_OF_SERVICE
        ):
            gpus = Tres.parse(node.gres)["gres/gpu"] - Tres.parse(node.gres_used)["gres/gpu"]
            for partition in free.keys() & set(node.partitions):
                free[partition] += gpus
    job.partition = max(free, key=free.__getitem__)
