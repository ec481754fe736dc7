# SPDX-License-Identifier: GPL-2.0-or-later
"""The views that handlers of a worker get, bound to the tables of a build."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from slurmhooks.fields import KEYS, LISTS
from slurmhooks.fields.classes import bind, conditions_of, members_of
from slurmhooks.slurmctld import PRIVATE_ARGUMENTS, model
from slurmhooks.slurmctld.asking import Struct
from slurmhooks.slurmctld.table import Table
from slurmhooks.slurmctld.walk import OTHER_LOCKS, SPARSE, ReadMembers, Row, Walk, members_item, part_of, with_pointers
from slurmhooks.values import NO_VAL, text_from_c, text_to_c
from slurmhooks.wire.message import MessageError
from slurmhooks.wire.protocol import Fact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slurmhooks.fields.classes import Computations
    from slurmhooks.fields.rows import Condition
    from slurmhooks.slurmctld.asking import Asking
    from slurmhooks.wire.tables import Table as Members
    from slurmhooks.wire.tables import Tables


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
        sparse: slurmctld may be asked for some members of rows only. Recordings have all, because other rules read
            others.
    """

    sparse = True

    def __init__(self, tables: Tables, of_record: Computations | None = None) -> None:
        """Bind the classes.

        ``of_record`` computes those fields of a record that are no members; by default it asks slurmctld.
        """
        self.tables = tables
        self.private = "record" in tables
        if self.private:
            computed = {"record": of_record or {"script": _script, "user_name": _user_name}}
            self._kinds = {name: (model.VIEWS[name], computed.get(name)) for name in LISTS.values()}
            self._classes = {name: self.bound(view, name, compute) for name, (view, compute) in self._kinds.items()}
            self._read = {name: ReadMembers(tables[name]) for name in LISTS.values()}
            self._sparse_classes: dict[str, tuple[Members, Any]] = {}
            self._counts: dict[tuple[str, tuple[str, ...]], tuple[Members, Any]] = {}

    def bound(self, view: type[Any], table: str, computed: Computations | None = None) -> Any:
        """Return a class of views for the structs of a table; see :func:`slurmhooks.fields.classes.bind`."""
        return bind(view, self.tables[table], self.tables.release, computed)

    def arguments(self, names: Iterable[str], asking: Asking, record: Struct | None = None) -> dict[str, Any]:
        """Return the arguments of handlers that come from slurmctld; the caller closes them.

        Names that are not in PRIVATE_ARGUMENTS are ignored. ``record`` is the job of the request.

        Raises:
            MessageError: a handler takes ``record``, and the request has none.
        """
        arguments: dict[str, Any] = {}
        for name in PRIVATE_ARGUMENTS.intersection(names):
            if name != "record":
                arguments[name] = self.table(name, asking)
            elif record is None:
                raise MessageError("a request without the record of its job")
            else:
                arguments[name] = self.record(record)
        return arguments

    def record(self, struct: Struct) -> model.Record:
        """Return the view of a job that slurmctld knows."""
        view: model.Record = self._classes["record"](struct)
        return view

    def table(self, name: str, asking: Asking) -> Table[Any, Any]:
        """Return a mapping of slurmctld's records by its name as an argument of handlers.

        Keys are texts or numbers; ``jobs["123"]`` is ``jobs[123]``, as in Lua.
        """
        table = LISTS[name]
        view_class, key_field = self._classes[table], KEYS.get(table, "name")
        numbered = table in KEYS
        whole, read = self.tables[table], self._read[table]

        def find(key: Any) -> Any:
            if numbered:
                if isinstance(key, str) and key.isdecimal():
                    key = int(key)
                if not isinstance(key, int) or not 0 < key < NO_VAL[32]:
                    return None
            elif not isinstance(key, str) or "\0" in key:
                return None
            row = Walk(asking, read).one(key if numbered else text_to_c("name", key))
            return None if row is None else view_class(row)

        def walk(conditions: Mapping[str, Condition] = {}) -> list[Any]:
            rows = self.walk(table, asking, read.sent if asking.sparse and asking.steady and table in SPARSE else whole)
            return [self.view(row) for row in rows.ask(conditions)]

        def everything() -> dict[Any, Any]:
            return {getattr(view, key_field): view for view in walk()}

        def select(fields: dict[str, Any]) -> Callable[[], list[Any]]:
            return partial(walk, conditions_of(view_class, whole, fields))

        def count(names: tuple[str, ...], fields: dict[str, Any]) -> Iterable[tuple[Any, int, int]]:
            conditions = asking.conditions(whole, conditions_of(view_class, whole, fields))
            part, view = self._counted(table, names)
            wanted = members_item(with_pointers(whole, (member.name for member in part.members)))
            for data, (rows, jobs) in asking.count(self.tables.place(table), [wanted, *conditions]).items():
                yield view(Struct(part, data, asking)), rows, jobs

        return Table(find, everything, select, count, steady=asking.steady and table not in OTHER_LOCKS)

    def read(self, table: str) -> ReadMembers:
        """Return which members of the rows of a table handlers have read."""
        return self._read[table]

    def walk(self, table: str, asking: Asking, sent: Members) -> Walk:
        """Return a walk through rows that have some members; `view` makes views of them."""
        return Walk(asking, self._read[table], sent)

    def view(self, row: Row) -> Any:
        """Return the view of a row of a walk."""
        table, sent = row.whole.name, row.table
        if sent is row.whole:
            return self._classes[table](row)
        known = self._sparse_classes.get(table)
        if known is None or known[0] is not sent:
            view, computed = self._kinds[table]
            known = sent, bind(view, row.whole, self.tables.release, computed, sent)
            self._sparse_classes[table] = known
        return known[1](row)

    def _counted(self, table: str, names: tuple[str, ...]) -> tuple[Members, Any]:
        """Return the table of structs that have the members of some fields, and the class of their views."""
        known = self._counts.get((table, names))
        if known is None:
            whole = self.tables[table]
            part = part_of(whole, with_pointers(whole, members_of(self._classes[table], whole, names)))
            view, computed = self._kinds[table]
            known = part, bind(view, whole, self.tables.release, computed, part)
            self._counts[table, names] = known
        return known
