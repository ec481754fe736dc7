# SPDX-License-Identifier: GPL-2.0-or-later
"""The views that handlers of a worker get, bound to the tables of a build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.fields import KEYS, LISTS
from slurmhooks.fields.classes import bind, conditions_of
from slurmhooks.slurmctld import PRIVATE_ARGUMENTS, model
from slurmhooks.slurmctld.table import Table
from slurmhooks.values import NO_VAL, text_from_c, text_to_c
from slurmhooks.wire.message import MessageError
from slurmhooks.wire.protocol import Fact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.fields.classes import Computations
    from slurmhooks.slurmctld.asking import Asking, Struct
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
        """Return a class of views for the structs of a table; see :func:`slurmhooks.fields.classes.bind`."""
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

        def find(key: Any) -> Any:
            if numbered:
                if isinstance(key, str) and key.isdecimal():
                    key = int(key)
                if not isinstance(key, int) or not 0 < key < NO_VAL[32]:
                    return None
            elif not isinstance(key, str) or "\0" in key:
                return None
            struct = asking.row(table, key if numbered else text_to_c("name", key))
            return None if struct is None else view_class(struct)

        def everything() -> dict[Any, Any]:
            return {getattr(view, key_field): view for view in map(view_class, asking.rows(table))}

        def select(fields: dict[str, Any]) -> list[Any]:
            conditions = conditions_of(view_class, self.tables[table], fields)
            return [view_class(struct) for struct in asking.rows(table, conditions)]

        return Table(find, everything, select)
