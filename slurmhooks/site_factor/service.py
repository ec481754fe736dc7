# SPDX-License-Identifier: GPL-2.0-or-later
"""The service of site_factor's workers: computes the values of one new job, or of a batch of waiting jobs.

For a batch, slurmctld sends only the members that handlers have read before, to hold its locks only briefly. If a
handler reads another field, the worker asks for it, and the answer tells slurmctld to send its member from then on.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import HandlerError, StaleHandleError
from slurmhooks.fields import RecordFields
from slurmhooks.fields.classes import bind
from slurmhooks.fields.rows import Computed, release_of, rows
from slurmhooks.handlers import dispatch
from slurmhooks.handlers.dispatch import PASSED, Around
from slurmhooks.hooks.points import POINTS
from slurmhooks.log import log
from slurmhooks.slurmctld.around import InWorker, end_leftovers
from slurmhooks.slurmctld.asking import Asking, Struct, begin
from slurmhooks.slurmctld.call import Call
from slurmhooks.slurmctld.model import Record
from slurmhooks.slurmctld.point_service import PointService
from slurmhooks.slurmctld.views import Views
from slurmhooks.values import NO_VAL
from slurmhooks.wire.message import Message, MessageError
from slurmhooks.wire.protocol import MEMBERS, FactorsItem, Type
from slurmhooks.wire.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.handlers.registry import Handler, Registry
    from slurmhooks.processes.settings import Settings
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.interface import Query

HOOKS = POINTS["site_factor"].called
KEEP = NO_VAL[32]
"""The value that tells slurmctld to keep the present value of a job."""
MOST_FAILURES = 10
"""Number of jobs of a batch that may fail before a handler is no longer called: a bug that affects all jobs must not
fill the log."""
_encode = rows(RecordFields)["site_factor"].encoder((0, 0))  # the same in all releases


class Service(PointService):
    """Handlers of priority.

    Attributes:
        failure: the last failure of a handler; None if none has failed.
    """

    point = "site_factor"

    def __init__(self, tables: Tables, registry: Registry, settings: Settings, views: Views | None = None) -> None:
        """Store the handlers; tests pass views of their own."""
        super().__init__(tables, registry, settings)
        self._views = Views(tables) if views is None else views
        self._selections: dict[tuple[int, ...], tuple[Table, type[Record]]] = {}
        self._used: set[int] = set()
        self._fetched: dict[int, Record] = {}
        self.failure: Outcome | None = None

    def handle(self, request: bytes, query: Query) -> bytes:
        """Return the values of the jobs of a request.

        Raises:
            MessageError: the request is damaged, or comes from another build.
        """
        _, items, excluded = self._open(request, len(HOOKS))
        asking = begin(self._tables, query)
        sent = next((value for tag, value in items if tag == MEMBERS), None)
        structs = [(tag, value) for tag, value in items if tag != MEMBERS]
        if sent is None:
            views = [self._views.record(asking.struct(tag, value)) for tag, value in structs]
        else:
            views = self._selected(asking, sent, [value for _, value in structs])
        wanted = self._registry.wanted("priority") - {"record"}
        tables = self._views.arguments(wanted, asking)
        try:
            values = self._values(views, tables, excluded)
        finally:
            for view in [*views, *self._fetched.values()]:
                view.close()
            self._fetched.clear()
            for table in tables.values():
                table.close()
        answer = [(FactorsItem.VALUES, array("I", values).tobytes())]
        if sent is not None:
            answer.append((FactorsItem.USED_MEMBERS, array("I", sorted(self._used)).tobytes()))
        return Message(Type.ANSWER, items=tuple(answer)).encode(self._tables)

    def _selected(self, asking: Asking, sent: bytes, structs: list[bytes]) -> list[Record]:
        """Return the views of jobs of which only some members were sent."""
        places = array("I", sent)
        self._used.update(places)
        selection = self._selections.get(tuple(places))
        if selection is None:
            selection = self._selections[tuple(places)] = self._select(places)
        table, view = selection
        return [view(Struct(table, data, asking)) for data in structs]

    def _select(self, places: Iterable[int]) -> tuple[Table, type[Record]]:
        """Return a table that has only some members, and the class of its structs."""
        whole = self._tables["record"]
        try:
            table = Table("record", tuple(whole.members[place] for place in places))
        except IndexError:
            raise MessageError("a member that does not exist") from None
        view = bind(_Selected, table, self._tables.release)
        view.__name__ = Record.__name__  # the name in messages
        view._ask = self._ask
        return table, view

    def _ask(self, view: Record, name: str) -> Any:
        """Ask for a field whose member was not sent, and make slurmctld send it from now on.

        Raises:
            AttributeError: there is no such field.
            StaleHandleError: the job has ended meanwhile.
        """
        asking, job_id = view._struct.asking, view.job_id
        assert asking is not None
        assert job_id is not None
        if job_id not in self._fetched:
            whole = asking.row("record", job_id)
            if whole is None:
                raise StaleHandleError(f"the job of record.{name} has ended")
            self._fetched[job_id] = self._views.record(whole)
        value = getattr(self._fetched[job_id], name)
        table, row = self._tables["record"], rows(RecordFields)[name]
        if not isinstance(row, Computed):
            member = row.member(release_of(self._tables.release), table.places)
            assert member is not None
            place, pointer, _ = table.index[member]
            self._used |= {place} if pointer is None else {place, pointer}
        return value

    def _values(self, views: list[Record], tables: dict[str, Any], excluded: Container[bytes | None]) -> list[int]:
        """Return the raw value of each job: the sum of what handlers return, if none of them fails for the job."""
        sums: list[int | None] = [None] * len(views)
        failed: set[int] = set()
        call = Call("priority", None)
        handlers = self._registry.handlers("priority")
        around = InWorker(self._of_hooks["priority"].flags, excluded)
        try:
            for handler in handlers:
                if around.begin(handler):
                    outcome = self._add(handler, views, tables, sums, failed)
                    end_leftovers(handler, around.process)
                    call.done(handler, None, outcome)
        finally:
            around.close()
        call.end(next((step.outcome for step in call.steps if step.outcome is not None), PASSED), [])
        self.call = call if self.followers else None
        return [KEEP if value is None or job in failed else _raw(value) for job, value in enumerate(sums)]

    def _add(
        self,
        handler: Handler,
        views: list[Record],
        tables: dict[str, Any],
        sums: list[int | None],
        failed: set[int],
    ) -> Outcome | None:
        """Add what a handler returns for each job; return the outcome of its last failure, if any."""
        values = _Values()
        arguments = dict(tables)
        failures = 0
        last: Outcome | None = None
        for job, view in enumerate(views):
            if job in failed:
                continue
            arguments["record"] = view
            outcome = dispatch.run((handler,), arguments, None, values)
            if values.returned:
                value = values.returned.pop()
                if value is not None:
                    sums[job] = (sums[job] or 0) + value
                continue
            if not outcome.passed:
                self.failure = outcome
                failed.add(job)
            failures += 1
            last = outcome
            if failures == MOST_FAILURES:
                left = len(views) - job - 1
                text = "handler %s failed for %d jobs: it is not called for the other %d"
                log.error(text, handler.label, failures, left)
                if not handler.lenient:
                    failed.update(range(job + 1, len(views)))
                break
        return last


def _raw(value: int) -> int:
    """Return a sum as slurmctld stores it; KEEP if it does not fit."""
    try:
        raw: int = _encode(value)
    except ValueError as error:
        log.error("the sum of what priority handlers return does not fit: %s", error)
        return KEEP
    return raw


class _Selected(Record):
    """A record of which slurmctld has sent only some members."""

    __slots__ = ()
    _ask: Callable[[Record, str], Any]

    @classmethod
    def _names(cls) -> list[str]:
        return list(rows(cls))

    def _explain(self, name: str) -> Any:
        if name in self._missing:
            return type(self)._ask(self, name)
        return super()._explain(name)


class _Values(Around):
    """Takes what handlers return.

    Attributes:
        returned: the valid result of the handler that ran last, if it had one.
    """

    def __init__(self) -> None:
        self.returned: list[int | None] = []

    def result(self, value: object) -> Exception | None:
        if value is not None:
            if not isinstance(value, int) or isinstance(value, bool):
                shown = dispatch.plainly(value)
                return HandlerError(f"a handler of hook.priority returns an int or None; this one returned {shown}")
            value = int.__index__(value)  # of a subclass, whose methods are the site's
            try:
                _encode(value)
            except ValueError as error:
                return error
        self.returned.append(value)
        return None
