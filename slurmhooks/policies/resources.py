# SPDX-License-Identifier: GPL-2.0-or-later
"""How much a request asks for, by any of the options: GPUs, CPUs and memory.

A request may leave something to Slurm, such as the number of nodes. Then the minimum counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from slurmhooks.job_submit.strings import Tres

if TYPE_CHECKING:
    from slurmhooks.policies.request import Request

GPU = "gres/gpu"
PER = ("tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task")
TASK_FIELDS = ("num_tasks", "ntasks_per_node", "min_nodes")
"""The fields on which :func:`tasks` depends; the next three are those of the other functions."""
GPU_FIELDS = (*PER, *TASK_FIELDS)
CPU_FIELDS = ("min_cpus", "cpus_per_task", "pn_min_cpus", "cpus_per_tres", *GPU_FIELDS)
MEMORY_FIELDS = ("min_mem_per_node", "min_mem_per_cpu", "mem_per_tres", *CPU_FIELDS)
ALL_MEMORY = 1 << 60
"""The value in MiB that represents ``--mem=0``: all memory of a node."""


class Gpus(NamedTuple):
    """The GPUs of a job.

    Attributes:
        total: of the whole job.
        per_node: the maximum on one node.
        types: the types that are named.
        untyped: the job asks for some GPUs without a type.
    """

    total: int
    per_node: int
    types: tuple[str, ...]
    untyped: bool


def nodes(request: Request) -> int:
    """Return the minimum number of nodes."""
    return max(request.number("min_nodes"), 1)


def tasks(request: Request) -> int:
    """Return the number of tasks."""
    return max(request.number("num_tasks"), request.number("ntasks_per_node") * nodes(request), 1)


def gpus(request: Request) -> Gpus:
    """Return the GPUs that a job asks for.

    Raises:
        NotationError: a list of TRES is invalid.
    """
    job, node, socket, task = (Tres.parse(request.get(name)) for name in PER)
    count = nodes(request)
    sockets = max(request.number("sockets_per_node"), 1) if not request.modify else 1
    total = max(job[GPU], node[GPU] * count, socket[GPU] * sockets * count, task[GPU] * tasks(request))
    per_node = max(node[GPU], socket[GPU] * sockets, -(-total // count))
    items = [item for tres in (job, node, socket, task) for item in tres if item.name == GPU and item.count]
    types = tuple(dict.fromkeys(item.type for item in items if item.type is not None))
    return Gpus(total, per_node, types, any(item.type is None for item in items))


def cpus(request: Request) -> int:
    """Return the minimum number of CPUs of the whole job."""
    per_gpu = Tres.parse(request.get("cpus_per_tres"))[GPU]
    return max(
        request.number("min_cpus"),
        tasks(request) * max(request.number("cpus_per_task"), 1),
        request.number("pn_min_cpus") * nodes(request),
        per_gpu * gpus(request).total if per_gpu else 0,
    )


def memory_per_node(request: Request) -> int | None:
    """Return the memory per node in MiB; None if the job asks for none, :data:`ALL_MEMORY` for ``--mem=0``."""
    per_node, per_cpu = request.get("min_mem_per_node"), request.get("min_mem_per_cpu")
    if per_node == 0 or per_cpu == 0:
        return ALL_MEMORY
    if isinstance(per_node, int):
        return per_node
    if isinstance(per_cpu, int):
        return per_cpu * -(-cpus(request) // nodes(request))
    per_gpu = Tres.parse(request.get("mem_per_tres"))[GPU]
    return per_gpu * gpus(request).per_node if per_gpu else None
