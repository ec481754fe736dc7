# SPDX-License-Identifier: GPL-2.0-or-later
"""Pass a request of job_submit through the code of a worker: decode, handle and answer it as in production."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks.config import plain
from slurmhooks.fields import LISTS
from slurmhooks.fields.classes import bind, computed_getter
from slurmhooks.fields.rows import Computed, release_of, rows
from slurmhooks.handlers.dispatch import Outcome
from slurmhooks.job_submit.origin import OF_REQUESTS
from slurmhooks.job_submit.request import HOOKS
from slurmhooks.job_submit.service import Service
from slurmhooks.job_submit.users import Facts, named_account
from slurmhooks.job_submit.views import Views
from slurmhooks.processes.settings import Settings
from slurmhooks.slurmctld.observation import WHOSE
from slurmhooks.values import text_to_c
from slurmhooks.wire.message import Message, decode, read_text, text_value
from slurmhooks.wire.protocol import Fact, Type, What
from slurmhooks.workshop.testing.answers import read_answer
from slurmhooks.workshop.testing.job_submit import (
    FakeJob,
    FakeRecord,
    fields_of,
    release_of_view,
    request_of,
    struct_of,
)
from slurmhooks.workshop.testing.job_tables import MAKERS, FakeTable
from slurmhooks.workshop.testing.observed import Observed, observed_in
from slurmhooks.workshop.testing.questions import ABOUT_ROWS, answer
from slurmhooks.workshop.testing.tables import code_of, tables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from slurmhooks.fields.classes import Computations
    from slurmhooks.handlers.registry import Registry
    from slurmhooks.slurmctld.call import Call
    from slurmhooks.wire.tables import Tables
    from slurmhooks.workshop.testing.job_submit import FakeStruct


FACTS = (Fact.DEFAULT_QOS, Fact.ASSOC_COMMENT, Fact.ASSOC_QOS, Fact.DEFAULT_PARTITION, Fact.DEFAULT_ACCOUNT)
"""What only slurmctld knows, and a test can give."""


RULES: ContextVar[Any] = ContextVar("RULES", default=None)
"""``[rules]`` of a site, if texts are as its users read them; None: only the first refusal, and without its label."""


@contextmanager
def texts_of(rules: object) -> Iterator[None]:
    """Give texts as the users of a site read them; ``rules`` is ``[rules]`` of its configuration."""
    token = RULES.set(plain.table("rules", plain.values("rules", rules) | {"notices": "always"}))
    try:
        yield
    finally:
        RULES.reset(token)


CHOICES = ("default_account", "default_partition", "default_qos")
"""What slurmctld would choose for a request that names nothing."""


class Noted(NamedTuple):
    """What is noted of a call: why handlers did not look, by label; those of CHOICES that one read and a test lacks."""

    exempt: dict[str, str]
    unknown: list[str]


class Unwatched:
    """Reports that no handler has ended a process; see slurmhooks.worker.interface.Progress."""

    def __init__(self) -> None:
        self.ended: dict[int, str] = {}
        self.dropped = 0

    def begin(self, place: int, label: str, timeout: float) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


class FakeSlurmctld:
    """Answers questions of handlers from the tables and the fields of a test."""

    def __init__(
        self, tables: Tables, records: Mapping[str, FakeTable], facts: Mapping[str, str | None] | None = None
    ) -> None:
        self._tables = tables
        self._records = records
        self._facts = facts or {}

    def __call__(self, question: bytes) -> bytes:
        """Answer a question; see slurmhooks.worker.interface.Query."""
        query = decode(question, self._tables)
        if query.what == What.FACT and query.table in FACTS:
            text = self._fact(Fact(query.table), query)
            facts = () if text is None else ((0, text_value(text_to_c("fact", text))),)
            return Message(Type.RESULT, items=facts).encode(self._tables)
        if query.what not in ABOUT_ROWS:
            raise NotImplementedError("only slurmctld can answer this question, and here is none")
        table = self._tables.tables[query.table]
        records = self._records[table.name]
        items = answer(query, table, records.packed, records.all_packed)
        return Message(Type.RESULT, items=tuple(items)).encode(self._tables)

    def _fact(self, fact: Fact, query: Message) -> str | None:
        if fact == Fact.DEFAULT_ACCOUNT:
            mine = self._records["association"].where(user_id=query.number, is_default=True)
            return next((row.account for row in mine), None)
        if fact != Fact.DEFAULT_PARTITION:
            return self._facts.get(fact.name.lower())
        reservations, partitions = self._records["reservation"], self._records["partition"]
        reservation = reservations.get((read_text(query.items[0][1]) or b"").decode("utf-8", "surrogateescape"))
        if reservation is not None and reservation.partition:
            return str(reservation.partition)
        return next((partition.name for partition in partitions.where(flag_default=True)), None)


def submit(
    registry: Registry, hook: str, given: Mapping[str, Any]
) -> tuple[Outcome, dict[str, Any], set[str], list[Observed], Noted]:
    """Run the handlers of a submission or an update.

    Return the outcome, all fields before the call, the names of the fields that handlers assigned, what handlers that
    only warn or observe would have done, and what was noted besides. The job has the values that handlers wrote.
    """
    job: FakeJob = given["job"] if given["job"] is not None else FakeJob()
    release = release_of_view(job)
    record: FakeRecord = given["record"] if given["record"] is not None else FakeRecord(release=release)
    tables = tables_of(release)
    records = {table: fake_table(name, given[name], release) for name, table in LISTS.items()}
    update = hook == "job_modify"
    owner = (record.user_id if update else job.user_id) or 0
    sender = given["modify_uid" if update else "submit_uid"]
    struct = request_of(job, hook, record)
    before = fields_of(job)
    items = [(0, struct.data)]
    if update:
        items.append((tables.place("record"), _packed_record(record, tables)))
    request = Message(Type.REQUEST, HOOKS.index(hook), owner if sender is None else sender, owner, tuple(items)).encode(
        tables
    )
    assigned: set[str] = set()
    unknown: dict[str, None] = {}
    views = _views(tables, struct, record, records["record"], assigned, unknown)
    service = Service(tables, registry, Settings(rules=RULES.get()), views)
    slurmctld = FakeSlurmctld(tables, records, struct.facts)
    calls: list[Call] = []
    service.followers.append(calls.append)
    sent: list[bytes] = []
    service.observed_by(sent.append)
    answered = read_answer(tables["job"], decode(service.handle(request, slurmctld), tables))
    noted = Noted({}, list(unknown))  # before the handlers' effects are described, which reads all fields
    service.after()
    for data in sent:
        service.observe(data, lambda question: slurmctld(question[WHOSE.size :]), Unwatched())
    struct.put(answered.writes)
    assigned |= _written_by_scripts(type(job), set(answered.writes), assigned)
    text = None if answered.text is None else answered.text.decode()
    code = code_of(answered.code) if answered.code else None
    observed = observed_in(calls)
    exempt = {step.handler.label: step.exempt for call in calls for step in call.steps if step.exempt is not None}
    by = calls[0].outcome.refused_by if calls and RULES.get() is None else None
    for call in calls:
        call.release()
    noted = noted._replace(exempt=exempt)
    return Outcome(passed=not answered.code, code=code, text=text, refused_by=by), before, assigned, observed, noted


def _written_by_scripts(kind: type[FakeJob], members: set[str], assigned: set[str]) -> set[str]:
    """Return the fields that Lua scripts have written; they write members instead of assigning fields."""
    places = tables_of(kind._release)["job"].places
    fields = {
        name: row.member(release_of(kind._release), places)
        for name, row in rows(kind).items()
        if name not in kind._missing
    }
    members -= {member for name, member in fields.items() if name in assigned}
    return {name for name, member in fields.items() if member in members}


def fake_table(name: str, given: Any, release: str) -> FakeTable:
    """Return the table for an argument of :func:`slurmhooks.testing.run`."""
    if isinstance(given, FakeTable):
        return given
    return MAKERS[name](given or {}, release=release)


def _packed_record(record: FakeRecord, tables: Tables) -> bytes:
    """Return the packed record, which must be of the same release as the request."""
    release = release_of_view(record)
    if release == tables.release:
        return bytes(struct_of(record).data)
    raise ValueError(f"the record is of Slurm {release}, the job of {tables.release}")


class _Views(Views):
    """Views whose classes are made once, except their computed fields; tests run handlers thousands of times."""

    sparse = False

    def bound(self, view: Any, table: str, computed: Computations | None = None) -> Any:
        """Return a class of views; see the base class."""
        bound, names = _bound(view, table, self.tables.release, frozenset(computed or ()))
        if not computed:
            return bound
        getters = {name: property(computed_getter(computed[name]), doc=getattr(bound, name).__doc__) for name in names}
        return type(bound.__name__, (bound,), {"__slots__": (), **getters})


@cache
def _bound(view: type[Any], table: str, release: str, computed: frozenset[str]) -> tuple[Any, list[str]]:
    """Return a class of views, and which of the computed fields it has; each test has other functions for these."""
    bound: Any = bind(view, tables_of(release)[table], release, dict.fromkeys(computed, str))
    kinds = rows(view)
    return bound, [name for name in computed - set(bound._missing) if isinstance(kinds.get(name), Computed)]


def _noting(name: str, compute: Callable[[Any], Any], unknown: dict[str, None]) -> Callable[[Any], Any]:
    """Return a function that computes a field, and notes if it has no value."""

    def get(view: Any) -> Any:
        value = compute(view)
        if value is None and not view._state.comparing:
            unknown[name] = None
        return value

    return get


def _charged(job: Any) -> str | None:
    return named_account(job) or job.default_account


def _views(
    tables: Tables,
    job: FakeStruct,
    record: FakeRecord,
    jobs: FakeTable,
    assigned: set[str],
    unknown: dict[str, None],
) -> Views:
    """Return the classes of views, which read computed fields from the values of the test.

    The name of each assigned field is added to ``assigned``, and to ``unknown`` that of each of CHOICES that a handler
    reads and that has no value.
    """
    facts: dict[Any, dict[str, Any]] = {key: struct.facts for key, struct in jobs.structs.items()}
    facts.setdefault(record.job_id, struct_of(record).facts)
    known = {
        "default_partition": Facts().default_partition,
        "default_account": Facts().default_account,
        "charged_account": _charged,
        **OF_REQUESTS,
    }
    of_job = {
        name: known[name] if name in known.keys() - job.facts.keys() else (lambda view, name=name: job.facts.get(name))
        for name in (*dir(Facts), *OF_REQUESTS)
        if not name.startswith("_")
    }
    of_job |= {name: _noting(name, of_job[name], unknown) for name in CHOICES}
    of_record = {name: (lambda view, name=name: facts[view.job_id].get(name)) for name in ("script", "user_name")}
    views = _Views(tables, of_job, of_record)
    assign: Any = views.job.__setattr__

    def note(self: Any, name: str, value: object) -> None:
        assign(self, name, value)
        assigned.add(name)

    views.job.__setattr__ = note
    return views
