# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs without a partition run in the smallest one that has what they ask for."""

from typing import Any

from slurmhooks import hook

NODES = {"normal": (4, 2000, 100), "bigmem": (64, 900_000, 10_000)}
"""CPUs, memory and disk of the nodes of each partition, the smallest first."""


@hook.job_submit
def smallest_partition(job: Any) -> None:
    """Choose the partition."""
    asked = [amount or 0 for amount in (job.pn_min_cpus, job.min_mem_per_node, job.pn_min_tmp_disk)]
    for name, node in NODES.items() if job.partition is None else ():
        if all(amount <= has for amount, has in zip(asked, node, strict=True)):
            job.partition = name
            break
