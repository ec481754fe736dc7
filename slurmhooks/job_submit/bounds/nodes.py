# SPDX-License-Identifier: GPL-2.0-or-later
"""How many nodes, tasks and GPUs a request can get in one partition; see computing.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.job_submit.bounds.model import ENDLESS, Range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slurmhooks.job_submit.bounds.asked import Reading
    from slurmhooks.job_submit.bounds.cluster import Node, Partition

WHOLE_GPUS = (23, 2)
"""The first release that always allocates as many GPUs, and CPUs for them, as a job asks for."""
TASKS_LIMIT_GPUS = (24, 11)
"""The first release that is known to give to the tasks of a node their GPUs, not also to CPUs that other tasks need."""
SPREAD_BY_WEIGHT = (25, 5)
"""The first release that is known to give to a job that spreads one more node of each weight than it must have."""
COMPUTES_TASKS = (24, 11)
"""The first release that is known to compute a number of tasks from those of a node, which the commands always do."""
ALL_GRES = (23, 11)
"""The first release in which a job that gets whole nodes gets their GRES, too."""


def quotient(number: int, divisor: int) -> int:
    """Return a quotient, rounded up."""
    return -(-number // max(divisor, 1))


def _sum(amounts: Iterable[tuple[int, int]], most: int) -> int:
    """Return the sum of the first amounts, each with how many times it is there, of which so many count at most."""
    total = 0
    for each, count in amounts:
        taken = min(count, most)
        total, most = total + each * taken, most - taken
    return total


class Nodes:
    """Nodes, tasks and GPUs of a request in one partition; a step of the computation needs only those before it."""

    def __init__(self, asked: Reading, partition: Partition, kept: int) -> None:
        """Read the request, and compute from nodes to GPUs.

        ``kept`` are CPUs per GPU that another partition may have set.
        """
        self.asked = asked
        self.partition = partition
        self.whole = asked.exclusive or partition.exclusive or (asked.specialized and partition.defaults.core_spec)
        self.has_gpus = bool(asked.per_job or asked.per_node or asked.per_socket or asked.per_task)
        binds = partition.defaults.binds_gpus if asked.binds_gpus is None else asked.binds_gpus
        # A job gets CPUs next to its GPUs, and those that it passes over, up to all of a node.
        self.binds = binds and (self.has_gpus or bool(asked.ntasks_per_tres))
        self.memory_per_cpu, self.factor = self._memory_per_cpu()
        self.threads = partition.threads
        self.cpus_per_task = max(asked.cpus_per_task or 1, asked.cpus_in_task) * self.factor
        per_core = asked.ntasks_per_core or (1 if partition.defaults.one_task_per_core else self.threads)
        # Of --mincpus, too, some releases count each CPU as a core.
        self.cpus_for_one = quotient(self.threads, per_core)
        if per_core < self.threads:
            self.cpus_per_task = self.in_cores(self.cpus_per_task)
        self.cpus_per_gpu = max(asked.cpus_per_gpu or partition.defaults.cpu_per_gpu or 0, kept)
        # An update may give GPUs to the tasks of a job that has no number of tasks: if the GPUs bring CPUs, slurmctld
        # gives to it as many of both as fit on each node.
        countless = asked.update and asked.num_tasks is None and asked.release >= WHOLE_GPUS
        self.countless = countless and bool(asked.per_task) and self.cpus_per_gpu > 0
        self.lacks_tasks = asked.num_tasks is None and asked.release < COMPUTES_TASKS
        self.nodes = self._nodes()
        self.used = self._used()
        self.tasks = self._tasks()
        self.types = self._types()
        self.gpus = self._gpus() if self.types else Range(0, 0)
        self.gpus_per_node = self._gpus_per_node() if self.gpus.limit else self.gpus

    def _nodes(self) -> Range:
        asked = self.asked
        least = max(asked.min_nodes or 1, self._fewest(asked.per_job.fewest, lambda node: sum(node.gpus.values())))
        if asked.num_tasks and not (asked.ntasks_per_tres or asked.ntasks_per_node or asked.stale_tasks):
            cpus = min(self._named_cpus(), asked.num_tasks * asked.fewest_cpus_per_task)
            least = max(least, self._fewest(cpus, lambda node: node.cpus))
        given = asked.max_nodes
        if given is not None and given < ENDLESS:
            most = given
        elif given is not None:
            most = ENDLESS  # Slurm tries to get as many nodes as the maximum
        else:
            needed = self._needed(least)
            # A job that spreads may get other nodes besides those with its features.
            most = max(needed + (asked.featured_nodes if asked.spread else 0), asked.chosen_nodes)
        computed = asked.stale_tasks or asked.ntasks_per_tres or asked.ntasks_per_node
        if asked.num_tasks and not computed and asked.needed_cpus <= asked.num_tasks * self.cpus_per_task:
            most = min(most, max(asked.num_tasks, asked.chosen_nodes))
        if asked.per_job.least and given is not None:
            most = min(most, asked.per_job.total)
        if self.partition.keeps_min_nodes:
            least = max(least, self.partition.min_nodes)
        most = min(most, self.partition.max_nodes or most) + self._spread_further()
        if self.partition.node_count is not None:
            most = min(most, self.partition.node_count)
        spread = quotient(asked.num_tasks or 1, asked.ntasks_per_node or asked.num_tasks or 1)
        return Range.of(least, max(most, least, spread, asked.named_nodes, self.partition.min_nodes))

    def _spread_further(self) -> int:
        """Return how many nodes a job that spreads may get besides those that it needs, or above its maximum.

        _add_nodes_by_weight_spread() adds a node of each weight before it looks whether one is needed. A maximum of one
        node holds.
        """
        asked, nodes = self.asked, self.partition.nodes
        most = asked.num_tasks if asked.max_nodes is None and not asked.update else asked.max_nodes
        if not asked.spread or asked.release < SPREAD_BY_WEIGHT or 1 in (most, self.partition.max_nodes):
            return 0
        if nodes is None or asked.featured_nodes > 1:
            return ENDLESS
        return len({node.weight for node in nodes}) - int(not asked.named_nodes)

    def _used(self) -> int:
        """Return how many nodes the job uses at least.

        After an update of the nodes alone or of the CPUs, or because of MinNodes, Slurm may allocate some of which it
        gets nothing.
        """
        asked, least = self.asked, self.nodes.least
        if asked.stale_tasks or (asked.stale_cpus and not asked.num_tasks):
            return 1
        if self.partition.keeps_min_nodes and (self.has_gpus or asked.ntasks_per_tres):
            return 1
        return min(least, asked.num_tasks or least)

    def in_cores(self, cpus: int) -> int:
        """Return a number of CPUs, rounded up to whole cores, which Slurm allocates."""
        return quotient(cpus, self.threads) * self.threads

    def _fewest(self, needed: int, amount: Callable[[Node], int]) -> int:
        """Return how many nodes together have an amount; 1 if the nodes are not known, or all have less."""
        number = 0
        for each, count in sorted(self._amounts(amount), reverse=True):
            if needed <= each * count:
                return number + max(quotient(needed, each), 1)
            number, needed = number + count, needed - each * count
        return 1

    def _needed(self, least: int) -> int:
        """Return how many nodes Slurm takes at most if the request sets no maximum.

        It adds nodes until it has the CPUs, GRES and nodes that the job needs. Each has the CPUs of one task; those of
        more tasks only if no GPUs limit the tasks of a node.
        """
        asked = self.asked
        if asked.spread and asked.per_job and not asked.num_tasks:
            return ENDLESS  # from 25.05 on, each node of the partition gives a GPU, even if the job names fewer
        if asked.cpus_per_other:
            return ENDLESS
        tasks = asked.num_tasks or 0
        if asked.ntasks_per_tres and self.has_gpus:
            tasks = max(tasks, self._named_gpus(least) * asked.ntasks_per_tres)
        elif asked.ntasks_per_tres or asked.ntasks_per_node:
            per_node = max(asked.ntasks_per_tres or 0, asked.ntasks_per_node or 0)
            tasks = max(tasks, least * per_node)
        gpus = self._named_gpus(least)
        if asked.ntasks_per_tres and not self.has_gpus:
            gpus = tasks // asked.ntasks_per_tres
        cpus = max(asked.needed_cpus, tasks * self.cpus_per_task, self.cpus_per_gpu * gpus, self._cpus_on_node())
        if asked.tasks_share_cpus:
            cpus = max(asked.needed_cpus, self.cpus_per_gpu * gpus, self._cpus_on_node())
        on_node = max(self.cpus_per_task, self.cpus_per_gpu if self.has_gpus else 1)
        if not self.has_gpus and not asked.ntasks_per_tres:
            on_node = max(on_node, asked.pn_min_cpus or 1, (asked.ntasks_per_node or 0) * (asked.cpus_per_task or 1))
        gpus = max(asked.per_job.total, asked.per_task.total * tasks)
        # Without a maximum, slurmctld takes the number of tasks for one of a job that spreads.
        return max(quotient(cpus, on_node), gpus, asked.others_per_job, tasks if asked.spread else 0)

    def _named_gpus(self, nodes: int) -> int:
        """Return the GPUs that Slurm counts before it knows the nodes."""
        if not self.has_gpus:
            return 0
        asked = self.asked
        return max(
            asked.per_job.total,
            asked.per_node.total * nodes,
            asked.per_socket.total * nodes * (asked.sockets_per_node or 1),
            asked.per_task.total * (asked.num_tasks or 1),
        )

    def _tasks(self) -> Range:
        asked, nodes = self.asked, self.nodes
        number, per_gpu, per_node = asked.num_tasks, asked.ntasks_per_tres, asked.ntasks_per_node
        if number is not None and not per_gpu and not per_node and not asked.stale_tasks:
            return Range(number, number)
        computed = nodes
        if per_gpu:
            # Of the number of nodes or GPUs, releases and clients take one or the other; sbatch drops --ntasks.
            fewest_nodes = max(nodes.least, self.partition.min_nodes, asked.named_nodes)
            most = nodes.limit if asked.max_nodes is not None else fewest_nodes
            computed = Range.of(nodes.least * per_gpu, most * per_gpu)
            if self.has_gpus:
                fewest = min(asked.per_job.fewest or ENDLESS, self._named_gpus(nodes.least))
                computed |= Range.of(fewest * per_gpu, self._named_gpus(most) * per_gpu)
        elif per_node:  # --ntasks-per-node may win over --ntasks, in both directions
            # Slurm may compute the tasks before it raises the nodes to MinNodes.
            computed = Range.of((asked.min_nodes or 1) * (1 if self.lacks_tasks else per_node), nodes.limit * per_node)
        elif asked.per_job and asked.per_task:
            computed |= Range.of(asked.per_job.fewest // max(asked.per_task.total, 1), asked.per_job.total)
        return computed if number is None else computed | Range(number, number)

    def _types(self) -> dict[str | None, Range]:
        types = self._asked_types(self.tasks) if self.has_gpus else {}
        if not self.has_gpus and self.asked.ntasks_per_tres:
            per_gpu = self.asked.ntasks_per_tres
            least = self.tasks.least // per_gpu if self.asked.gpus_of_tasks else 0
            least = min(least, 1) if self.asked.update else least  # those of the tasks that the job had at submission
            # Each node with a feature, or a name, gives a GPU.
            chosen = min(self.asked.chosen_nodes, self.nodes.limit)
            types = {None: Range.of(least, max(self.tasks.limit // per_gpu, chosen))}
        if not self.whole:
            return types
        nodes = self.partition.nodes
        if nodes is None:
            return {**types, None: Range.of(types.get(None, Range(0, 0)).least, ENDLESS)}
        for kind in dict.fromkeys(kind for node in nodes for kind in node.gpus):
            most = self._largest(nodes, lambda node, kind=kind: node.gpus.get(kind, 0))  # type: ignore[misc]
            named = types.get(kind, Range(0, 0))
            types[kind] = Range.of(named.least, max(most, named.limit))
        return types

    def _asked_types(self, tasks: Range) -> dict[str | None, Range]:
        """Return the GPUs that the request names, by type."""
        asked, nodes, sockets = self.asked, self.nodes, self._sockets()
        fields = (
            (asked.per_job, Range(1, 1)),
            (asked.per_node, nodes),
            (asked.per_socket, Range.of(nodes.least * sockets.least, nodes.limit * sockets.limit)),
            (asked.per_task, self._tasks_with_gpus(tasks)),
        )
        types: dict[str | None, Range] = {}
        for kind in dict.fromkeys(kind for counts, _ in fields for kind in counts.most):
            ranges = [
                (counts.least.get(kind, 0) * times.least, counts.most.get(kind, 0) * times.limit)
                for counts, times in fields
            ]
            (job, _), _, (socket, _), (task, _) = ranges
            least = max(least for least, _ in ranges)
            if job and asked.overcommit and self.cpus_per_gpu and asked.release < WHOLE_GPUS:
                least = min(least, int(len(asked.per_job.most) == 1))
            if job and (socket or task):  # slurmctld may replace the number for the job by that for all of these
                least = min(number for number in (job, socket, task) if number)
            most = max(most for _, most in ranges)
            if job:  # it decides the nodes, each of which gets a GPU at least
                most = max(*(most for _, most in ranges[:1] + ranges[2:]), nodes.limit)
            types[kind] = Range.of(least, most)
        return types

    def _tasks_with_gpus(self, tasks: Range) -> Range:
        """Return the number of tasks for which Slurm counts GPUs: on each node, one at least for the CPUs of one."""
        asked, release = self.asked, self.asked.release
        if self.countless:
            return Range.of(tasks.least, ENDLESS)
        # An update of both does not always make slurmctld compute the GPUs from the new number of tasks.
        least = 1 if asked.update and release < WHOLE_GPUS else tasks.least
        if asked.per_task and asked.num_tasks is None and (asked.update or not asked.per_job):
            return Range.of(least, max(tasks.limit, self._tasks_of_cpus()))
        if release >= TASKS_LIMIT_GPUS or self.nodes.most == 1:
            return Range.of(least, tasks.limit)
        on_node = quotient(self._cpus_on_node(), asked.cpus_per_task or 1)
        return Range.of(least, max(tasks.limit, self.nodes.limit * on_node))

    def _tasks_of_cpus(self) -> int:
        """Return the most tasks that Slurm makes of all CPUs of a job that has no number of tasks."""
        asked, nodes = self.asked, self.nodes.limit
        if self.whole or self.binds or self.partition.defaults.whole_sockets:
            return ENDLESS
        cpus = max(asked.needed_cpus, asked.max_cpus or 1, nodes * self._cpus_on_node()) * self.cpus_for_one
        # Each node may give the other threads of a core.
        return (cpus + nodes * (self.threads - 1)) // asked.fewest_cpus_per_task

    def _gpus(self) -> Range:
        """Return the GPUs of all types; those without a type may be the same as those with one."""
        typed = sum(gpus.least for kind, gpus in self.types.items() if kind is not None)
        least = max(typed, self.types[None].least if None in self.types else 0)
        most = sum(gpus.limit for gpus in self.types.values())
        nodes = self.partition.nodes
        if (self.whole or self.countless) and nodes:
            most = min(most, max(self._largest(nodes, lambda node: sum(node.gpus.values())), least))
            if self.whole and self.has_gpus and self.asked.release >= ALL_GRES:
                least = max(least, self._smallest(lambda node: sum(node.gpus.values())))
        return Range.of(least, most)

    def _sockets(self) -> Range:
        """Return the sockets of a node that --gpus-per-socket counts: any, whatever --sockets-per-node says."""
        if self.partition.nodes:
            most = max(node.sockets for node in self.partition.nodes)
            return Range.of(1, max(most, self.asked.sockets_per_node or 1))
        return Range.of(1, ENDLESS)

    def _gpus_per_node(self) -> Range:
        asked = self.asked
        least = max(
            asked.per_node.fewest,
            asked.per_socket.fewest * self._sockets().least,
            self.gpus.least if self.nodes.most == 1 else 0,
        )
        most = self.gpus.limit
        if not (self.whole or self.countless):
            most = max(most - (self.used - 1), 1) if asked.per_job else most
            if asked.per_node and asked.per_job.most.keys() <= asked.per_node.most.keys():
                most = min(most, asked.per_node.total)
            elif asked.per_socket and not asked.per_job:
                most = min(most, asked.per_socket.total * self._sockets().limit)
            elif asked.per_task and asked.ntasks_per_node and not asked.per_job:
                most = min(most, asked.per_task.total * asked.ntasks_per_node)
        return Range.of(least, min(most, self._on_node(lambda node: sum(node.gpus.values()))))

    def _cpus_on_node(self) -> int:
        """Return the CPUs that each node must have at most."""
        asked = self.asked
        named = (asked.pn_min_cpus or 1) * self.cpus_for_one
        most = max(named, max(asked.ntasks_per_node or 0, 1) * self.cpus_per_task)
        limit = self.partition.defaults.max_mem_per_cpu
        if limit and asked.memory_per_node and not asked.memory_per_cpu:
            most = max(most, quotient(asked.memory_per_node, limit))
        return most

    def _fewest_on_node(self) -> int:
        """Return the CPUs that each node with tasks gives at least."""
        asked = self.asked
        # Slurm makes a single task of all CPUs that --mincpus names, unless something else decides the tasks.
        others = (asked.num_tasks, asked.ntasks_per_node, asked.ntasks_per_tres, self.has_gpus, asked.overcommit)
        if asked.fewest_cpus_per_task == 1 and not (asked.update or any(others)):
            return asked.pn_min_cpus or 1
        return asked.fewest_cpus_per_task

    def _named_cpus(self) -> int:
        """Return the CPUs that the request names in total, and that Slurm does not replace by fewer.

        Without a number of tasks, each node gives those of whole tasks.
        """
        asked, named = self.asked, self.asked.min_cpus or 1
        if asked.overcommit or asked.stale_cpus:
            return 1
        if asked.num_tasks or named % asked.fewest_cpus_per_task == 0:
            return named
        return max(named - self.nodes.limit * (asked.fewest_cpus_per_task - 1), 1)

    def _memory_per_cpu(self) -> tuple[int | None, int]:
        """Return the memory for each CPU, and by which factor slurmctld raises the CPUs to stay below MaxMemPerCPU."""
        memory, limit = self.asked.memory_per_cpu, self.partition.defaults.max_mem_per_cpu
        if not memory or not limit or memory <= limit:
            return memory, 1
        factor = quotient(memory, limit)
        return quotient(memory, factor), factor

    def _largest(self, nodes: tuple[Node, ...], amount: Callable[[Node], int]) -> int:
        """Return what those nodes have together that have the most, as many as the job may get."""
        return _sum(sorted(((amount(node), node.number) for node in nodes), reverse=True), self.nodes.limit)

    def _smallest(self, amount: Callable[[Node], int]) -> int:
        """Return what those nodes have together that have the least, but have some, as many as the job must get."""
        return _sum(sorted(each for each in self._amounts(amount) if each[0]), self.used)

    def _amounts(self, amount: Callable[[Node], int]) -> list[tuple[int, int]]:
        """Return what the nodes have, each amount with how many have it."""
        return [(amount(node), node.number) for node in self.partition.nodes or ()]

    def _on_node(self, amount: Callable[[Node], int]) -> int:
        """Return what the largest node has; ENDLESS if the nodes are not known."""
        return max(map(amount, self.partition.nodes), default=ENDLESS) if self.partition.nodes else ENDLESS
