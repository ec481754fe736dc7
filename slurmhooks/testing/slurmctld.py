# SPDX-License-Identifier: GPL-2.0-or-later
"""A request of job_submit on its way through a worker: packed, decoded, handled and answered as in production."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.job_submit.fields import LISTS
from slurmhooks.job_submit.service import HOOKS, Service
from slurmhooks.job_submit.source import Facts, Views
from slurmhooks.outcome import Outcome
from slurmhooks.testing.job_submit import MAKERS, FakeJob, FakeRecord, FakeTable
from slurmhooks.testing.tables import code_of, tables_of
from slurmhooks.wire.message import Message, Type, What, decode, read_answer, read_number, read_text
from slurmhooks.worker.service import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.job_submit.rows import Condition
    from slurmhooks.registry import Registry
    from slurmhooks.testing.job_submit import FakeStruct
    from slurmhooks.wire.tables import Member, Tables


class FakeSlurmctld:
    """Answers questions about records that a test has given."""

    def __init__(self, tables: Tables, records: Mapping[str, FakeTable]) -> None:
        """Have tables by the names that messages use."""
        self._tables = tables
        self._records = records

    def __call__(self, question: bytes) -> bytes:
        """Return the result of a question; see slurmhooks.worker.service.Query."""
        asked = decode(question, self._tables)
        if asked.first not in (What.ROW, What.PAGE):
            raise NotImplementedError("only slurmctld knows that, and this is not slurmctld")
        table = self._tables.tables[asked.second]
        key: Any = None
        conditions: dict[str, Condition] = {}
        if asked.first == What.ROW:
            key = (read_text(asked.items[0][1]) or b"").decode() if asked.items else asked.third
        else:
            conditions = {
                table.members[place].name: _condition(table.members[place], raw) for place, raw in asked.items
            }
        found = self._records[table.name].packed(key, conditions)
        items = tuple((asked.second, data) for data in found)
        return Message(Type.RESULT, items=items).encode(self._tables)


def _condition(member: Member, value: bytes) -> Condition:
    if member.kind == "text":
        return read_text(value) or b""
    return read_number(value[:8]), read_number(value[8:])


def submit(registry: Registry, hook: str, given: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any], set[str]]:
    """Run the handlers of a submission or an update.

    Args:
        registry: has them.
        hook: ``job_submit`` or ``job_modify``.
        given: the arguments of :func:`slurmhooks.testing.run`.

    Returns:
        what happened; the fields before it; and those that handlers assigned. The job holds what they wrote.
    """
    job: FakeJob = given["job"] if given["job"] is not None else FakeJob()
    record: FakeRecord = given["record"] if given["record"] is not None else FakeRecord(release=job._release)
    tables = tables_of(job._release)
    records = {table: fake_table(name, given[name], job._release) for name, table in LISTS.items()}
    update = hook == "job_modify"
    owner = (record.user_id if update else job.user_id) or 0
    sender = given["modify_uid" if update else "submit_uid"]
    struct = job._request(hook)
    before = job._state()
    items = [(0, struct.data)]
    if update:
        items.append((tables.place("record"), _moved(record, tables)))
    request = Message(Type.REQUEST, HOOKS.index(hook), owner if sender is None else sender, owner, tuple(items)).encode(
        tables
    )
    assigned: set[str] = set()
    service = Service(tables, registry, Settings(), _views(tables, struct, record, records["record"], assigned))
    answer = read_answer(tables["job"], decode(service.handle(request, FakeSlurmctld(tables, records)), tables))
    struct.put(answer.writes)
    text = None if answer.text is None else answer.text.decode()
    code = code_of(answer.code) if answer.code else None
    return Outcome(passed=not answer.code, code=code, text=text), before, assigned


def fake_table(name: str, given: Any, release: str) -> FakeTable:
    """Return what a test gave for a table as one."""
    if isinstance(given, FakeTable):
        return given
    return MAKERS[name](given or {}, release=release)


def _moved(record: FakeRecord, tables: Tables) -> bytes:
    """Return the packed record in the tables of the request."""
    struct: Any = record._struct
    if record._release == tables.release:
        return bytes(struct.data)
    raise ValueError(f"the record is of Slurm {record._release}, the job of {tables.release}")


def _views(tables: Tables, job: FakeStruct, record: FakeRecord, jobs: FakeTable, assigned: set[str]) -> Views:
    """Return the classes that handlers see, with what a test has given for fields that are no members.

    Args:
        tables: of the release.
        job: the request.
        record: the job that it updates.
        jobs: the jobs that slurmctld knows.
        assigned: is told each field that a handler assigns.
    """
    known: dict[Any, dict[str, Any]] = {key: struct.facts for key, struct in jobs.structs.items()}
    known.setdefault(record.job_id, record._struct.facts)  # type: ignore[attr-defined]
    of_job = {name: (lambda view, name=name: job.facts.get(name)) for name in dir(Facts) if not name.startswith("_")}
    of_record = {name: (lambda view, name=name: known[view.job_id].get(name)) for name in ("script", "user_name")}
    views = Views(tables, of_job, of_record)
    assign: Any = views.job.__setattr__

    def note(self: Any, name: str, value: object) -> None:
        assign(self, name, value)
        assigned.add(name)

    views.job.__setattr__ = note
    return views
