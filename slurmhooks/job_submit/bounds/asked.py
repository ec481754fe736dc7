# SPDX-License-Identifier: GPL-2.0-or-later
"""What a submission, or an update together with the job that it changes, asks for."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from slurmhooks.fields import ZERO_LEAVES, JobFields, RecordFields
from slurmhooks.fields.constants import JobFlag, Shared
from slurmhooks.fields.rows import release_of, rows
from slurmhooks.job_submit import updates
from slurmhooks.job_submit.bounds import defaults, derived
from slurmhooks.job_submit.bounds.counts import GPU, Counts
from slurmhooks.job_submit.bounds.model import ENDLESS
from slurmhooks.job_submit.strings import Tres, expand_nodes
from slurmhooks.job_submit.strings.features import nodes_with_features
from slurmhooks.job_submit.strings.licenses import read_licenses
from slurmhooks.values import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.slurmctld.model import Record
    from slurmhooks.values import Unlimited

MEMORY = ("min_mem_per_node", "min_mem_per_cpu")
"""Two interpretations of one member: a job can set only one of them."""
FIELDS = (
    "min_nodes", "max_nodes", "req_nodes", "num_tasks", "ntasks_per_node", "ntasks_per_tres", "cpus_per_task",
    "min_cpus", "max_cpus", "pn_min_cpus", "overcommit", "sockets_per_node", "cores_per_socket", "shared",
    "core_spec", "thread_spec", *derived.TRES, *MEMORY, "licenses", "features", "prefer", "threads_per_core",
    "ntasks_per_core", "partition", "reservation", "segment_size",
)  # fmt: skip
"""The fields of a request on which the bounds depend, besides its time limit."""
NOT_IN_RECORDS = frozenset({"shared"})
"""Fields that a record does not have; it has whole_node instead."""
_ROWS = rows(JobFields)
WHOLE_NODE_REQUIRED = 1
"""The bit of details.whole_node that --exclusive sets."""
BITS_OF_WHOLE_NODES = (23, 2)
"""The first release in which whole_node may have bits; in 22.05, 3 is --exclusive=mcs."""


class ReadableJob(Protocol):
    """What the bounds read of ``job`` besides fields by their names; its class itself has bounds."""

    _release: ClassVar[str]

    @property
    def bitflags(self) -> JobFlag | None:
        """Flags of the request."""

    @property
    def default_partition(self) -> str | None:
        """The partition that Slurm takes if the request names none."""

    @property
    def min_cpus(self) -> int | Unlimited | None:
        """CPUs in total."""

    @property
    def threads_per_core(self) -> int | Unlimited | None:
        """The threads of a core that the job uses."""

    @property
    def num_tasks(self) -> int | Unlimited | None:
        """The number of tasks."""

    @property
    def shared(self) -> Shared | None:
        """With whom the nodes are shared."""


class Limits(NamedTuple):
    """What a request says about its time.

    Attributes:
        time_limit, time_min: in minutes; ENDLESS for UNLIMITED. slurmctld ends a job with a limit of 0 at once.
        deadline: --deadline, for which Slurm shortens the time limit, in seconds since the epoch; 0: none.
    """

    time_limit: int | None
    time_min: int | None
    deadline: int


class Reading(NamedTuple):
    """A request, with the notations read. Numbers are None if the request does not set them.

    Attributes:
        limits: what it says about its time.
        release: of Slurm: year and month.
        min_nodes, min_cpus, ...: the fields of ``job`` with these names.
        max_nodes: ENDLESS for a client that sends INFINITE; None if slurmctld has only derived it from the tasks.
        named_nodes: the number of nodes in req_nodes.
        featured_nodes: the sum of the numbers of nodes in features, or in prefer, which Slurm tries first.
        stale_tasks: an update changes what the recorded number of tasks was computed from.
        segments: --segment.
        cores_per_socket: the cores that a socket must have.
        threads_per_core: how many threads of a core the job uses.
        ntasks_per_core: the most tasks on a core.
        exclusive: --exclusive.
        specialized: --core-spec or --thread-spec, which implies --exclusive where it is allowed.
        spread: --spread-job.
        binds_gpus: --gres-flags=enforce-binding, or disable-binding (False); None: neither.
        gpus_of_tasks: slurmctld computes GPUs from ntasks_per_tres, or has done so and keeps them.
        per_job, per_node, per_socket, per_task: GPUs in these fields of TRES.
        others_per_job: the largest number of another GRES in tres_per_job.
        fewest_cpus_per_task: cpus_per_task, or 1 if an update changes it, because releases differ in what follows it,
            or slurmctld may have raised it because of MaxMemPerCPU, and does not always give so many.
        stale_cpus: an update makes slurmctld compute the recorded min_cpus anew.
        cpus_in_task: CPUs in tres_per_task.
        cpus_per_gpu, memory_per_gpu: None if the request does not set them.
        cpus_per_other, memory_per_other: CPUs or memory for each of other GRES, or of GPUs that it does not ask for.
        memory_per_node, memory_per_cpu: in MiB; 0 is all memory of a node.
        default_per_node, default_per_cpu: the default that the job of an update has got at submission; the same.
        licenses, licenses_per_task: the number of each license; ENDLESS if administrators decide it.
        one_license: one of the licenses is enough.
    """

    limits: Limits
    release: tuple[int, int]
    min_nodes: int | None
    max_nodes: int | None
    named_nodes: int
    featured_nodes: int
    num_tasks: int | None
    stale_tasks: bool
    ntasks_per_node: int | None
    ntasks_per_tres: int | None
    cpus_per_task: int | None
    fewest_cpus_per_task: int
    stale_cpus: bool
    min_cpus: int | None
    max_cpus: int | None
    pn_min_cpus: int | None
    overcommit: bool
    segments: bool
    sockets_per_node: int | None
    cores_per_socket: int | None
    threads_per_core: int | None
    ntasks_per_core: int | None
    exclusive: bool
    specialized: bool
    spread: bool
    binds_gpus: bool | None
    update: bool
    gpus_of_tasks: bool
    per_job: Counts
    per_node: Counts
    per_socket: Counts
    per_task: Counts
    others_per_job: int
    cpus_in_task: int
    cpus_per_gpu: int | None
    memory_per_gpu: int | None
    cpus_per_other: bool
    memory_per_other: bool
    memory_per_node: int | None
    memory_per_cpu: int | None
    default_per_node: int | None
    default_per_cpu: int | None
    licenses: dict[str, int]
    licenses_per_task: dict[str, int]
    one_license: bool

    @property
    def chosen_nodes(self) -> int:
        """How many nodes Slurm takes because of names and features; named ones need not have the features."""
        return self.named_nodes + self.featured_nodes

    @property
    def needed_cpus(self) -> int:
        """How many CPUs in total Slurm looks for, besides those of tasks.

        For a job that overcommits, it multiplies them by what each core, socket and node must have (_job_test()).
        """
        needed = self.min_cpus or 1
        if self.overcommit:
            needed *= prod(each or 1 for each in (self.sockets_per_node, self.cores_per_socket, self.threads_per_core))
        return needed

    @property
    def tasks_share_cpus(self) -> bool:
        """Whether tasks may get fewer CPUs than they need; Slurm gives them to tasks of jobs that spread or segment."""
        return self.overcommit and not self.spread and not self.segments


class Reader:
    """Reads the fields of a job as it would be: those of a submission, or of an update and of its job."""

    def __init__(self, job: ReadableJob, record: Record | None, *, modify: bool = False, present: bool = False) -> None:
        """Store the request, and the job that it changes, if slurmctld sent it.

        ``modify``: the request is an update. ``present``: read the job as it is now, as if the request changed nothing.
        """
        self._job: Any = job
        self._record: Any = record
        self._modify = modify or record is not None
        self._present = present

    def get(self, name: str) -> Any:
        """Return a field; None if it is unset, or the update clears it, or slurmctld sent no job."""
        if not (self._modify or self._present):
            value = getattr(self._job, name, None)
            return None if value == "" else value
        if name == "time_limit" and self._record is not None and self.sets(("end_time",)):
            return self._limit_until(self._given("end_time"))
        value = None if self._present else self._given(name)
        if value is None and self._record is not None and not self._is_replaced(name):
            value = in_record(self._record, name)
        return None if value == "" else value

    def _limit_until(self, end_time: int) -> Any:
        """Return the time limit of a running job whose end an update moves, rounded as _update_job() of job_mgr.c."""
        limit = self._record.time_limit
        return limit + (end_time - self._record.end_time + 30) // 60 if isinstance(limit, int) else limit

    def _given(self, name: str) -> Any:
        if self._modify and updates.ignores(name, release_of(self._job._release)):
            return None
        value = getattr(self._job, name, None)
        return None if self._modify and value == 0 and name in ZERO_LEAVES else value

    def _is_replaced(self, name: str) -> bool:
        """Return whether the value of a field in the record must be ignored."""
        return name in NOT_IN_RECORDS or (name in MEMORY and self.sets(MEMORY))

    def sets(self, names: Iterable[str]) -> bool:
        """Return whether the request itself sets one of some fields."""
        return not self._present and any(self._given(name) is not None for name in names)

    def number(self, name: str) -> int | None:
        """Return a number; None if it is unset, or 0, by which Slurm's records mean unset; ENDLESS for UNLIMITED."""
        value = self.get(name)
        return ENDLESS if value is UNLIMITED else int(value) or None if isinstance(value, int) else None

    def amount(self, name: str) -> int | None:
        """Return a number of which 0 has a meaning of its own, such as an amount of memory; ENDLESS for UNLIMITED."""
        value = self.get(name)
        return ENDLESS if value is UNLIMITED else value if isinstance(value, int) else None

    def tres(self, name: str) -> Tres:
        """Return a list of TRES.

        Raises:
            NotationError: Slurm refuses the text, or could read it in another way than slurmhooks.
        """
        return Tres.parse(self.get(name))

    @property
    def leaves_partition(self) -> bool:
        """Whether slurmctld chooses the partition; of several reservations, it tries the partition of each.

        It marks such jobs by a flag. A client may send that flag with a partition.
        """
        # In this order: job records, which audits read, do not have the flags of the request.
        several = "," in (self.get("reservation") or "") and JobFlag.JOB_PART_ASSIGNED in self.flags
        if not self._present and self._given("partition"):
            return several and not self._modify
        return several if self._record is not None else not self._modify

    @property
    def assigns_partition(self) -> bool:
        """Whether slurmctld assigns the job to partitions, instead of leaving it where it is."""
        return not self._present and (not self._modify or bool(self._given("partition")))

    @property
    def is_exclusive(self) -> bool:
        """Whether the job asks for whole nodes."""
        shared = self._job.shared
        if shared is not None or self._record is None:
            return bool(shared == Shared.JOB_SHARED_NONE)
        whole = getattr(self._record, "whole_node", 0)
        if release_of(self._job._release) < BITS_OF_WHOLE_NODES:
            return bool(whole == WHOLE_NODE_REQUIRED)
        return bool(whole & WHOLE_NODE_REQUIRED)

    @property
    def flags(self) -> JobFlag:
        """The flags of the job, which no update changes."""
        flags: JobFlag = self._job.bitflags if self._record is None else self._record.bitflags
        return flags


def in_record(record: Record | None, name: str) -> Any:
    """Return a field of a job by its name in requests; None if it is unset, or the release does not have it."""
    row = _ROWS.get(name)
    values = (getattr(record, each, None) for each in (row.names_in_record if row else (name,)))
    return next((value for value in values if value is not None), None)


def fields_of_records(job: ReadableJob) -> tuple[str, ...]:
    """Return the fields of a record on which bounds of nodes, CPUs and GPUs depend, in the release of a request.

    The record has the CPUs that slurmctld has added for the memory (MaxMemPerCPU).
    """
    others = {*NOT_IN_RECORDS, *MEMORY, "mem_per_tres", "licenses"}
    named = (each for name in FIELDS if name not in others for each in _ROWS[name].names_in_record)
    return present(job, *named, "bitflags", "tres_fmt_req_str", "whole_node")


def present(job: ReadableJob, *names: str) -> tuple[str, ...]:
    """Return those of some fields of a record that the release of a request has, each once."""
    release, known = release_of(job._release), rows(RecordFields)
    return tuple(name for name in dict.fromkeys(names) if known[name].member(release, known[name].members) is not None)


def read(job: ReadableJob, record: Record | None) -> Reading:
    """Return what a request asks for.

    ``record`` is the job of an update, if slurmctld sent it.

    Raises:
        NotationError: a list in the request is invalid.
    """
    reader = Reader(job, record)
    number = reader.number
    limited = record is not None and defaults.limits_memory_of_cpus(record.partition)
    raised = limited and reader.sets((*MEMORY, "partition"))
    per_node, per_cpu = (reader.amount(name) for name in MEMORY)
    # The job of an update has the default as if it were named, but is not marked so.
    named = record is None or reader.sets(MEMORY) or JobFlag.JOB_MEM_SET in reader.flags
    licenses = read_licenses(reader.get("licenses"))
    # All nodes (NumNodes=ALL) are no minimum: Slurm adds them only to jobs that expand others.
    min_nodes = number("min_nodes")
    all_nodes = min_nodes == ENDLESS
    max_nodes = derived.max_nodes(reader, record) if not all_nodes else ENDLESS
    # From Slurm 23.11 on, feature{ib} and the like name any number of nodes; then min_nodes of a job has that.
    uncounted = "{" in (reader.get("req_nodes") or "") and (record is None or reader.sets(("req_nodes",)))
    per_job, _, _, per_task = lists = [reader.tres(name) for name in derived.GPUS]
    gpus = [Counts.of(tres) for tres in lists]
    # An update that clears the last of them does not always make slurmctld forget them.
    if record is not None and not any(gpus):
        cleared = [Reader(job, record, present=True).tres(name) for name in derived.GPUS]
        gpus = [Counts({}, Counts.of(tres).most) for tres in cleared]
        lists += cleared
    wanted = {item.key for tres in lists for item in tres if item.count}
    per_tres, cpus_per_task, flags = number("ntasks_per_tres"), number("cpus_per_task"), reader.flags
    wanted |= {GPU} if per_tres or any(key.startswith(f"{GPU}:") for key in wanted) else set()
    cpus_of, memory_of = reader.tres("cpus_per_tres"), reader.tres("mem_per_tres")
    return Reading(
        limits=limits(job, record),
        release=release_of(job._release),
        min_nodes=Reader(job, record, present=True).number("min_nodes") if all_nodes else min_nodes,
        max_nodes=max_nodes if max_nodes is not None or not uncounted else ENDLESS,
        named_nodes=len(set(expand_nodes(reader.get("req_nodes")))),
        featured_nodes=max(map(nodes_with_features, map(reader.get, ("features", "prefer")))),
        num_tasks=number("num_tasks"),
        stale_tasks=record is not None
        and job.num_tasks is None
        and reader.sets(("min_nodes", "max_nodes", "ntasks_per_node", "ntasks_per_tres", "tres_per_job")),
        ntasks_per_node=number("ntasks_per_node"),
        ntasks_per_tres=per_tres,
        cpus_per_task=cpus_per_task,
        fewest_cpus_per_task=1
        if limited or (record is not None and reader.sets(("cpus_per_task",)))
        else cpus_per_task or 1,
        stale_cpus=raised
        or (record is not None and job.min_cpus is None and reader.sets(("pn_min_cpus", "cpus_per_task"))),
        min_cpus=number("min_cpus"),
        max_cpus=number("max_cpus"),
        pn_min_cpus=number("pn_min_cpus"),
        overcommit=bool(number("overcommit")),
        segments=bool(number("segment_size")),
        sockets_per_node=number("sockets_per_node"),
        cores_per_socket=number("cores_per_socket"),
        threads_per_core=number("threads_per_core"),
        ntasks_per_core=number("ntasks_per_core"),
        exclusive=reader.is_exclusive,
        specialized=reader.get("core_spec") is not None or reader.get("thread_spec") is not None,
        spread=JobFlag.SPREAD_JOB in flags,
        binds_gpus=_binds(flags),
        update=record is not None,
        gpus_of_tasks=derived.gpus_of_tasks(reader, record),
        per_job=gpus[0],
        per_node=gpus[1],
        per_socket=gpus[2],
        per_task=gpus[3],
        others_per_job=max((item.count for item in per_job if item.name != GPU), default=0),
        cpus_in_task=per_task["cpu"],
        cpus_per_gpu=Counts.of(cpus_of).total or None,
        memory_per_gpu=Counts.of(memory_of).total or None,
        cpus_per_other=_has_others(cpus_of, wanted),
        memory_per_other=_has_others(memory_of, wanted),
        memory_per_node=per_node if named else None,
        memory_per_cpu=per_cpu if named else None,
        default_per_node=None if named else per_node,
        default_per_cpu=None if named else per_cpu,
        licenses={name: ENDLESS if count is None else count for name, count in licenses.counts.items()},
        one_license=licenses.any,
        licenses_per_task={
            name: per_task[f"license/{name}"]
            for name in dict.fromkeys(item.name.removeprefix("license/") for item in per_task)
            if f"license/{name}" in per_task
        },
    )


def limits(job: ReadableJob, record: Record | None) -> Limits:
    """Return what a request says about its time; see :func:`read`."""
    reader = Reader(job, record)
    return Limits(reader.amount("time_limit"), reader.number("time_min"), reader.number("deadline") or 0)


def _has_others(tres: Tres, wanted: set[str]) -> bool:
    """Return whether amounts for each of some GRES are for others than GPUs that the job asks for."""
    return any(item.count and (item.name != GPU or item.key not in wanted) for item in tres)


def _binds(flags: JobFlag) -> bool | None:
    """Return what --gres-flags says about binding; None for nothing."""
    return True if JobFlag.GRES_ENFORCE_BIND in flags else False if JobFlag.GRES_DISABLE_BIND in flags else None
