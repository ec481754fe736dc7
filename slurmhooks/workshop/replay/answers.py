# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers the questions of handlers from a recording, instead of slurmctld and the name service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from slurmhooks.errors import SlurmhooksError
from slurmhooks.fields import KEYS
from slurmhooks.fields import LISTS as TABLES
from slurmhooks.fields.secrets import SECRETS
from slurmhooks.hooks.points import LISTS
from slurmhooks.job_submit.model import owner_of
from slurmhooks.job_submit.users import Facts, Users
from slurmhooks.wire.message import Message, Packed, decode, text_value
from slurmhooks.wire.protocol import Fact, Type, What
from slurmhooks.workshop.accounting.assumed import word_for
from slurmhooks.workshop.testing.questions import ABOUT_ROWS, answer

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from slurmhooks.fields.classes import Computations
    from slurmhooks.recording.request import Recorded, Rows, UserFacts
    from slurmhooks.wire.tables import Table, Tables

USERS = "the name service"
_ARGUMENTS = {table: argument for argument, table in TABLES.items()}


class NotRecordedError(SlurmhooksError):
    """A handler reads something that the recording does not have."""


class Snapshot:
    """All rows of a table at some time."""

    def __init__(self, rows: Rows, table: Table) -> None:
        """Store the rows, which are indexed on first use."""
        self._rows = rows
        self._table = table
        self._by_key: dict[object, bytes] | None = None

    def row(self, key: object) -> bytes | None:
        """Return the struct of a key, or None."""
        if self._by_key is None:
            member = KEYS.get(self._table.name, "name")
            self._by_key = {Packed(self._table, struct).raw(member): struct for struct in self._rows.structs}
        return self._by_key.get(key)

    def structs(self) -> tuple[bytes, ...]:
        """Return all structs."""
        return self._rows.structs


class Snapshots:
    """The tables that were recorded completely, from time to time."""

    def __init__(self, tables: Tables, rows: Iterable[Rows]) -> None:
        self._at: dict[str, list[tuple[float, Snapshot]]] = {}
        for each in sorted(rows, key=lambda rows: rows.time):
            if each.table in tables:
                self._at.setdefault(each.table, []).append((each.time, Snapshot(each, tables[each.table])))

    def at(self, table: str, time: float) -> Snapshot | None:
        """Return the last snapshot before a time, otherwise the first one; None if the table was not recorded."""
        return _at(self._at.get(table), time)


Value = TypeVar("Value")


def _at(values: list[tuple[float, Value]] | None, time: float) -> Value | None:
    """Return the last value before a time, otherwise the first one; None if there is none."""
    if not values:
        return None
    return next((value for taken, value in reversed(values) if taken <= time), values[0][1])


class Answers:
    """The answers of slurmctld to the questions of the present request.

    Attributes:
        needs: what handlers of the running request wanted to read although it was not recorded.
        withheld: texts for which handlers got a substitute, see slurmhooks.workshop.replay.views.
        unknown: the members of the present request whose values are not known.
    """

    def __init__(
        self,
        tables: Tables,
        snapshots: Snapshots,
        facts: Iterable[UserFacts],
        users: Mapping[int, Mapping[str, Any]],
    ) -> None:
        """Store what belongs to no request."""
        self._tables = tables
        self._snapshots = snapshots
        self._users = users
        self._facts: dict[bytes, list[tuple[float, bytes]]] = {}
        for each in facts:
            for question, result in each.questions:
                self._facts.setdefault(question, []).append((each.time, result))
        self._time = 0.0
        self._results: dict[bytes, bytes] = {}
        self.needs: list[str] = []
        self.withheld: list[str] = []
        self.unknown: frozenset[str] = frozenset()

    def begin(self, request: Recorded) -> None:
        """Answer from this recorded request from now on."""
        self._time = request.time
        self._results = dict(request.questions)
        self.needs = []
        self.withheld = []
        self.unknown = request.unknown

    def __call__(self, question: bytes) -> bytes:
        """Return the result of a question; see slurmhooks.worker.interface.Query.

        Raises:
            NotRecordedError: the result was not recorded.
        """
        result = self._results.get(question)
        if result is None:
            result = _at(self._facts.get(question), self._time)
        if result is not None:
            return result
        asked = decode(question, self._tables)
        items = None
        if asked.what in ABOUT_ROWS:
            items = self._rows(asked)
        elif asked.what == What.FACT and asked.table == Fact.USER_NAME and asked.number in self._users:
            items = [(0, text_value(self._users[asked.number]["name"].encode("utf-8", "surrogateescape")))]
        if items is None:
            raise self.missing(self._name(asked))
        return Message(Type.RESULT, items=tuple(items)).encode(self._tables)

    def missing(self, what: str) -> NotRecordedError:
        """Note that something was not recorded, and return the error for it."""
        if what not in self.needs:
            self.needs.append(what)
        return NotRecordedError(f"needs {what}, which was not recorded")

    def user(self, number: int) -> Mapping[str, Any]:
        """Return what the name service says about a user.

        Raises:
            NotRecordedError: the name service was not asked about the user.
        """
        facts = self._users.get(number)
        if facts is None:
            raise self.missing(USERS)
        return facts

    def groups(self, number: int) -> Mapping[str, int]:
        """Return the ids of a user's groups by their names. Raises as :meth:`user`."""
        groups: Mapping[str, int] | None = self.user(number).get("groups")
        if groups is None:
            raise self.missing(USERS)
        return groups

    def _rows(self, asked: Message) -> list[tuple[int, bytes]] | None:
        table = self._tables.tables[asked.table]
        snapshot = self._snapshots.at(table.name, self._time)
        if snapshot is None:
            return None
        return answer(asked, table, snapshot.row, snapshot.structs)

    def _name(self, asked: Message) -> str:
        """Return what a question is about, in the terms of hook files."""
        if asked.what == What.FACT:
            return Fact(asked.table).name.lower()
        table = self._tables.tables[asked.table]
        if asked.what == What.MEMBER:
            member = table.members[asked.number].name
            field = member.rpartition(".")[2]
            return next((secret for secret, names in SECRETS.items() if field in names), f"{table.name}.{member}")
        return _ARGUMENTS[table.name]


def remedy(need: str) -> str:
    """Return the option of ``slurmhooks record`` that records something; empty if it cannot be recorded."""
    if need in SECRETS:
        return f"--with {need}"
    return f"--tables {need}" if need in LISTS else ""


def advice(need: str, member: str, assumed: Container[str] | None) -> str:
    """Return what to do so that something is known next time; empty if nothing helps.

    ``need``: see Answers.needs. ``member`` is that of the request which the field of this name shows, if any.
    ``assumed`` is what the import of requests from accounting has assumed; None: they were recorded.
    """
    if assumed is None:
        option = remedy(need)
        return f"record with {option}" if option else ""
    word = word_for(member)
    if not word and need not in SECRETS:
        return "accounting does not have it, 'slurmhooks record' records it"
    later = "AccountingStoreFlags=job_script,job_env keeps more of later jobs"
    return f"{later}, 'slurmhooks import --assume {word}' assumes it" if word and word not in assumed else later


def computations(answers: Answers, *, private: bool) -> Computations:
    """Return the functions that compute those fields of a request that are no members, from the recording.

    ``private``: the build answers questions about slurmctld's own structs.
    """

    def user_name(job: Any) -> str | None:
        number = owner_of(job)
        name: str | None = None if number is None else answers.user(number)["name"]
        return name

    def group_name(job: Any) -> str | None:
        number = owner_of(job)
        if job.group_id is None or number is None:
            return None
        names = {group: name for name, group in answers.groups(number).items()}
        return names.get(job.group_id)

    def groups(job: Any) -> dict[str, int]:
        number = owner_of(job)
        return {} if number is None else dict(answers.groups(number))

    users = Facts() if private else Users()
    functions = {name: getattr(users, name) for name in dir(users) if not name.startswith("_")}
    return functions | {"group_name": group_name, "groups": groups} | ({} if private else {"user_name": user_name})
