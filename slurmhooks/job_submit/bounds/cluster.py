# SPDX-License-Identifier: GPL-2.0-or-later
"""What slurmhooks knows of the cluster: the partitions that a job may run in, their nodes, and Slurm's defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks.fields.constants import QosFlag
from slurmhooks.fields.rows import release_of
from slurmhooks.job_submit.bounds import defaults
from slurmhooks.job_submit.bounds.asked import Reader
from slurmhooks.job_submit.bounds.counts import GPU, Counts
from slurmhooks.job_submit.bounds.defaults import Defaults
from slurmhooks.job_submit.bounds.model import ENDLESS
from slurmhooks.job_submit.strings import NotationError, Tres
from slurmhooks.values import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from slurmhooks.job_submit.bounds.asked import ReadableJob
    from slurmhooks.slurmctld.model import Record
    from slurmhooks.slurmctld.table import Table as OfSlurmctld

    Table = OfSlurmctld[Any, Any]


class Node(NamedTuple):
    """What some nodes have, each of them.

    ``cpus`` and ``memory`` (in MiB) are those that jobs may get, ``threads`` the CPUs of a core; there are ``number``
    such nodes.
    """

    cpus: int
    sockets: int
    memory: int
    gpus: dict[str | None, int]
    threads: int = 1
    weight: int = 1
    number: int = 1


class Partition(NamedTuple):
    """A partition in which the job may run; without values nothing is known of it.

    Attributes:
        min_nodes: MinNodes.
        max_nodes: MaxNodes; None for no limit, or if a QOS may lift it.
        keeps_min_nodes: no QOS lifts MinNodes.
        node_count: its number of nodes; None if not known.
        exclusive: OverSubscribe=EXCLUSIVE, or select/linear: jobs get whole nodes.
        defaults: of the partition, or else of the cluster.
        default_time: the time limit of jobs that name none; ENDLESS for UNLIMITED, None if not known.
        nodes: its nodes, by kind; None if not known, or not asked for.
        name: its name.
    """

    min_nodes: int = 1
    max_nodes: int | None = None
    keeps_min_nodes: bool = False
    node_count: int | None = None
    exclusive: bool = False
    defaults: Defaults = Defaults()
    default_time: int | None = None
    nodes: tuple[Node, ...] | None = None
    name: str | None = None

    @property
    def threads(self) -> int:
        """The most CPUs of a core."""
        return max((node.threads for node in self.nodes or ()), default=self.defaults.threads)

    @property
    def largest_socket(self) -> int:
        """The most CPUs of a socket; ENDLESS if the nodes are not known."""
        return max((node.cpus // node.sockets for node in self.nodes or ()), default=ENDLESS)


SHAPE = ("cpus", "tot_sockets", "tot_cores", "threads", "real_memory", "mem_spec_limit", "gres", "weight")
"""The fields of a node that decide what jobs may get of it."""
CONS_TRES = (23, 11)
"""The first release whose default is not select/linear."""
ACCEPTS_JOBS = 1
"""The bit of partition.state_up without which Slurm takes the partition's Alternate (PARTITION_SUBMIT)."""
MANY = 16
"""Of more partitions than these, slurmctld is asked for all at once: a user may name hundreds."""
UNKNOWN = (Partition(),)
"""The partitions of a job of which nothing is known."""


class Cluster:
    """Looks up partitions and nodes in the tables of slurmctld, as far as a request needs them; or in slurm.conf.

    It asks once: while slurmctld waits for the answer, its locks keep them as they are.
    """

    def __init__(self, table: Callable[[str], Table] | None = None) -> None:
        """Take the function that returns a table by its name; None: slurmctld sends none to this build."""
        self._table = table
        self._nodes: dict[str, list[Node]] = {}
        self._partitions: dict[tuple[str, bool], Partition] = {}
        self._rows: dict[str, Any] = {}
        self._defaults: dict[str, Defaults] = {}
        self._flags: list[QosFlag] | None = None

    def partitions(self, job: ReadableJob, record: Record | None, *, nodes: bool) -> tuple[Partition, ...]:
        """Return the partitions that a request may run in.

        ``nodes``: also ask for all nodes, which takes longer on a large cluster.
        """
        return self.named(self._names(job, record), job, nodes=nodes, submitted=record is None)

    def named(
        self, names: Iterable[str], job: ReadableJob, *, nodes: bool, submitted: bool = True
    ) -> tuple[Partition, ...]:
        """Return partitions by their names, of a submission unless said otherwise; see :meth:`partitions`.

        A submission without a time limit gets the DefaultTime of the first of its partitions that accepts jobs, if that
        one has any, and keeps it in whichever it starts (_valid_job_part() of job_mgr.c). Without its tables, slurmctld
        does not say which one that is.
        """
        names = tuple(names)
        release = release_of(job._release)
        if self._table is not None and len(names) > MANY:
            missing = {name for name in names if name not in self._rows}
            if len(missing) > MANY:
                rows = dict(self._table("partitions").items())
                self._rows.update((name, rows.get(name)) for name in missing)
        for name in names:
            if (name, nodes) not in self._partitions:
                self._partitions[name, nodes] = self._partition(name, release, nodes=nodes)
        found = tuple(self._partitions[name, nodes] for name in names) or UNKNOWN
        if not submitted or len(found) == 1:
            return found
        if self._table is None:
            known = [partition.default_time for partition in found if partition.default_time is not None]
            first = max(known) if len(known) == len(found) else None
        else:
            pairs = zip(found, map(self._row, names), strict=True)
            open_ = (partition for partition, row in pairs if row is not None and row.state_up & ACCEPTS_JOBS)
            first = next(open_, found[0]).defaults.default_time
        return found if first is None else tuple(each._replace(default_time=first) for each in found)

    def accepting(self, names: Iterable[str]) -> list[str]:
        """Return the partitions to which slurmctld assigns a job that is for some.

        Those that accept no jobs (DRAIN or INACTIVE) are replaced by their Alternate. Only partitions that have one in
        slurm.conf are looked up; if slurmctld sends no partitions, both count.
        """
        chosen: dict[str, None] = {}
        for name in names:
            passed = set[str]()
            while name not in passed:
                passed.add(name)
                alternate = self._in_conf(name).alternate
                row = self._row(name) if alternate is not None else None
                if row is not None and not row.state_up & ACCEPTS_JOBS:
                    name = row.alternate or name
                elif alternate is not None and row is None:
                    chosen[name] = None
                    name = alternate
            chosen[name] = None
        return list(chosen)

    def reserved(self, names: Collection[str]) -> list[str | None]:
        """Return the partitions of those reservations that have one; in a build with Slurm's sources."""
        assert self._table is not None
        rows = dict(self._table("reservations").items())
        return [rows[name].partition for name in names if name in rows]

    def _names(self, job: ReadableJob, record: Record | None) -> list[str]:
        """Return the names of the partitions: Slurm takes that of a reservation before the default one."""
        reader = Reader(job, record)
        names = reader.get("partition")
        if self._table is not None and (names is None or reader.leaves_partition):
            names = ",".join(dict.fromkeys(filter(None, (names, job.default_partition))))
        elif names is None and reader.get("reservation"):
            return defaults.partitions()  # slurm.conf does not say which one is that of the reservation
        elif names is None:
            names = defaults.default_partition()
        listed = [name for name in (names or "").split(",") if name]
        return self.accepting(listed) if reader.assigns_partition else listed

    def _partition(self, name: str, release: tuple[int, int], *, nodes: bool) -> Partition:
        known = self._in_conf(name)
        linear = release < CONS_TRES if known.linear is None else known.linear
        row = self._row(name)
        if row is None:
            default_time = known.default_time or known.max_time
            exclusive = known.exclusive or linear
            return Partition(
                known.min_nodes or 1, exclusive=exclusive, defaults=known, default_time=default_time, name=name
            )
        max_time = _limited(row.max_time)
        sent: dict[str, Any] = {"max_time": max_time if max_time is not None and max_time < ENDLESS else None}
        sent["default_time"] = _limited(row.default_time)
        per_cpu, per_node = row.def_mem_per_cpu, row.def_mem_per_node
        if per_cpu or per_node:
            sent |= {"mem_per_cpu": per_cpu, "mem_per_node": per_node}
        per_cpu = row.max_mem_per_cpu
        if per_cpu or row.max_mem_per_node:
            sent["max_mem_per_cpu"] = per_cpu
        known = known._replace(**sent)
        min_nodes, max_nodes = _limited(row.min_nodes) or 1, _limited(row.max_nodes) or ENDLESS
        return Partition(
            min_nodes=min_nodes,
            max_nodes=max_nodes if max_nodes < ENDLESS and self._keep(QosFlag.QOS_FLAG_PART_MAX_NODE) else None,
            keeps_min_nodes=min_nodes > 1 and self._keep(QosFlag.QOS_FLAG_PART_MIN_NODE),
            node_count=row.total_nodes or None,
            exclusive=row.max_share == 0 or linear,
            defaults=known,
            default_time=known.default_time or max_time,
            nodes=tuple(self._nodes_of(name)) if nodes else None,
            name=name,
        )

    def node_list(self, partition: str | None) -> str | None:
        """Return the nodes of a partition as a node list; None if they are not known."""
        row = None if partition is None else self._row(partition)
        return None if row is None else row.nodes

    def _in_conf(self, name: str) -> Defaults:
        if name not in self._defaults:
            self._defaults[name] = defaults.of_partition(name)
        return self._defaults[name]

    def _row(self, name: str) -> Any:
        """Return the row of a partition; None if there is none, or slurmctld sends none."""
        if self._table is not None and name not in self._rows:
            self._rows[name] = self._table("partitions").get(name)
        return self._rows.get(name)

    def _keep(self, flag: QosFlag) -> bool:
        """Return whether jobs of all QOS must keep a limit of their partition, which a flag lifts."""
        assert self._table is not None
        if self._flags is None:
            self._flags = [flags for (flags,) in self._table("qos").counts("flags")]
        return not any(flag in flags for flags in self._flags)

    def _nodes_of(self, partition: str) -> list[Node]:
        """Return the kinds of nodes of a partition: slurmctld counts them, and sends none."""
        if partition not in self._nodes:
            assert self._table is not None
            kinds = self._table("nodes").counts(*SHAPE, partitions=partition)
            rows = ((dict(zip(SHAPE, kind, strict=True)), count) for kind, count in kinds.items())
            self._nodes[partition] = [_node(*row) for row in rows]
        return self._nodes[partition]


def _limited(value: Any) -> int | None:
    return ENDLESS if value is UNLIMITED else value if isinstance(value, int) else None


def _node(row: dict[str, Any], count: int) -> Node:
    try:
        gpus = Counts.of(Tres.parse(row["gres"]), GPU).most
    except NotationError:  # a notation of gres.conf that users cannot write
        gpus = {None: ENDLESS}
    memory = max(row["real_memory"] - row["mem_spec_limit"], 0)
    threads = (row["threads"] or 1) if row["cpus"] > (row["tot_cores"] or 0) else 1
    return Node(row["cpus"], row["tot_sockets"] or 1, memory, gpus, threads, row["weight"], count)
