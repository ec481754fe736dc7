# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions to the slurmctld that waits for the answer to a request, and the packed structs of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.errors import Reject
from slurmhooks.values import text_from_c
from slurmhooks.wire.message import (
    Message,
    MessageError,
    Packed,
    condition_value,
    decode,
    read_number,
    read_text,
    text_value,
)
from slurmhooks.wire.protocol import DEFERRED, MAX_MESSAGE, PAGE_END, TALLY, Fact, Status, Type, What

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from slurmhooks.fields.rows import Condition
    from slurmhooks.wire.message import Raw
    from slurmhooks.wire.tables import Table, Tables

    Item = tuple[int, bytes]


class Asking:
    """Questions of one request to slurmctld.

    Attributes:
        tables: of the build.
        steady: slurmctld holds its locks while it waits for the answer: between two questions, jobs, nodes and
            partitions do not change.
        sparse: slurmctld may be asked for some members of rows only; see slurmhooks.slurmctld.walk.
    """

    def __init__(
        self, tables: Tables, query: Callable[[bytes], bytes], *, steady: bool = False, sparse: bool = True
    ) -> None:
        """Take the function that asks a question and returns the result; it raises once the request is answered."""
        self.tables = tables
        self._query = query
        self.steady = steady
        self.sparse = sparse

    def ask(self, what: What, table: int, number: int, *items: tuple[int, bytes]) -> Message:
        """Return the result of a question; what the arguments say depends on ``what``, see Message.

        Raises:
            MessageError: the result is damaged.
            Reject: the result is too large for a message.
        """
        question = Message(Type.QUERY, what, table, number, items).encode(self.tables)
        result = decode(self._query(question), self.tables)
        if result.type != Type.RESULT:
            raise MessageError("a question was not answered by a result")
        if result.status == Status.TOO_LONG:
            # A user has sent so much that no handler can judge it.
            name = self.tables.tables[table].members[number].name if what == What.MEMBER else "a text"
            raise Reject(
                f"{name} is longer than {MAX_MESSAGE >> 20} MiB, the most that the hooks of this site can read"
            )
        return result

    def row(self, table: str, key: int | bytes) -> Struct | None:
        """Return the struct of a table that has a key, or None."""
        place = self.tables.place(table)
        number, items = (key, ()) if isinstance(key, int) else (0, ((0, text_value(key)),))
        found = next(self.structs(self.ask(What.ROW, place, number, *items).items, place), None)
        return None if found is None else Struct(self.tables.tables[place], found, self)

    def conditions(self, table: Table, conditions: Mapping[str, Condition]) -> list[Item]:
        """Return conditions on the members of a table as items of a question."""
        return [(table.places[member], condition_value(condition)) for member, condition in conditions.items()]

    def pages(self, place: int, conditions: Iterable[Item] = ()) -> Iterator[tuple[list[Item], bool]]:
        """Return the structs of a table as items, page by page, each page with whether it is the last one.

        ``conditions`` may also be which members the structs are to have.
        """
        start = 0
        end: list[Item] = []
        while True:
            result = self.ask(What.PAGE, place, start, *conditions, *end)
            before = end
            end = [item for item in result.items if item[0] == PAGE_END]
            rows = [item for item in result.items if item[0] != PAGE_END]
            yield rows, not result.next
            if not result.next:
                return
            if result.next <= start and end == before:
                raise MessageError("a page is followed by itself")
            start = result.next

    def count(self, place: int, items: Iterable[Item]) -> dict[bytes, tuple[int, int]]:
        """Return how many structs there are of each kind, and as how many jobs these count.

        ``items`` are the members whose values make a kind, and conditions.
        """
        items = list(items)
        found: dict[bytes, tuple[int, int]] = {}
        start = 0
        end: tuple[Item, ...] = ()
        while True:
            result = self.ask(What.COUNT, place, start, *items, *end)
            if result.third != start:  # slurmctld no longer knows where the page before has ended
                found.clear()
            end = tuple(item for item in result.items if item[0] == PAGE_END)
            counted = [item for item in result.items if item[0] != PAGE_END]
            for (tag, value), (tally, numbers) in zip(counted[::2], counted[1::2], strict=True):
                if tag != place or tally != TALLY:
                    raise MessageError("a count of another table")
                rows, jobs = read_number(numbers[:8]), read_number(numbers[8:])
                before = found.get(value, (0, 0))
                found[value] = before[0] + rows, before[1] + jobs
            start = result.next
            if not start:
                return found

    def structs(self, items: Iterable[Item], place: int) -> Iterator[bytes]:
        """Return the structs of the items of a result, which must be of a table."""
        for tag, value in items:
            if tag != place:
                raise MessageError("a struct of another table")
            yield value

    def text(self, fact: Fact, number: int, *texts: bytes | None) -> str | None:
        """Return a fact that is a text, or None."""
        items = tuple(enumerate(map(text_value, texts)))
        for _, value in self.ask(What.FACT, fact, number, *items).items:
            raw = read_text(value)
            return None if raw is None else text_from_c(raw)
        return None

    def number(self, fact: Fact, *texts: bytes) -> int | None:
        """Return a fact that is a number, or None."""
        for _, value in self.ask(What.FACT, fact, 0, *((0, text_value(text)) for text in texts)).items:
            return read_number(value)
        return None

    def struct(self, tag: int, value: bytes, fetch: Callable[[int], bytes] | None = None) -> Struct:
        """Return a struct of the request.

        ``fetch`` returns long members when they are read; by default slurmctld is asked for them.
        """
        if not tag < len(self.tables.tables):
            raise MessageError("a struct of no table")
        return Struct(self.tables.tables[tag], value, self, fetch or (lambda place: self._member(tag, place)))

    def _member(self, tag: int, place: int) -> bytes:
        for _, value in self.ask(What.MEMBER, tag, place).items:
            return value
        raise MessageError("a member was not answered")


current: Asking | None = None
"""The questions of the running request, or of the last one, which raise; None before the first request."""


def begin(tables: Tables, query: Callable[[bytes], bytes], *, steady: bool = False, sparse: bool = True) -> Asking:
    """Return the questions of a new request; see Asking."""
    global current
    current = Asking(tables, query, steady=steady, sparse=sparse)
    return current


class Struct(Packed):
    """A packed struct of a request, and the values that the answer assigns to it.

    Attributes:
        asking: asks for what slurmctld did not send.
        written: raw values by member, once handlers have passed.
    """

    __slots__ = ("asking", "written")

    def __init__(
        self, table: Table, data: bytes, asking: Asking | None, fetch: Callable[[int], bytes] | None = None
    ) -> None:
        Packed.__init__(self, table, data, fetch)  # super() would take longer than the rest
        self.asking = asking
        self.written: dict[str, Raw] = {}

    @property
    def whole(self) -> Table:
        """The table of all members, of which this struct may have only some."""
        return self.table

    def array(self, member: str) -> list[bytes]:
        """Return an array of texts."""
        return self.texts(self.table.places[member])

    def contains(self, member: str, part: bytes) -> bool:
        """Tell whether a text has a part; False if slurmctld left the text out because of its length."""
        place = self.table.places[member]
        slot = self.slots[place]
        span = self.span(place) if slot and slot != DEFERRED else None
        return span is not None and span[0].find(part, span[1], span[2]) >= 0

    def find(self, member: str, start: bytes) -> bytes | None:
        """Return the rest of the first text of an array that begins with ``start``, or None, by one search."""
        span = self.span(self.table.places[member])
        if span is None:
            return None
        data, at, last = span
        if not data.startswith(start, at, last):
            at = data.find(b"\0" + start, at, last) + 1
            if not at:
                return None
        end = data.find(b"\0", at, last)
        if end < 0:
            raise MessageError(f"the last text of {member} has no end")
        return data[at + len(start) : end]
