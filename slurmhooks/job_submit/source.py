# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the views of a worker get their values: packed structs, and questions to the slurmctld that waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.job_submit import model
from slurmhooks.job_submit.rows import Field, Strings, Text, bind
from slurmhooks.job_submit.users import Users, owner_of
from slurmhooks.values import NO_VAL, text_from_c, text_to_c
from slurmhooks.wire.message import (
    Fact,
    Message,
    MessageError,
    Packed,
    Type,
    What,
    decode,
    read_number,
    read_text,
    text_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from slurmhooks.wire.message import Raw
    from slurmhooks.wire.tables import Table, Tables

    Computations = Mapping[str, Callable[[Any], Any]]

ARRAYS = ("argv", "environment", "spank_job_env")
"""The arrays of texts of a request; slurmctld's side keeps the counters beside them."""


class Asking:
    """Questions of one request to slurmctld, which holds its locks while it waits for the answer."""

    def __init__(self, tables: Tables, query: Callable[[bytes], bytes]) -> None:
        """Take what carries a question over and returns the result; it raises once the request is answered."""
        self.tables = tables
        self._query = query

    def ask(self, what: What, second: int, third: int, *items: tuple[int, bytes]) -> Message:
        """Return the result of a question.

        Raises:
            MessageError: it is damaged.
        """
        question = Message(Type.QUERY, what, second, third, items).encode(self.tables)
        result = decode(self._query(question), self.tables)
        if result.type != Type.RESULT:
            raise MessageError("a question was not answered by a result")
        return result

    def row(self, table: str, key: int | bytes) -> Struct | None:
        """Return the struct of a table that has a key, or None."""
        place = self.tables.place(table)
        number, items = (key, ()) if isinstance(key, int) else (0, ((0, text_value(key)),))
        return next(self._structs(self.ask(What.ROW, place, number, *items), place), None)

    def rows(self, table: str) -> Iterator[Struct]:
        """Return all structs of a table, page by page."""
        place = self.tables.place(table)
        start = 0
        while True:
            result = self.ask(What.PAGE, place, start)
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
            yield Struct(Packed(self.tables.tables[place], value), self)

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

    def struct(self, tag: int, value: bytes) -> Struct:
        """Return a struct of the request, whose long members are asked for when they are read."""

        def fetch(place: int) -> bytes:
            for _, found in self.ask(What.MEMBER, tag, place).items:
                return found
            raise MessageError("a member was not answered")

        if not tag < len(self.tables.tables):
            raise MessageError("a struct of no table")
        return Struct(Packed(self.tables.tables[tag], value, fetch), self)


current: Asking | None = None
"""Questions of the running request, or of the last one, which raise; None: there was none yet."""


class Struct:
    """A packed struct whose members are attributes; assigned ones are written into the answer.

    Attributes:
        packed: what slurmctld sent.
        asking: for what it did not send.
        written: raw values by member, once handlers have passed.
    """

    __slots__ = ("asking", "packed", "written")

    def __init__(self, packed: Packed, asking: Asking) -> None:
        """Hold what was sent."""
        object.__setattr__(self, "packed", packed)
        object.__setattr__(self, "asking", asking)
        object.__setattr__(self, "written", {})

    packed: Packed
    asking: Asking
    written: dict[str, Raw]

    def __getattr__(self, name: str) -> Any:
        """Return a member's raw value."""
        place = self.packed.table.places.get(name)
        if place is None:
            raise AttributeError(name)
        return self.packed.raw(place)

    def __setattr__(self, name: str, value: Any) -> None:
        """Write a member."""
        self.written[name] = value


class PackedBackend:
    """Reads packed structs; see rows.Backend."""

    def __init__(self, tables: Tables, table: Table, computed: Computations | None = None) -> None:
        """View the structs of a table.

        Args:
            tables: of the build.
            table: of the structs.
            computed: the functions of fields that are not members.
        """
        year, month, _ = tables.release.split(".")
        self.release = int(year), int(month)
        self._table = table
        self._computed = computed or {}

    def has(self, path: str) -> bool:
        """See rows.Backend."""
        return path in self._table.places

    def string(self, pointer: Any, /) -> bytes:
        """See rows.Backend."""
        return bytes(pointer)

    def write_text(self, struct: Any, member: str, raw: bytes | None) -> None:
        """See rows.Backend."""
        setattr(struct, member, raw)

    def strings(self, struct: Any, member: str, count: str) -> list[bytes]:
        """See rows.Backend."""
        return struct.packed.raw(self._table.places[member]) or []

    def computed(self, name: str) -> Callable[[Any], Any] | None:
        """See rows.Backend."""
        return self._computed.get(name)

    def compiled(self, row: Field[Any], member: str) -> Any:
        """See rows.Backend: members are read by their places, without a look at their names."""
        place = self._table.places.get(member)
        if place is None or isinstance(row, Strings):
            return None
        via = self._table.via[place]
        text = isinstance(row, Text)
        # A text is bytes here, of which the empty ones are set.
        source, names = row.staged(self) if text else row.expression(self)
        decode_raw: Callable[[Any], Any] = eval(f"lambda raw: {source}", dict(names))

        def get(view: Any) -> Any:
            packed, writes = view._struct.packed, view._writes
            if member in writes:
                return decode_raw(writes[member])
            if via is not None and not packed.slots[via]:
                return None
            return decode_raw(packed.text(place) if text else packed.slots[place])

        return property(get, doc=row.doc)

    def read(self, struct: Any, name: str) -> list[bytes]:
        """See model.Arrays."""
        found: list[bytes] = struct.packed.texts(self._table.places[name])
        return found

    def find(self, struct: Any, name: str, start: bytes) -> bytes | None:
        """See model.Arrays: one search through the packed texts."""
        value: bytes = struct.packed.value(self._table.places[name]) or b""
        at = 0 if value.startswith(start) else value.find(b"\0" + start) + 1
        if not at and not value.startswith(start):
            return None
        end = value.find(b"\0", at)
        if end < 0:
            raise MessageError(f"the last text of {name} has no end")
        return value[at + len(start) : end]

    def write(self, struct: Any, name: str, items: list[bytes]) -> None:
        """See model.Arrays."""
        setattr(struct, name, items)


class Facts(Users):
    """What slurmctld knows of users, as job_submit/lua asks for it; only in a build with Slurm's sources."""

    def _association(self, fact: Fact, job: Any) -> str | None:
        user_id = owner_of(job)
        if user_id is None:
            return None
        texts = [None if text is None else text_to_c("text", text) for text in (job.account, job.partition)]
        found: str | None = job._struct.asking.text(fact, user_id, *texts)
        return found

    def user_name(self, job: Any) -> str | None:
        """Return the user's name, which recent releases of Slurm send along."""
        user_id = owner_of(job)
        found: str | None = None if user_id is None else job._struct.asking.text(Fact.USER_NAME, user_id)
        return found

    def default_account(self, job: Any) -> str | None:
        """Return the account that the user is charged to when none is named."""
        user_id = owner_of(job)
        found: str | None = None if user_id is None else job._struct.asking.text(Fact.DEFAULT_ACCOUNT, user_id)
        return found

    def default_qos(self, job: Any) -> str | None:
        """Return the default QOS of the association of user, account and partition."""
        return self._association(Fact.DEFAULT_QOS, job)

    def assoc_comment(self, job: Any) -> str | None:
        """Return the comment of that association."""
        return self._association(Fact.ASSOC_COMMENT, job)

    def assoc_qos(self, job: Any) -> str | None:
        """Return the names of the QOS of that association, sorted, as job_submit/lua does."""
        names = self._association(Fact.ASSOC_QOS, job)
        return None if names is None else ",".join(sorted(names.split(",")))


def _script(record: Any) -> str | None:
    found: str | None = record._struct.asking.text(Fact.JOB_SCRIPT, record.job_id)
    return found


def _user_name(record: Any) -> str | None:
    found: str | None = record._struct.asking.text(Fact.USER_NAME, record.user_id)
    return found


class Views:
    """The classes that handlers of a worker see, bound to the tables of a build.

    Attributes:
        job: the class of requests.
        private: whether slurmctld answers questions about its own structs.
    """

    def __init__(self, tables: Tables) -> None:
        """Bind the classes."""
        self.tables = tables
        self.private = "record" in tables
        users = Facts() if self.private else Users()
        functions = {name: getattr(users, name) for name in dir(users) if not name.startswith("_")}
        backend = PackedBackend(tables, tables["job"], functions)
        self.job: Any = bind(model.Job, backend)
        self.job._arrays = backend
        if self.private:
            record = {"script": _script, "user_name": _user_name}
            self._record: Any = bind(model.Record, PackedBackend(tables, tables["record"], record))
            self._partition: Any = bind(model.Partition, PackedBackend(tables, tables["partition"]))
            self._reservation: Any = bind(model.Reservation, PackedBackend(tables, tables["reservation"]))

    def record(self, struct: Struct) -> model.Record:
        """Return the view of a job that slurmctld knows."""
        view: model.Record = self._record(struct)
        return view

    def partitions(self, asking: Asking) -> model.Table:
        """Return the partitions that the job's user may use."""
        return self._named(asking, "partition", self._partition)

    def reservations(self, asking: Asking) -> model.Table:
        """Return the reservations, by name."""
        return self._named(asking, "reservation", self._reservation)

    def jobs(self, asking: Asking) -> model.Table:
        """Return the jobs that slurmctld knows, by job id: ``jobs[123]``, or ``jobs["123"]`` as in Lua."""

        def find(job_id: Any) -> Any:
            if isinstance(job_id, str) and job_id.isdecimal():  # as job_submit/lua spells it
                job_id = int(job_id)
            if not isinstance(job_id, int) or not 0 < job_id < NO_VAL[32]:
                return None
            struct = asking.row("record", job_id)
            return None if struct is None else self._record(struct)

        def everything() -> dict[Any, Any]:
            return {view.job_id: view for view in map(self._record, asking.rows("record"))}

        return model.Table(find, everything)

    @staticmethod
    def _named(asking: Asking, table: str, made: Any) -> model.Table:
        def find(name: Any) -> Any:
            if not isinstance(name, str) or "\0" in name:
                return None
            struct = asking.row(table, text_to_c("name", name))
            return None if struct is None else made(struct)

        def everything() -> dict[Any, Any]:
            return {view.name: view for view in map(made, asking.rows(table))}

        return model.Table(find, everything)
