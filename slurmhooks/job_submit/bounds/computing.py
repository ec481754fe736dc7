# SPDX-License-Identifier: GPL-2.0-or-later
"""Compute the bounds of a request, as slurmctld and its select plugin (cons_tres) allocate.

Where slurmctld may do one of several things, the least is that of the smallest and the most that of the largest.
The functions of Slurm that are followed: _figure_out_num_tasks(), _valid_pn_min_mem() and get_node_cnts() of
slurmctld, gres_job_state_validate() and _test_gres_cnt() of gres.c, _select_nodes() and _job_test() of cons_tres,
_eval_nodes() of the topology plugins.
"""

from __future__ import annotations

import math
import time
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Protocol

from slurmhooks.job_submit.bounds.asked import Limits, ReadableJob, limits, read
from slurmhooks.job_submit.bounds.cluster import UNKNOWN
from slurmhooks.job_submit.bounds.model import ENDLESS, YEAR, Bounds, Range
from slurmhooks.job_submit.bounds.nodes import WHOLE_GPUS, Nodes, quotient

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from slurmhooks.job_submit.bounds.asked import Reading
    from slurmhooks.job_submit.bounds.cluster import Cluster, Partition
    from slurmhooks.slurmctld.model import Record


class Job(ReadableJob, Protocol):
    """A request, and who looks up what Slurm can give to it."""

    @property
    def _cluster(self) -> Cluster | None:
        """Who looks it up; None if slurmctld answers no questions about it."""

    def _as_stored(self, record: Record | None) -> tuple[Job, Record | None]:
        """Return the request, and the job that it changes."""

    def _once(self, name: object, ask: Callable[[], Any]) -> Any:
        """Return what was worked out of the request as it is now, or work it out."""


def of_request(job: Job, record: Record | None, *, nodes: bool) -> Bounds:
    """Return the bounds of a request.

    ``record`` is the job of an update, if slurmctld sent it. Without ``nodes``, what the nodes have sets no limit.

    Raises:
        NotationError: a list in the request is invalid.
    """
    known: Bounds = job._once(
        ("bounds", record is None, nodes),
        lambda: bounds(asked_by(job, record), partitions_of(job, record, nodes=nodes)),
    )
    return known


def asked_by(job: Job, record: Record | None) -> Reading:
    """Return what a request asks for; see :func:`of_request`."""
    asked: Reading = job._once(("asked", record is None), lambda: read(*job._as_stored(record)))
    return asked


def partitions_of(job: Job, record: Record | None, *, nodes: bool) -> tuple[Partition, ...]:
    """Return what is known of the partitions of a request; see :func:`of_request`."""

    def partitions() -> tuple[Partition, ...]:
        stored, present = job._as_stored(record)
        return UNKNOWN if stored._cluster is None else stored._cluster.partitions(stored, present, nodes=nodes)

    known: tuple[Partition, ...] = job._once(("bounds in", record is None, nodes), partitions)
    return known


def times(job: Job, record: Record | None, names: Collection[str] | None = None) -> Range:
    """Return the time limit in minutes that a request gets; see :func:`of_request`.

    ``names``: only in these of its partitions, if it may run in any of them.
    """
    partitions = partitions_of(job, record, nodes=False)
    chosen = [each for each in partitions if names is None or each.name in names] or partitions
    asked: Limits = job._once(("limits", record is None), lambda: limits(*job._as_stored(record)))
    return reduce(or_, (time_in(asked, partition) for partition in chosen))


def bounds_there(job: Job, names: Iterable[str], *, nodes: bool) -> Bounds:
    """Return the bounds that a submission would have in other partitions; see :func:`of_request`."""
    names = tuple(names)
    known: Bounds = job._once(
        ("bounds there", names, nodes),
        lambda: bounds(
            asked_by(job, None), UNKNOWN if job._cluster is None else job._cluster.named(names, job, nodes=nodes)
        ),
    )
    return known


def bounds(asked: Reading, partitions: Iterable[Partition]) -> Bounds:
    """Return the bounds of a request that may run in one of some partitions."""
    known = tuple(partitions)
    # If slurmctld has tried a partition with DefMemPerGPU, it forgets the default memory for all the others.
    forgets = len(known) > 1 and any(partition.defaults.mem_per_gpu for partition in known)
    # It also keeps the CPUs per GPU that it has once filled in.
    kept = max((partition.defaults.cpu_per_gpu or 0 for partition in known), default=0)
    kept = kept if asked.update or (len(known) > 1 and not asked.cpus_per_gpu) else 0
    return reduce(or_, (_In(asked, partition, forgets=forgets, kept=kept).bounds() for partition in known))


def time_in(asked: Limits, partition: Partition) -> Range:
    """Return the time limit in minutes that a request gets in a partition."""
    limit = partition.default_time if asked.time_limit is None else asked.time_limit
    if asked.time_limit is None and asked.deadline:  # at its start, it gets at most what is left
        limit = min(ENDLESS if limit is None else limit, max(0, math.ceil((asked.deadline - time.time()) / 60)))
    if limit is None:
        return Range.of(asked.time_min or 0, ENDLESS)
    # Slurm shortens the limit for a deadline.
    least = asked.time_min or (0 if asked.deadline else limit)
    return Range.of(min(least, limit, YEAR), limit)


class _In(Nodes):
    """The bounds of a request in one partition."""

    def __init__(self, asked: Reading, partition: Partition, *, forgets: bool = False, kept: int = 0) -> None:
        """Read the request, and compute from nodes to CPUs.

        ``forgets``: GPUs make slurmctld forget the default memory of a job that names none. ``kept`` are CPUs per GPU
        that another partition may have set.
        """
        super().__init__(asked, partition, kept)
        self.forgets = forgets
        # Of the CPUs for GPUs, each may be a core, as of --mincpus.
        self.cpus_of_gpu = self.cpus_per_gpu * self.cpus_for_one
        # By how much the CPUs of whole cores exceed the threads that the job uses of them, and those of sockets its.
        threads = quotient(self.threads, asked.threads_per_core or self.threads)
        others = partition.largest_socket if partition.defaults.whole_sockets else 1
        self.unused = threads, others
        self.cpus = self._cpus(threads * others)
        self.cpus_per_node = self._cpus_per_node(self.cpus, threads * others)

    def bounds(self) -> Bounds:
        memory_per_node, named = self._memory_per_node()
        nodes = self.nodes
        if named and self.memory_per_cpu:
            per_cpu = Range(min(memory_per_node.least, self.memory_per_cpu), self.memory_per_cpu)
        else:
            most = quotient(memory_per_node.limit, self._fewest_beside_others())
            per_cpu = Range.of(memory_per_node.least // self.cpus_per_node.limit, most)
        return Bounds(
            nodes=nodes,
            tasks=self.tasks,
            cpus=self.cpus,
            cpus_per_node=self.cpus_per_node,
            gpus=self.gpus,
            gpus_per_node=self.gpus_per_node,
            gpu_types=self.types,
            memory=Range.of(memory_per_node.least * self.used, memory_per_node.limit * nodes.limit),
            memory_per_node=memory_per_node,
            memory_per_cpu=per_cpu,
            licenses=self._licenses(),
            time=time_in(self.asked.limits, self.partition),
            whole_nodes=self.whole,
            names_memory=named,
        )

    def _cpus(self, unused: int) -> Range:
        """Return CPUs in total; for each that the job uses, so many count."""
        asked, nodes = self.asked, self.nodes
        least = max(self._least_cpus(), self.used * self._fewest_on_node())
        # Each of the CPUs that the client has computed from --ntasks may be a core, if the tasks do not decide.
        each = self.cpus_for_one if asked.ntasks_per_tres or asked.num_tasks is None else 1
        # Slurm gives CPUs to all tasks of each GPU, even if the job has fewer tasks.
        tasks = max(self.tasks.limit, self.gpus.limit * (asked.ntasks_per_tres or 0))
        most = max(
            asked.needed_cpus * each,
            asked.max_cpus or 1,
            nodes.limit * self._cpus_on_node(),
            0 if asked.tasks_share_cpus else tasks * self.cpus_per_task,
            self.cpus_of_gpu * self.gpus.limit,
        )
        if (asked.per_job or asked.ntasks_per_tres) and self.cpus_of_gpu:
            most = max(most, self._cpus_of_gpus())
        if (asked.per_socket and self.cpus_of_gpu) or self.countless or asked.cpus_per_other:
            most = ENDLESS
        most *= unused
        if self.whole or self.binds:
            most = ENDLESS
        if self.partition.nodes:
            most = min(most, self._largest(self.partition.nodes, lambda node: node.cpus))
            least = max(least, self._smallest(lambda node: node.cpus)) if self.whole else least
        return Range.of(least, most)

    def _cpus_of_gpus(self) -> int:
        """Return the most CPUs if Slurm distributes a number of GPUs over nodes.

        A node gets the CPUs of the GPUs that it could give, although other nodes may give most of them; or those of its
        tasks, if they are more.
        """
        asked, gpus = self.asked, self.gpus.limit
        if gpus >= ENDLESS:
            return ENDLESS
        largest = self.gpus_per_node.limit

        def cpus(nodes: int) -> int:
            on_node = max(self.cpus_of_gpu * min(max(gpus - nodes + 1, 1), largest), self._cpus_on_node())
            tasks = (self.tasks.limit - nodes + 1) * self.cpus_per_task
            return (nodes - 1) * on_node + (on_node if asked.ntasks_per_node else max(on_node, tasks))

        least, most = self.nodes.least, max(min(self.nodes.limit, gpus), self.nodes.least)
        # The product grows with the nodes until they have too few GPUs each.
        return max(cpus(min(max(nodes, least), most)) for nodes in (1, gpus + 1 - largest, (gpus + 1) // 2, most))

    def _least_cpus(self) -> int:
        """Return the least CPUs in total; Slurm frees those that its distribution of tasks and GPUs does not need."""
        asked, of_gpus = self.asked, (self.asked.cpus_per_gpu or 0) * self.gpus.least
        if asked.release < WHOLE_GPUS and (asked.overcommit or self.nodes.most != 1):
            of_gpus = 1
        if asked.ntasks_per_tres:  # the CPUs that the client has computed from --ntasks do not count
            return 1
        if asked.num_tasks is None:
            return max(self._named_cpus(), of_gpus)
        return min(self._named_cpus(), self.tasks.least * asked.fewest_cpus_per_task)

    def _cpus_per_node(self, cpus: Range, unused: int, *, whole_cores: bool = False) -> Range:
        """Return the CPUs on one node of those in total; see :meth:`_cpus`."""
        asked = self.asked
        least = cpus.least if self.nodes.most == 1 else self._fewest_on_node()
        most = max(cpus.limit - (self.nodes.least - 1), least)
        tasks = self.tasks.limit * self.cpus_per_task
        enough = max(asked.needed_cpus, asked.max_cpus or 1) <= (1 if self.lacks_tasks else tasks)
        decided = not (self.whole or self.binds or asked.spread or self.countless or asked.cpus_per_other)
        if asked.ntasks_per_node and enough and decided:
            on_node = max(self._cpus_on_node(), self.cpus_of_gpu * self.gpus_per_node.limit)
            most = min(most, on_node * unused)
        if (self.whole or self.binds) and self.partition.nodes is None:
            most = ENDLESS
        elif whole_cores and most < ENDLESS:
            most = self.in_cores(most)
        return Range.of(least, min(most, self._on_node(lambda node: node.cpus)))

    def _charged(self) -> Range:
        """Return the CPUs on one node that memory for each CPU counts: of whole cores, but not unused threads."""
        threads, others = self.unused
        cpus = self._cpus_per_node(self._cpus(others), others, whole_cores=self.partition.defaults.whole_cores)
        # On whole nodes, Slurm may count the CPUs of the unused threads a second time.
        return Range.of(quotient(cpus.least, threads), cpus.limit * (threads if self.whole else 1))

    def _fewest_beside_others(self) -> int:
        """Return the least CPUs on a node if the other ones have all tasks that they may have."""
        asked, least = self.asked, self.cpus_per_node.least
        if not asked.ntasks_per_node:
            return least
        tasks = self.tasks.least - (self.nodes.limit - 1) * asked.ntasks_per_node
        return max(least, tasks * asked.fewest_cpus_per_task)

    def _memory_per_node(self) -> tuple[Range, bool]:
        """Return the memory on one node, and whether the request names it."""
        asked, defaults = self.asked, self.partition.defaults
        if asked.memory_per_node == 0 or asked.memory_per_cpu == 0:
            return Range.of(0, self._on_node(lambda node: node.memory)), True
        if asked.memory_per_node is not None:
            return Range.of(asked.memory_per_node, asked.memory_per_node), True
        if asked.memory_per_cpu is not None:
            return self._multiple(self.memory_per_cpu or 0, self._charged()), True
        if asked.memory_per_other:
            return Range.of(0, self._on_node(lambda node: node.memory)), True
        if asked.memory_per_gpu is not None:
            return self._multiple(asked.memory_per_gpu, self._charged_gpus()), True
        if self.gpus.limit and self.forgets:
            return Range.of(0, self._on_node(lambda node: node.memory)), False
        default = self._default_memory(defaults.mem_per_cpu, defaults.mem_per_node)
        if asked.default_per_cpu or asked.default_per_node:  # which slurmctld replaces if the partition changes
            default |= self._default_memory(asked.default_per_cpu, asked.default_per_node)
        if self.gpus.limit and defaults.mem_per_gpu:
            of_gpus = self._multiple(defaults.mem_per_gpu, self._charged_gpus())
            return of_gpus if self.gpus.least else of_gpus | default, False
        return default, False

    def _charged_gpus(self) -> Range:
        """Return the GPUs on one node that memory for each GPU counts: on whole nodes all, once for each named type."""
        asked, gpus = self.asked, self.gpus_per_node
        fields = (asked.per_job, asked.per_node, asked.per_socket, asked.per_task)
        named = {kind for counts in fields for kind in counts.most}
        return Range.of(gpus.least, gpus.limit * len(named)) if self.whole and named else gpus

    def _default_memory(self, per_cpu: int | None, per_node: int | None) -> Range:
        """Return the memory on one node of a job that names none."""
        if per_cpu:
            return self._multiple(per_cpu, self._charged())
        return Range.of(0, per_node or self._on_node(lambda node: node.memory))

    def _multiple(self, each: int, count: Range) -> Range:
        """Return an amount of memory for each of something, of which no node can give more than it has."""
        return Range.of(each * count.least, min(each * count.limit, self._on_node(lambda node: node.memory)))

    def _licenses(self) -> dict[str, Range]:
        asked = self.asked
        licenses = {}
        for name in {**asked.licenses, **asked.licenses_per_task}:
            fixed, each = asked.licenses.get(name, 0), asked.licenses_per_task.get(name, 0)
            least = 0 if asked.one_license else 1 if fixed == ENDLESS else fixed
            licenses[name] = Range.of(least + each * self.tasks.least, fixed + each * self.tasks.limit)
        return licenses
