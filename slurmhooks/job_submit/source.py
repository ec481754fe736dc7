# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the views of a worker get their values: packed structs, and questions to the slurmctld that waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.job_submit import model
from slurmhooks.job_submit.binding import bind, conditions_of
from slurmhooks.job_submit.fields import KEYS, LISTS
from slurmhooks.job_submit.users import Users
from slurmhooks.values import NO_VAL, text_from_c, text_to_c
from slurmhooks.wire.message import (
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
    from collections.abc import Callable, Iterator, Mapping

    from slurmhooks.job_submit.binding import Computations
    from slurmhooks.job_submit.rows import Condition
    from slurmhooks.wire.message import Raw
    from slurmhooks.wire.tables import Table, Tables


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

    def rows(self, table: str, conditions: Mapping[str, Condition] = {}) -> Iterator[Struct]:
        """Return the structs of a table, page by page: all, or those whose members fulfil conditions."""
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

    def struct(self, tag: int, value: bytes) -> Struct:
        """Return a struct of the request, whose long members are asked for when they are read."""

        def fetch(place: int) -> bytes:
            for _, found in self.ask(What.MEMBER, tag, place).items:
                return found
            raise MessageError("a member was not answered")

        if not tag < len(self.tables.tables):
            raise MessageError("a struct of no table")
        return Struct(self.tables.tables[tag], value, self, fetch)


current: Asking | None = None
"""Questions of the running request, or of the last one, which raise; None: there was none yet."""


class Struct(Packed):
    """A packed struct of a request, and what the answer writes into it.

    Attributes:
        asking: for what slurmctld did not send.
        written: raw values by member, once handlers have passed.
    """

    __slots__ = ("asking", "written")

    def __init__(
        self, table: Table, data: bytes, asking: Asking | None, fetch: Callable[[int], bytes] | None = None
    ) -> None:
        """Take what was packed; see Packed."""
        super().__init__(table, data, fetch)
        self.asking = asking
        self.written: dict[str, Raw] = {}

    def array(self, member: str) -> list[bytes]:
        """Return an array of texts."""
        return self.texts(self.table.places[member])

    def find(self, member: str, start: bytes) -> bytes | None:
        """Return what follows the start in the first text of an array that has it, or None: one search."""
        value = self.value(self.table.places[member]) or b""
        at = 0 if value.startswith(start) else value.find(b"\0" + start) + 1
        if not at and not value.startswith(start):
            return None
        end = value.find(b"\0", at)
        if end < 0:
            raise MessageError(f"the last text of {member} has no end")
        return value[at + len(start) : end]


class Facts(Users):
    """What slurmctld knows of users, as job_submit/lua asks for it; only in a build with Slurm's sources."""

    def _association(self, fact: Fact, job: Any) -> str | None:
        user_id = model.owner_of(job)
        if user_id is None:
            return None
        texts = [None if text is None else text_to_c("text", text) for text in (job.account, job.partition)]
        found: str | None = job._struct.asking.text(fact, user_id, *texts)
        return found

    def user_name(self, job: Any) -> str | None:
        """Return the user's name, which recent releases of Slurm send along."""
        user_id = model.owner_of(job)
        found: str | None = None if user_id is None else job._struct.asking.text(Fact.USER_NAME, user_id)
        return found

    def default_account(self, job: Any) -> str | None:
        """Return the account that the user is charged to when none is named."""
        user_id = model.owner_of(job)
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
    raw: bytes | None = record._struct.raw("user_name")
    found: str | None = record._struct.asking.text(Fact.USER_NAME, record.user_id) if raw is None else text_from_c(raw)
    return found


class Views:
    """The classes that handlers of a worker see, bound to the tables of a build.

    Attributes:
        job: the class of requests.
        private: whether slurmctld answers questions about its own structs.
    """

    def __init__(
        self, tables: Tables, of_job: Computations | None = None, of_record: Computations | None = None
    ) -> None:
        """Bind the classes.

        Args:
            tables: of the build.
            of_job: the functions of a request's fields that are no members; by default slurmctld's and the system's.
            of_record: likewise, of a record's.
        """
        self.tables = tables
        self.private = "record" in tables
        if of_job is None:
            users = Facts() if self.private else Users()
            of_job = {name: getattr(users, name) for name in dir(users) if not name.startswith("_")}
        self.job: Any = self._bound(model.Job, "job", of_job)
        if self.private:
            computed = {"record": of_record or {"script": _script, "user_name": _user_name}}
            self._classes = {name: self._bound(model.VIEWS[name], name, computed.get(name)) for name in LISTS.values()}

    def _bound(self, view: type[Any], table: str, computed: Computations | None = None) -> Any:
        return bind(view, self.tables[table], self.tables.release, computed)

    def record(self, struct: Struct) -> model.Record:
        """Return the view of a job that slurmctld knows."""
        view: model.Record = self._classes["record"](struct)
        return view

    def table(self, name: str, asking: Asking) -> model.Table[Any, Any]:
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

        return model.Table(find, everything, select)
