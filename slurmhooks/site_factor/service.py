# SPDX-License-Identifier: GPL-2.0-or-later
"""The service of site_factor's workers: computes the values of one new job, or of a batch of waiting jobs.

For a batch, slurmctld sends only the members that handlers have read before, to hold its locks only briefly. If a
handler reads another field, the worker asks for it, and the answer tells slurmctld to send its member from then on; see
slurmhooks.slurmctld.walk.
"""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import HandlerError
from slurmhooks.fields import RecordFields
from slurmhooks.fields.rows import rows
from slurmhooks.handlers import dispatch
from slurmhooks.handlers.dispatch import PASSED, Around
from slurmhooks.hooks.points import POINTS
from slurmhooks.log import log
from slurmhooks.slurmctld.around import InWorker, end_leftovers
from slurmhooks.slurmctld.asking import Asking, begin
from slurmhooks.slurmctld.call import Call
from slurmhooks.slurmctld.model import Record
from slurmhooks.slurmctld.point_service import PointService
from slurmhooks.slurmctld.views import Views
from slurmhooks.slurmctld.walk import part_of
from slurmhooks.values import NO_VAL
from slurmhooks.wire.message import Message, MessageError
from slurmhooks.wire.protocol import MEMBERS, FactorsItem, Type
from slurmhooks.wire.tables import Table
from slurmhooks.worker.channel import end_fork

if TYPE_CHECKING:
    from collections.abc import Container

    from slurmhooks.handlers.dispatch import Outcome, View
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
        self._sent: tuple[array[int], Table] | None = None
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
            for view in views:
                view.close()
            for table in tables.values():
                table.close()
        answer = [(FactorsItem.VALUES, array("I", values).tobytes())]
        if sent is not None:
            answer.append((FactorsItem.USED_MEMBERS, array("I", self._views.read("record").places).tobytes()))
        return Message(Type.ANSWER, items=tuple(answer)).encode(self._tables)

    def _selected(self, asking: Asking, sent: bytes, structs: list[bytes]) -> list[Record]:
        """Return the views of jobs of which only some members were sent."""
        places = array("I", sent)
        if self._sent is None or self._sent[0] != places:
            try:
                self._sent = places, part_of(self._tables["record"], places)
            except IndexError:
                raise MessageError("a member that does not exist") from None
        table = self._sent[1]
        for member in table.members:
            self._views.read("record").note(member.name)
        walk = self._views.walk("record", asking, table)
        return [self._views.view(walk.add(data)) for data in structs]

    def _values(self, views: list[Record], tables: dict[str, Any], excluded: Container[bytes | None]) -> list[int]:
        """Return the raw value of each job: the sum of what handlers return, if none of them fails for the job."""
        sums: list[int | None] = [None] * len(views)
        failed: set[int] = set()
        call = Call("priority", None)
        handlers = self._registry.handlers("priority")
        around = InWorker(self._of_hooks["priority"], call, excluded)
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


class _Values(Around):
    """Takes what handlers return: the valid result of the handler that ran last, if it had one."""

    def __init__(self) -> None:
        self.returned: list[int | None] = []
        self._process = os.getpid()

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

    def end(self, handler: Handler, error: BaseException | None, view: View | None, before: object) -> Outcome | None:
        """See Around; a child that the handler has forked, and that came back, ends: it would go on with all jobs."""
        end_fork(self._process)
        return super().end(handler, error, view, before)
