# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts have few arguments, jobs have one node and its tasks, and some partitions take whole nodes only."""

from typing import Any

from slurmhooks import Reject, hook

CPUS = {"cpu24": 24, "cpu32": 32, "cpu40": 40, "cpu56": 56, "epyc96": 96}
WHOLE = ("cpu40", "cpu56", "epyc96")


@hook.job_submit(order=60)
def sizes(job: Any) -> None:
    """Fill in the number of nodes and tasks, and compare them with whole nodes."""
    if len(job.argv) > 11 or sum(len(word) + 1 for word in job.argv[1:]) > 1024:
        raise Reject("at most 10 arguments, with 1024 characters", code="ESLURM_PATHNAME_TOO_LONG")
    if "cpu32_" in (job.partition or "") and (job.min_mem_per_cpu or 700_000) < 700_000 / 32:
        raise Reject("at least 21875M for each CPU", code="ESLURM_INVALID_TASK_MEMORY")
    if job.min_nodes is None and job.max_nodes is None:
        job.min_nodes = job.max_nodes = 1
    if job.num_tasks is None:
        job.num_tasks = (job.ntasks_per_node or 1) * (job.min_nodes or 1)
    kind = next((name for name in CPUS if (job.partition or "").startswith(name)), None)
    nodes, cpus = job.max_nodes or 1, job.num_tasks * (job.cpus_per_task or 1)
    if kind is not None and (kind in WHOLE or nodes > 1) and cpus != nodes * CPUS[kind]:
        raise Reject(f"use whole nodes: {CPUS[kind]} CPUs on each", code="ESLURM_BAD_TASK_COUNT")
