# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules about submissions, on the jobs that slurmctld has: what they would decide if each were submitted as it is now.

A record does not have everything that its request had. If a rule reads a field that the record lacks, the job is not
compared. Slurm fills in some fields that a request leaves out; if a rule accepts a job only with such a value, the job
is not compared either.
"""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from slurmhooks.fields import JobFields
from slurmhooks.fields.constants import JobFlag
from slurmhooks.fields.rows import Computed, release_of, rows
from slurmhooks.job_submit import filled
from slurmhooks.job_submit.bounds import defaults
from slurmhooks.job_submit.bounds.asked import in_record
from slurmhooks.job_submit.filled import is_filled
from slurmhooks.job_submit.origin import is_external
from slurmhooks.job_submit.views import Views
from slurmhooks.recording.request import Recorded
from slurmhooks.wire.message import Message, decode, pack
from slurmhooks.wire.protocol import Type, What
from slurmhooks.workshop.replay.answers import Answers, Snapshots
from slurmhooks.workshop.replay.engine import Decision, Engine, Reader, notes_of
from slurmhooks.workshop.replay.side import REQUEST_TIMEOUT, took_too_long
from slurmhooks.workshop.testing.job_submit import FakeJob, struct_of, unset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from slurmhooks.handlers.registry import Registry
    from slurmhooks.slurmctld.model import Record
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.interface import Query

_FILLED = """
    account begin_time bitflags cpus_per_task max_cpus max_nodes mcs_label min_cpus min_mem_per_cpu min_mem_per_node
    min_nodes nice ntasks_per_node num_tasks partition pn_min_cpus pn_min_memory qos requeue reservation time_limit
    wckey
"""
FILLED = frozenset((*_FILLED.split(), *filled.FILLED))
"""Fields of which a record does not tell whether the request had them, or Slurm filled them in."""
DEFAULTS = {"account": "default_account", "partition": "default_partition"}
"""What Slurm fills in: a job with another value has named it."""
OF_ALL = frozenset((*filled.FILLED, "requeue"))
"""Those in which slurmctld gives all jobs that name nothing the same."""
EMPTY = frozenset(
    {"array_inx", "fed_siblings_active", "fed_siblings_viable", "job_id", "job_id_str", "restart_cnt", "sluid"}
)
"""Fields that no new request has, except that of an array."""
LACKING = frozenset({"alloc_node", "batch_features", "delay_boot", "end_time", "priority", "site_factor"})
"""Fields that have another meaning in a record."""
_COUNTS = """
    begin_time cpus_per_task deadline max_cpus max_nodes min_cpus min_nodes ntasks_per_node ntasks_per_tres num_tasks
    overcommit pn_min_cpus reboot req_switch time_min wait4switch
"""
COUNTS = frozenset(_COUNTS.split())
"""Fields in which a record has 0 if the request had nothing."""
MEMORY = ("min_mem_per_cpu", "min_mem_per_node", "pn_min_memory")
FIELDS = rows(JobFields)
REQUEST, RECORD = "request", "record"
Seen = tuple[str, str]
"""What was read: REQUEST or RECORD, and the name of the field."""
OF_RECORDS = frozenset({"asked", "limits", "bounds", "bounds in", "bounds there"})
"""What slurmhooks.job_submit.bounds.computing works out of the job as it is stored."""
MOST_WAYS, MOST_KEPT = 64, 10_000
"""Most different sets of fields by which decisions are found again, and most decisions by each of them."""
SPECIAL = frozenset({"argv", "environment", "env_size", "script", "spank_job_env", "spank_job_env_size"})
"""Fields that are read in ways of their own."""


@dataclass(frozen=True, slots=True)
class Audited:
    """What was decided about a job.

    Attributes:
        decision: about the job as it is now.
        unsure: why the job is not compared; empty if the decision counts.
    """

    decision: Decision
    unsure: str


class LiveAnswers(Answers):
    """Answers from the running slurmctld, about one job after the other.

    Attributes:
        record: the job.
        read: fields in FILLED that handlers have read, with a value.
        hidden: those that appear as if the request did not have them.
        seen: all that was read of the job: fields of the request, and of its record.
        is_all_seen: whether ``seen`` has everything; a Lua script reads members.
        facts: what was worked out of the record alone.
    """

    def __init__(self, tables: Tables, ask: Callable[[int, int], Query]) -> None:
        """Take the function that returns one that asks slurmctld, for the ids of a sender and an owner."""
        super().__init__(tables, Snapshots(tables, ()), (), {})
        self._ask = ask
        self.record: Any = None
        self.read: set[str] = set()
        self.hidden: frozenset[str] = frozenset()
        self.seen: set[Seen] = set()
        self.is_all_seen = True
        self.facts: dict[object, Any] = {}

    def about(self, record: Any) -> None:
        """Answer about this job from now on."""
        self.record, self.read, self.seen, self.is_all_seen, self.facts = record, set(), set(), True, {}

    def noted(self, name: str) -> Any:
        """Return a field of the record, and note that it was read."""
        self.seen.add((RECORD, name))
        return getattr(self.record, name)

    def __call__(self, question: bytes) -> bytes:
        """Return the result of a question."""
        asked = decode(question, self._tables)
        if asked.what == What.MEMBER:
            raise self.missing(self._tables.tables[asked.table].members[asked.number].name)
        owner = self.record.user_id
        return self._ask(owner, owner)(question)


class Auditor:
    """Runs the handlers of job_submit on jobs of slurmctld."""

    def __init__(
        self, tables: Tables, registry: Registry, ask: Callable[[int, int], Query], *, enforce_all: bool = False
    ) -> None:
        self._tables = tables
        self._answers = LiveAnswers(tables, ask)
        views = _views(tables, self._answers)
        self._fields = frozenset(rows(JobFields)) - frozenset(views.job._missing)
        self._decided: dict[tuple[Seen, ...], dict[tuple[Any, ...], Audited]] = {}
        self._engine = Engine(tables, registry, self._answers, enforce_all=enforce_all, views=views)
        self._reader = Reader(tables)

    def running(self) -> AbstractContextManager[None]:
        """Suppress the log of handlers in the block; see Engine."""
        return self._engine.running()

    def audit(self, record: Record) -> Audited:
        """Decide about a job; jobs that do not differ in what the handlers read are decided about once."""
        record = _without_defaults(record)
        for names, known in self._decided.items():
            audited = known.get(self._key(record, names))
            if audited is not None:
                return audited
        self._answers.about(record)
        audited = self._audited(record)
        names = tuple(sorted(self._answers.seen))
        if self._answers.is_all_seen and (names in self._decided or len(self._decided) < MOST_WAYS):
            known = self._decided.setdefault(names, {})
            if len(known) < MOST_KEPT:
                known[self._key(record, names)] = audited
        return audited

    def _key(self, record: Any, names: tuple[Seen, ...]) -> tuple[Any, ...]:
        """Return whose job it is, and what it has: fields of its request, and of its record."""
        return (record.user_id, *((self._value if of == REQUEST else getattr)(record, name) for of, name in names))

    def _audited(self, record: Record) -> Audited:
        request = self._request(record)
        decision = self._decide(request, frozenset())
        if decision.needs:
            return Audited(decision, f"the job's record does not have {', '.join(decision.needs)}")
        read = sorted(self._answers.read)
        if decision.code:
            # Rules about what users name find no fault with what Slurm gives to every job, such as a nice value of 0.
            given = [name for name in read if name in OF_ALL and is_filled(name, self._value(record, name), record)]
            without = self._decide(request, frozenset(given)) if given else decision
            if without.code or without.needs:
                return Audited(decision, "")
            decision = without
        for hidden in (*([name] for name in read), *([read] if len(read) > 1 else [])):
            if self._decide(request, frozenset(hidden)).code:
                return Audited(decision, f"it depends on whether the request had {', '.join(hidden)}")
        return Audited(decision, "")

    def _decide(self, request: Recorded, hidden: frozenset[str]) -> Decision:
        self._answers.hidden = hidden
        before = signal.signal(signal.SIGALRM, took_too_long)
        signal.setitimer(signal.ITIMER_REAL, REQUEST_TIMEOUT)
        try:
            answer, notes = self._engine.run(request)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        return self._reader.read(answer, **notes_of(notes))

    def _request(self, record: Any) -> Recorded:
        """Return the request that would submit a job as it is now."""
        release = ".".join(map(str, (self._tables.release.split("."))[:2]))
        table = self._tables["job"]
        raws = struct_of(FakeJob(release=release, **dict(self._values(record)))).raws
        data = pack(table, {name: raw for name, raw in raws.items() if name in table.places})
        user = record.user_id
        message = Message(Type.REQUEST, 0, user, user, ((self._tables.place("job"), data),)).encode(self._tables)
        return Recorded(time.time(), "job_submit", str(record.job_id), "", "", (), message, b"")

    def _values(self, record: Any) -> Iterator[tuple[str, Any]]:
        """Yield the fields of a request that a record has."""
        for name in _known(_kind(record)) & self._fields:
            value = self._value(record, name)
            if value is not None:
                yield name, value

    def _value(self, record: Any, name: str) -> Any:
        """Return a field of the request that would submit a job; None if it would not have it."""
        if name not in _known(_kind(record)):
            return None
        value = in_record(record, name)
        if name == "mail_user" and value == defaults.mail_user(record.user_name):
            return None
        # In jobs of crontabs, some numbers are the unset one.
        return None if value == unset(FIELDS[name]) or (not value and name in COUNTS) else value


def _kind(record: Any) -> Any:
    """Return the class of a record."""
    return type(record)


def _without_defaults(record: Any) -> Any:
    """Return a record that has no memory if neither the job nor its partition says how much it gets."""
    if JobFlag.JOB_MEM_SET in record.bitflags or record.min_mem_per_node != 0:
        return record
    return _without_memory(_kind(record))(record._struct)


@cache
def _without_memory(kind: type[Any]) -> type[Any]:
    return type(kind.__name__, (kind,), {"__slots__": (), **dict.fromkeys(MEMORY)})


@cache
def _known(record: type[Any]) -> frozenset[str]:
    """Return the fields of requests that the records of a build have."""
    computed = {name for name, row in rows(JobFields).items() if isinstance(row, Computed)}
    present = rows(record).keys() - record._missing
    has = {name for name, row in rows(JobFields).items() if not present.isdisjoint(row.names_in_record)}
    return frozenset(has - EMPTY - LACKING - SPECIAL - computed)


def _views(tables: Tables, answers: LiveAnswers) -> Views:
    """Return the classes of views; reads of a request's fields are noted."""
    views = Views(tables)
    views.job = type(views.job.__name__, (views.job,), dict(_properties(views, answers)))
    return views


def _noting(base: Any, names: Iterable[str], of: str, answers: LiveAnswers) -> dict[str, Any]:
    """Return the properties of a class of views that note which fields are read."""

    def noting(name: str) -> property:
        get = getattr(base, name).fget

        def noted(view: Any) -> Any:
            answers.seen.add((of, name))
            return get(view)

        return property(noted)

    return {name: noting(name) for name in names if isinstance(getattr(base, name, None), property)}


def _properties(views: Views, answers: LiveAnswers) -> Iterator[tuple[str, Any]]:
    base = views.job
    names = _known(views._classes["record"])
    yield "__slots__", ()
    yield from _noting(base, names, REQUEST, answers).items()
    for name, row in rows(JobFields).items():
        if name in base._missing or name in EMPTY - {"array_inx"} or isinstance(row, Computed):
            continue
        if name in FILLED & names:
            yield (
                name,
                property(
                    _filled(base, name, row.member(release_of(base._release), views.tables["job"].places), answers)
                ),
            )
        elif name not in names:
            yield name, property(_lacking(name, answers))
    for name in ("environment", "spank_job_env", "argv"):
        yield name, property(_lacking(name, answers))
    yield "array_inx", property(_array(answers))
    yield "script", property(lambda job: answers.noted("script") if answers.noted("batch_flag") else None)
    yield "interactive", property(lambda job: not (answers.noted("batch_flag") or is_external(answers.record)))
    yield "_as_stored", _as_stored(views, base, answers)
    yield "_once", _once(base, answers)
    yield "members", _members(base, answers)


def _as_stored(views: Views, base: Any, answers: LiveAnswers) -> Callable[[Any, Any], Any]:
    table, release = views.tables["job"], release_of(base._release)
    members = ((row.member(release, table.places), unset(row)) for row in rows(JobFields).values())
    nothing = pack(table, {name: raw for name, raw in members if name is not None and name in table.places})

    def stored(job: Any, record: Any) -> Any:
        """Return an update that changes nothing, and the job."""
        present = _seen_by(_kind(answers.record), answers)(answers.record._struct)
        struct = type(job._struct)(table, nothing, job._struct.asking)
        return base(struct, modify=True, owner=present.user_id, record=present, cluster=lambda: job._cluster), present

    return stored


@cache
def _seen_by(kind: type[Any], answers: LiveAnswers) -> type[Any]:
    """Return the class of a record that notes which of its fields are read."""
    return type(kind.__name__, (kind,), {"__slots__": (), **_noting(kind, rows(kind), RECORD, answers)})


def _once(base: Any, answers: LiveAnswers) -> Callable[[Any, Any, Any], Any]:
    def once(job: Any, name: Any, ask: Callable[[], Any]) -> Any:
        """Work out once for a job what depends on nothing but its record, see :func:`_as_stored`."""
        if name[0] not in OF_RECORDS:
            return base._once(job, name, ask)
        if name not in answers.facts:
            answers.facts[name] = ask()
        return answers.facts[name]

    return once


def _members(base: Any, answers: LiveAnswers) -> Callable[[Any], Any]:
    def members(job: Any) -> Any:
        answers.is_all_seen = False
        return base.members(job)

    return members


def _filled(base: Any, name: str, member: str | None, answers: LiveAnswers) -> Callable[[Any], Any]:
    getter = getattr(base, name).fget

    def get(job: Any) -> Any:
        if member in job._writes:
            return getter(job)
        answers.seen.add((REQUEST, name))
        value = getter(job)
        if value is not None:  # otherwise it makes no difference to hide it
            answers.read.add(name)
        hides = name in answers.hidden and (name not in DEFAULTS or value == getattr(job, DEFAULTS[name]))
        return None if hides else value

    return get


def _lacking(name: str, answers: LiveAnswers) -> Callable[[Any], Any]:
    def get(job: Any) -> Any:
        raise answers.missing(name)

    return get


def _array(answers: LiveAnswers) -> Callable[[Any], Any]:
    def get(job: Any) -> Any:
        if answers.noted("array_job_id"):
            raise answers.missing("array_inx")

    return get
