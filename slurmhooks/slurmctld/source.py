# SPDX-License-Identifier: GPL-2.0-or-later
"""The source of the values of a worker's views: packed structs, and questions to the waiting slurmctld."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.errors import Reject
from slurmhooks.slurmctld import PRIVATE_ARGUMENTS, model
from slurmhooks.slurmctld.binding import bind, conditions_of
from slurmhooks.slurmctld.fields import KEYS, LISTS
from slurmhooks.slurmctld.table import Table
from slurmhooks.values import NO_VAL, text_from_c, text_to_c
from slurmhooks.wire.message import (
    LARGEST,
    TOO_LONG,
    Fact,
    Message,
    MessageError,
    Packed,
    Type,
    What,
    condition_value,
    decode,
    read_number,
    read_text,
    text_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from slurmhooks.slurmctld.binding import Computations
    from slurmhooks.slurmctld.rows import Condition
    from slurmhooks.wire.message import Raw
    from slurmhooks.wire.tables import Table as StructTable
    from slurmhooks.wire.tables import Tables


class Asking:
    """Questions of one request to slurmctld, which holds its locks while it waits for the answer."""

    def __init__(self, tables: Tables, query: Callable[[bytes], bytes]) -> None:
        """Take the function that asks a question and returns the result; it raises once the request is answered."""
        self.tables = tables
        self._query = query

    def ask(self, what: What, second: int, third: int, *items: tuple[int, bytes]) -> Message:
        """Return the result of a question.

        Raises:
            MessageError: the result is damaged.
            Reject: the result is too large for a message.
        """
        question = Message(Type.QUERY, what, second, third, items).encode(self.tables)
        result = decode(self._query(question), self.tables)
        if result.type != Type.RESULT:
            raise MessageError("a question was not answered by a result")
        if result.first == TOO_LONG:
            # A user has sent so much that no handler can judge it.
            name = self.tables.tables[second].members[third].name if what == What.MEMBER else "a text"
            raise Reject(f"{name} is longer than {LARGEST >> 20} MiB, the most that the hooks of this site can read")
        return result

    def row(self, table: str, key: int | bytes) -> Struct | None:
        """Return the struct of a table that has a key, or None."""
        place = self.tables.place(table)
        number, items = (key, ()) if isinstance(key, int) else (0, ((0, text_value(key)),))
        return next(self._structs(self.ask(What.ROW, place, number, *items), place), None)

    def rows(self, table: str, conditions: Mapping[str, Condition] = {}) -> Iterator[Struct]:
        """Return the structs of a table, page by page: all, or those whose members meet conditions."""
        place = self.tables.place(table)
        items = [
            (self.tables.tables[place].places[member], condition_value(condition))
            for member, condition in conditions.items()
        ]
        start = 0
        while True:
            result = self.ask(What.PAGE, place, start, *items)
            yield from self._structs(result, place)
            if not result.second:
                return
            if result.second <= start:
                raise MessageError("a page is followed by itself")
            start = result.second

    def _structs(self, result: Message, place: int) -> Iterator[Struct]:
        for tag, value in result.items:
            if tag != place:
                raise MessageError("a struct of another table")
            yield Struct(self.tables.tables[place], value, self)

    def text(self, fact: Fact, number: int, *texts: bytes | None) -> str | None:
        """Return a fact that is a text, or None."""
        items = tuple(enumerate(map(text_value, texts)))
        for _, value in self.ask(What.FACT, fact, number, *items).items:
            raw = read_text(value)
            return None if raw is None else text_from_c(raw)
        return None

    def number(self, fact: Fact, text: bytes) -> int | None:
        """Return a fact that is a number, or None."""
        for _, value in self.ask(What.FACT, fact, 0, (0, text_value(text))).items:
            return read_number(value)
        return None

    def struct(self, tag: int, value: bytes, fetch: Callable[[int], bytes] | None = None) -> Struct:
        """Return a struct of the request.

        Args:
            tag: the number of its table.
            value: the packed struct.
            fetch: returns long members when they are read; by default slurmctld is asked for them.
        """

        def ask(place: int) -> bytes:
            for _, value in self.ask(What.MEMBER, tag, place).items:
                return value
            raise MessageError("a member was not answered")

        if not tag < len(self.tables.tables):
            raise MessageError("a struct of no table")
        return Struct(self.tables.tables[tag], value, self, fetch or ask)


current: Asking | None = None
"""The questions of the running request, or of the last one, which raise; None before the first request."""


class Struct(Packed):
    """A packed struct of a request, and the values that the answer assigns to it.

    Attributes:
        asking: asks for what slurmctld did not send.
        written: raw values by member, once handlers have passed.
    """

    __slots__ = ("asking", "written")

    def __init__(
        self, table: StructTable, data: bytes, asking: Asking | None, fetch: Callable[[int], bytes] | None = None
    ) -> None:
        """Store the packed struct; see Packed."""
        super().__init__(table, data, fetch)
        self.asking = asking
        self.written: dict[str, Raw] = {}

    def array(self, member: str) -> list[bytes]:
        """Return an array of texts."""
        return self.texts(self.table.places[member])

    def find(self, member: str, start: bytes) -> bytes | None:
        """Return the rest of the first text of an array that begins with ``start``, or None, by one search."""
        value = self.value(self.table.places[member]) or b""
        at = 0 if value.startswith(start) else value.find(b"\0" + start) + 1
        if not at and not value.startswith(start):
            return None
        end = value.find(b"\0", at)
        if end < 0:
            raise MessageError(f"the last text of {member} has no end")
        return value[at + len(start) : end]


def _script(record: Any) -> str | None:
    text: str | None = record._struct.asking.text(Fact.JOB_SCRIPT, record.job_id)
    return text


def _user_name(record: Any) -> str | None:
    raw: bytes | None = record._struct.raw("user_name")
    name: str | None = record._struct.asking.text(Fact.USER_NAME, record.user_id) if raw is None else text_from_c(raw)
    return name


class Views:
    """The classes of records that handlers of a worker see, bound to the tables of a build.

    Attributes:
        private: whether slurmctld answers questions about its own structs.
    """

    def __init__(self, tables: Tables, of_record: Computations | None = None) -> None:
        """Bind the classes.

        Args:
            tables: of the build.
            of_record: functions that compute those fields of a record that are no members; by default they ask
                slurmctld.
        """
        self.tables = tables
        self.private = "record" in tables
        if self.private:
            computed = {"record": of_record or {"script": _script, "user_name": _user_name}}
            self._classes = {name: self.bound(model.VIEWS[name], name, computed.get(name)) for name in LISTS.values()}

    def bound(self, view: type[Any], table: str, computed: Computations | None = None) -> Any:
        """Return a class of views for the structs of a table; see :func:`slurmhooks.slurmctld.binding.bind`."""
        return bind(view, self.tables[table], self.tables.release, computed)

    def arguments(self, names: Iterable[str], asking: Asking, record: Struct | None = None) -> dict[str, Any]:
        """Return the arguments of handlers that come from slurmctld; the caller closes them.

        Args:
            names: names of arguments; those not in PRIVATE_ARGUMENTS are ignored.
            asking: asks for the rows of tables.
            record: the job of the request.

        Raises:
            MessageError: a handler takes ``record``, and the request has none.
        """
        made: dict[str, Any] = {}
        for name in PRIVATE_ARGUMENTS.intersection(names):
            if name != "record":
                made[name] = self.table(name, asking)
            elif record is None:
                raise MessageError("a request without the record of its job")
            else:
                made[name] = self.record(record)
        return made

    def record(self, struct: Struct) -> model.Record:
        """Return the view of a job that slurmctld knows."""
        view: model.Record = self._classes["record"](struct)
        return view

    def table(self, name: str, asking: Asking) -> Table[Any, Any]:
        """Return a mapping of slurmctld's records by its name as an argument of handlers.

        Keys are texts or numbers; ``jobs["123"]`` is ``jobs[123]``, as in Lua.
        """
        table = LISTS[name]
        made, key_field = self._classes[table], KEYS.get(table, "name")
        numbered = table in KEYS

        def find(key: Any) -> Any:
            if numbered:
                if isinstance(key, str) and key.isdecimal():
                    key = int(key)
                if not isinstance(key, int) or not 0 < key < NO_VAL[32]:
                    return None
            elif not isinstance(key, str) or "\0" in key:
                return None
            struct = asking.row(table, key if numbered else text_to_c("name", key))
            return None if struct is None else made(struct)

        def everything() -> dict[Any, Any]:
            return {getattr(view, key_field): view for view in map(made, asking.rows(table))}

        def select(fields: dict[str, Any]) -> list[Any]:
            conditions = conditions_of(made, self.tables[table], fields)
            return [made(struct) for struct in asking.rows(table, conditions)]

        return Table(find, everything, select)
