# SPDX-License-Identifier: GPL-2.0-or-later
"""Decides when each record is delivered: in order for each job or node, and again after failures.

A record that fails too often becomes a dead letter.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from slurmhooks.handlers import dispatch
from slurmhooks.jobcomp.event import Event
from slurmhooks.jobcomp.record import view
from slurmhooks.jobcomp.segment import is_full
from slurmhooks.log import log
from slurmhooks.slurmctld.around import InWorker, OfHook
from slurmhooks.slurmctld.call import Call, about_record
from slurmhooks.wire.message import MessageError, identity_of
from slurmhooks.wire.tables import TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from slurmhooks.config.controller import Deliveries
    from slurmhooks.handlers.registry import Handler, Registry
    from slurmhooks.jobcomp.segment import Record
    from slurmhooks.jobcomp.spool import Spool

UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError)
"""What reading a damaged record raises."""
IDLE = 10.0
"""Seconds until an idle worker looks at the spool again, to find what commands have put there."""


class Delivery:
    """Delivers the records of a spool, one at a time.

    Attributes:
        call: the delivery of the last turn; None if it delivered nothing.
        command: what shows its spool.
        interval: seconds between two looks at the folder of the spool, as long as records are known.
    """

    command = "slurmhooks spool"
    interval = 0.0

    def __init__(self, spool: Spool, registry: Registry, section: Deliveries) -> None:
        self._spool = spool
        self._registry = registry
        self._section = section
        self.call: Call | None = None
        self._may_hurry = True  # records may wait for a service that works again
        self._longest = section.backoff_limit  # seconds that a record may have to wait
        self._settled: set[int] = set()  # lanes in which handlers that a former process was running have been settled

    def turn(self, lane: int, lanes: int, failure: str | None) -> float:
        """Deliver one record, if one is due; return the seconds until the next turn.

        ``lane`` selects the jobs whose id has this remainder; no other worker delivers them meanwhile. ``failure``
        ended the worker that had the lane before; None if nothing did, or slurmctld's end.

        Raises:
            OSError: the spool cannot be read or written.
        """
        self.call = None
        self._spool.refresh(self.interval)
        if failure is not None or lane not in self._settled:
            self._settled.add(lane)
            self._settle(list(self._own(lane, lanes)), failure)
            if failure is not None:
                return 0.0  # the next turn removes what this has ended
        record, wait = self._next(lane, lanes)
        if record is None and self.interval:
            self._spool.refresh()
            record, wait = self._next(lane, lanes)
        if record is None:
            return wait
        self._deliver(record)
        return 0.0

    def _next(self, lane: int, lanes: int) -> tuple[Record | None, float]:
        return _next(self._own(lane, lanes), time.time(), self._longest, self._keys, self._due)

    def _own(self, lane: int, lanes: int) -> Iterator[Record]:
        return (record for record in self._spool.records() if record.frame.job_id % lanes == lane)

    def _settle(self, records: list[Record], failure: str | None) -> None:
        """Count handlers that ended with their worker as failed, unless the worker ended because slurmctld did.

        A handler may also leave a process in which its end cannot be noted.
        """
        for record in records:
            label, record.begun = record.begun, None
            was_open, record.is_open = record.is_open, False
            handler = next((each for each in self._handlers(record) if each.label == label), None)
            if handler is not None and failure is not None:
                log.error("%s: handler %s: %s", _what(record), label, failure)
                self._fail(record, handler, failure)
                if not handler.lenient:
                    self._end(record)
            elif was_open and label is None and failure is not None:
                log.error("%s: after its handlers: %s", _what(record), failure)
                self._end(record)

    def _handlers(self, record: Record) -> list[Handler]:
        """Return the handlers that do not have a record yet; last those that have failed, or whose worker has."""
        handlers = [each for each in self._registry.handlers(record.frame.hook) if each.label not in record.passed]
        return sorted(handlers, key=lambda handler: handler.label in record.reasons)

    def _deliver(self, record: Record) -> None:
        if not record.segment.holds(record.frame):
            del record.segment.records[record.frame.position]
            return
        handlers = self._handlers(record)
        refused: dict[str, str] = {}
        if handlers:
            try:
                arguments = self._arguments(record)
            except UNREADABLE as error:
                self._unreadable(record, f"it cannot be read: {error}")
                return
            if isinstance(arguments, str):
                record.reasons["slurmhooks"] = arguments
                self._bury(record)
                return
            frame = record.frame
            arguments["event"] = Event(frame.hook, frame.id, frame.time / 1e9, record.tries + 1)
            call = Call(frame.hook, None)
            for handler in handlers:
                self._run(record, handler, arguments, refused, call)
            call.end(call.outcome, [])
            shown = arguments.get("record")
            if shown is not None:
                call.about = partial(about_record, shown)
            self.call = call
        self._end(record, refused)
        working = record.passed.intersection(handler.label for handler in handlers)
        if working and self._may_hurry:
            self._may_hurry = False
            self._hurry(working)

    def _unreadable(self, record: Record, reason: str) -> None:
        """Count an attempt for which no handler could be called."""
        log.error("%s: %s", _what(record), reason)
        record.segment.note(record, "failed", "slurmhooks", reason)
        self._end(record)

    def _hurry(self, working: Collection[str]) -> None:
        """End the pauses of records of which only handlers have failed that work now, as after an outage.

        Each record is hurried once: what fails for a reason of its own must not use up its attempts meanwhile.
        """
        for record in self._spool.records():
            failed = record.reasons.keys() - record.passed
            if record.tries and not record.hurried and failed.issubset(working):
                record.segment.note(record, "now")

    def _keys(self, record: Record) -> Collection[object]:
        """Return what is delivered in order: the record's job. 0: the build cannot read job ids, so nothing waits."""
        job_id = record.frame.job_id
        return (job_id,) if job_id else ()

    def _due(self, record: Record) -> float:
        """Return when the next attempt begins, in seconds since 1970."""
        return record.due

    def _arguments(self, record: Record) -> dict[str, object] | str:
        """Return the arguments of handlers except ``event``, or why the record can never be read."""
        message = record.segment.message(record.frame)
        try:
            shown = view(message, self._spool.tables(identity_of(message)))
        except (MessageError, TableError, FileNotFoundError) as error:
            return f"the record cannot be read: {error}"
        return {"record": shown}

    def _run(
        self, record: Record, handler: Handler, arguments: dict[str, object], refused: dict[str, str], call: Call
    ) -> None:
        """Run one handler; note the step in ``call``, and in ``refused`` its text if no further attempt helps."""
        record.segment.note(record, "begun", handler.label)
        around = InWorker(OfHook.of(handler), call, max_seconds=self._section.timeout)
        outcome = dispatch.run((handler,), arguments, around=around)
        if call.outcome.passed:
            call.outcome = outcome
        if outcome.passed:
            record.segment.note(record, "passed", handler.label)
            return
        if outcome.error_id is None:
            self._tell(record, handler.label, f"handler {handler.label} refuses it: {outcome.text}")
            refused[handler.label] = outcome.text or ""
        self._fail(record, handler, outcome.text or "it failed")

    def _fail(self, record: Record, handler: Handler, reason: str) -> None:
        """Note that a handler has failed; for a lenient handler, the record counts as delivered."""
        what = ("passed",) if handler.lenient else ("failed", reason)
        record.segment.note(record, what[0], handler.label, *what[1:])

    def _end(self, record: Record, refused: Mapping[str, str] | None = None) -> None:
        """End an attempt: all handlers have the record, or some get it again later, or it becomes a dead letter."""
        left, refused = self._handlers(record), refused or {}
        record.tries += bool(left)
        if not left:
            record.segment.note(record, "done")
        elif record.tries >= self._section.tries or all(handler.label in refused for handler in left):
            self._bury(record)
        else:
            wait = min(self._section.backoff * 2.0 ** min(record.tries - 1, 30), self._section.backoff_limit)
            record.segment.note(record, "retry", record.tries, time.time() + wait)
            self._may_hurry = True

    def _bury(self, record: Record) -> None:
        try:
            try:
                self._spool.bury(record)
            except OSError as error:
                if not is_full(error):
                    raise
                record.segment.free()  # perhaps the spool itself has filled the disk
                self._spool.bury(record)
        except OSError as error:
            if not is_full(error):
                raise
            log.error("%s cannot become a dead letter: %s; it is tried again", _what(record), error)
            record.segment.note(record, "retry", record.tries, time.time() + self._section.backoff_limit)
            return
        self._tell(record, "", f"it is a dead letter now: '{self.command}' shows it, and can have it delivered again")

    def _tell(self, record: Record, about: str, text: str) -> None:
        """Log what has become of a record; `about` is the same for what need not be repeated."""
        log.error("%s: %s", _what(record), text)


def _what(record: Record) -> str:
    return f"{record.frame.hook} record {record.frame.id} of JobId={record.frame.job_id}"


def _next(
    records: Iterable[Record],
    now: float,
    longest: float,
    keys_of: Callable[[Record], Collection[object]],
    due_of: Callable[[Record], float],
) -> tuple[Record | None, float]:
    """Return the first record that is due and waits for no other one; or None, and how long to wait."""
    waiting: set[object] = set()
    wait = IDLE
    for record in records:
        keys = keys_of(record)
        if not waiting.isdisjoint(keys):
            waiting.update(keys)
            continue
        # No pause is longer than this, so the clock was set back.
        due = due_of(record)
        if due <= now or due > now + longest:
            return record, 0.0
        wait = min(wait, due - now)
        waiting.update(keys)
    return None, max(wait, 0.001)
