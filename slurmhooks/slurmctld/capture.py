# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker keeps of its requests while they are recorded (slurmhooks.recording); otherwise it keeps nothing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from slurmhooks.collector import reporting
from slurmhooks.errors import Reject
from slurmhooks.fields import LISTS
from slurmhooks.log import log
from slurmhooks.processes.descriptors import MAX_SIZE
from slurmhooks.recording import page as shared
from slurmhooks.recording.recorder import FACTS, REQUEST, ROWS, pack_report
from slurmhooks.recording.request import Recorded, Redaction, Rows, UserFacts
from slurmhooks.slurmctld.asking import Asking
from slurmhooks.wire.message import Message, MessageError, Packed, decode, read_text, text_value
from slurmhooks.wire.protocol import DEFERRED, Fact, Type, What

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slurmhooks.slurmctld.call import Call
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.interface import Query

ROOM = 1 << 20
"""Bytes of a report beside the messages in it, at most."""
PATIENCE = 0.1
"""Seconds to fetch rows of tables, while slurmctld holds its locks: a table that takes longer is not recorded."""
ROWS_EVERY = 600.0
"""Seconds before tables, and the facts about a user, are recorded again."""
USER_FACTS = (Fact.USER_NAME, Fact.DEFAULT_ACCOUNT)
OF_LUA = (Fact.DEFAULT_QOS, Fact.ASSOC_COMMENT, Fact.ASSOC_QOS)
OF_PYTHON = (Fact.CHARGED_ACCOUNT, Fact.CHOSEN_QOS, Fact.ASSOC_COMMENT, Fact.ASSOC_QOS)
"""Facts about an association: that of the names in the request, and that which Slurm will find for the job."""
PARTITION_OF_A_RECORD = ("alloc_partition", "part_ptr.name", "partition")


class Recording:
    """Reports requests while a recording is running; a service passes all requests through it."""

    def __init__(self, tables: Tables, hooks: str, followers: list[Callable[[Call], None]]) -> None:
        self._tables = tables
        self._hooks = hooks
        self._followers = followers
        self._number = 0
        self._kept: tuple[bytes, bytes] | None = None
        self._capture: Capture | None = None
        self._rows: list[str] = []
        self._lost = 0

    @property
    def running(self) -> bool:
        """Whether requests are kept now."""
        return self._capture is not None

    def around(self, request: bytes, query: Query, handle: Callable[[bytes, Query], bytes]) -> bytes:
        """Return the answer to a request; while a recording is running, also keep the data to record."""
        page = shared.page
        number = 0 if page is None else page.number
        if number != self._number:
            self._change(number)
        if self._capture is None or page is None:
            return handle(request, query)
        answer = handle(request, self._capture.begin(query))
        self._capture.long_secrets(request)
        self._kept = request, answer
        facts = self._capture.facts(request)
        if facts is not None:
            self._report(FACTS, facts.encode())
        now = time.time()
        has_time = now < page.rows_at <= now + ROWS_EVERY  # further away: the clock has been put back
        if self._rows and not has_time:
            page.rows_at = now + ROWS_EVERY
            self._record_rows(self._capture)
        return answer

    def _change(self, number: int) -> None:
        """Begin the recording of a number, or end the present one: 0 is none."""
        self._number = number
        if self._capture is not None:
            self._followers.remove(self._follow)
        self._capture = None
        orders = {} if shared.page is None or not number else shared.page.orders
        if orders.get("number") == number and reporting.reporter is not None:
            self._capture = Capture(self._tables, orders["with"], self._hooks)
            self._rows = [LISTS[name] for name in orders["tables"] if LISTS[name] in self._tables]
            self._followers.append(self._follow)
        elif number:
            self._number = 0  # the orders are only partly written: read them again at the next request

    def _record_rows(self, capture: Capture) -> None:
        recorded, left = capture.rows(self._rows)
        for rows in recorded:
            self._report(ROWS, rows.encode())
        for table in left:
            log.error("recording: all rows of %s take more than %g s, so they are not recorded", table, PATIENCE)
            self._rows.remove(table)

    def _follow(self, call: Call) -> None:
        kept, self._kept = self._kept, None
        if self._capture is not None and kept is not None:
            recorded = self._capture.recorded(call, *kept)
            # What is longer than a report is not even copied: that may exceed the memory of this worker.
            is_long = sum(map(len, recorded.messages)) > MAX_SIZE - ROOM
            self._report(REQUEST, b"" if is_long else recorded.encode())

    def _report(self, kind: bytes, data: bytes) -> None:
        """Report something; if that is not possible, report at once that it is lost, or else the next time."""
        assert reporting.reporter is not None
        if data and reporting.reporter.report(reporting.RECORDED, pack_report(kind, self._lost, data)):
            self._lost = 0
            return
        self._lost += kind == REQUEST
        if self._lost and reporting.reporter.report(reporting.RECORDED, pack_report(kind, self._lost, b"")):
            self._lost = 0


class Capture:
    """Keeps one request at a time."""

    def __init__(self, tables: Tables, kept: Iterable[str], hooks: str) -> None:
        self._tables = tables
        self._kept = frozenset(kept)
        self._redaction = Redaction(tables, self._kept)
        self._hooks = hooks
        self._facts_of: set[tuple[object, ...]] = set()
        self._facts_until = 0.0
        self._query: Query | None = None
        self._questions: list[tuple[bytes, bytes]] = []

    def begin(self, query: Query) -> Query:
        """Return a function that asks the questions of one request, and keeps questions and results."""
        self._questions = []
        self._query = query

        def asking(question: bytes) -> bytes:
            result = query(question)
            self._questions.append((question, result))
            return result

        return asking

    def long_secrets(self, request: bytes) -> None:
        """Ask for secrets that are to be recorded but were too long to be sent unasked."""
        assert self._query is not None
        asked = {question for question, _ in self._questions}
        for tag, value in decode(request, self._tables).items:
            for place in self._redaction.kept_places(tag):
                if Packed(self._tables.tables[tag], value).slots[place] == DEFERRED:
                    question = Message(Type.QUERY, What.MEMBER, tag, place).encode(self._tables)
                    if question not in asked:
                        self._questions.append((question, self._query(question)))

    def facts(self, request: bytes) -> UserFacts | None:
        """Ask what slurmctld knows about the owner in the request's account and partition; None if asked recently.

        A new rule may read facts that no present rule reads, such as the default account.
        """
        message = decode(request, self._tables)
        try:
            named, reservation = self._texts(message, 0, "account", "partition"), self._texts(message, 0, "reservation")
            present = self._texts(message, 1, "account", *PARTITION_OF_A_RECORD) if len(message.items) > 1 else ()
        except MessageError:  # left out of the request: no account and no partition has such a long name
            return None
        now = time.monotonic()
        if now >= self._facts_until:
            self._facts_of.clear()
            self._facts_until = now + ROWS_EVERY
        key = (message.owner, *named, *reservation, *present)
        if "record" not in self._tables or key in self._facts_of:
            return None
        assert self._query is not None
        self._facts_of.add(key)
        pairs: dict[bytes, bytes] = {}

        def ask(fact: Fact, number: int, *texts: bytes | None) -> bytes | None:
            items = tuple(enumerate(map(text_value, texts)))
            question = Message(Type.QUERY, What.FACT, fact, number, items).encode(self._tables)
            pairs[question] = self._query(question)  # type: ignore[misc]
            return next((read_text(value) for _, value in decode(pairs[question], self._tables).items), None)

        for fact in USER_FACTS:
            ask(fact, message.owner)
        for fact in OF_LUA:
            ask(fact, message.owner, *named)
        account, partition = named
        if present:
            account = present[0] if account is None else account
            partition = partition or next(filter(None, present[1:]), None)
        first = next(filter(None, (partition or b"").split(b",")), None) or ask(
            Fact.DEFAULT_PARTITION, 0, *(text or None for text in reservation)
        )
        for fact in OF_PYTHON:
            ask(fact, message.owner, account.lower() if account else None, first)
        return UserFacts(now, tuple(pairs.items()))

    def _texts(self, message: Message, place: int, *members: str) -> tuple[bytes | None, ...]:
        """Return texts of a struct of a request; a member that this release lacks is None."""
        tag, value = message.items[place]
        table = self._tables.tables[tag]
        struct = Packed(table, value)
        raws = (struct.raw(member) if member in table.places else None for member in members)
        return tuple(raw if isinstance(raw, bytes) else None for raw in raws)

    def recorded(self, call: Call, request: bytes, answer: bytes) -> Recorded:
        """Return the record of a request that has been answered."""
        decided = [step.handler.label for step in call.steps if step.outcome is not None and not step.outcome.passed]
        bugs = [
            step.handler.label for step in call.steps if step.error is not None and not isinstance(step.error, Reject)
        ]
        return Recorded(
            time=call.time,
            hook=call.hook,
            id=call.id,
            hooks=self._hooks,
            decided=decided[-1] if decided else "",
            bugs=tuple(bugs),
            request=self._redaction.request(request),
            answer=self._redaction.answer(answer),
            questions=self._redaction.questions(self._questions),
        )

    def rows(self, tables: Iterable[str], clock: Callable[[], float] = time.monotonic) -> tuple[list[Rows], list[str]]:
        """Ask for all rows of tables, while slurmctld waits; return them, and the tables that took too long."""
        assert self._query is not None
        asking = Asking(self._tables, self._query)
        until = clock() + PATIENCE
        recorded, left = [], []
        for table in tables:
            structs = self._structs(asking, table, lambda: clock() < until)
            if structs is None:
                left.append(table)
            else:
                rows = self._redaction.rows(table, structs)
                recorded.append(Rows(time.time(), table, self._tables.identity, rows))
        return recorded, left

    def _structs(self, asking: Asking, table: str, goes_on: Callable[[], bool]) -> tuple[bytes, ...] | None:
        structs: list[bytes] = []
        pages = asking.pages(self._tables.place(table))
        while goes_on():
            page, is_last = next(pages)
            structs += [value for _, value in page]
            if is_last:
                return tuple(structs)
        return None
