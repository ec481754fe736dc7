# SPDX-License-Identifier: GPL-2.0-or-later
"""One recorded request: its message, the questions of its handlers, and its answer, without secrets."""

from __future__ import annotations

from array import array
from struct import Struct, error
from typing import TYPE_CHECKING, NamedTuple

from slurmhooks.fields.secrets import SECRETS
from slurmhooks.recording.file import RecordingError, join, split
from slurmhooks.wire.message import Message, decode
from slurmhooks.wire.protocol import DEFERRED, MEMBERS, Fact, Type, What

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from slurmhooks.wire.tables import Table, Tables

_TIME = Struct("<d")


class Recorded(NamedTuple):
    """A request as it was received, and its answer.

    Attributes:
        time: when it was received, in seconds since the epoch.
        hook: name of the hook.
        id: of the request, as in the decision log.
        hooks: the id of the set that was in force.
        decided: label of the handler that refused or failed; empty if none did.
        bugs: labels of the handlers that had a bug, including lenient ones.
        request: the message of the request.
        answer: the message of the answer.
        questions: the questions, in order, each with slurmctld's result.
        unknown: the members of the request whose values are not known, such as those of a job from accounting.
    """

    time: float
    hook: str
    id: str
    hooks: str
    decided: str
    bugs: tuple[str, ...]
    request: bytes
    answer: bytes
    questions: tuple[tuple[bytes, bytes], ...] = ()
    unknown: frozenset[str] = frozenset()

    @property
    def messages(self) -> tuple[bytes, ...]:
        """All messages."""
        return (self.request, self.answer, *(each for pair in self.questions for each in pair))

    def encode(self) -> bytes:
        """Return the bytes, without what is unknown; see :func:`encode_partial`."""
        texts = [text.encode("utf-8", "surrogateescape") for text in (self.hook, self.id, self.hooks, self.decided)]
        bugs = "\n".join(self.bugs).encode("utf-8", "surrogateescape")
        return join((_TIME.pack(self.time), *texts, bugs, *self.messages))


def decode_recorded(data: bytes) -> Recorded:
    """Return what was encoded.

    Raises:
        RecordingError: it was not.
    """
    try:
        time, *rest = split(data)
        (seconds,) = _TIME.unpack(time)
        hook, id_, hooks, decided, bugs = (text.decode("utf-8", "surrogateescape") for text in rest[:5])
        request, answer, *exchanged = rest[5:]
    except (ValueError, error):
        raise RecordingError("a request is damaged") from None
    if len(exchanged) % 2:
        raise RecordingError("a question has no result")
    questions = tuple(zip(exchanged[::2], exchanged[1::2], strict=True))
    return Recorded(
        seconds, hook, id_, hooks, decided, tuple(bugs.split("\n")) if bugs else (), request, answer, questions
    )


def encode_partial(request: Recorded) -> bytes:
    """Return the bytes of a request of which only a part is known."""
    return join((" ".join(sorted(request.unknown)).encode(), request.encode()))


def decode_partial(data: bytes) -> Recorded:
    """Return what was encoded.

    Raises:
        RecordingError: it was not.
    """
    try:
        names, request = split(data)
        unknown = frozenset(names.decode().split())
    except ValueError:
        raise RecordingError("a request is damaged") from None
    return decode_recorded(request)._replace(unknown=unknown)


class Rows(NamedTuple):
    """All rows of a table of slurmctld at some time.

    Attributes:
        time: in seconds since the epoch.
        table: name of the struct.
        identity: of the tables that they were packed by.
        structs: the packed structs.
    """

    time: float
    table: str
    identity: int
    structs: tuple[bytes, ...]

    def encode(self) -> bytes:
        """Return the bytes."""
        head = (_TIME.pack(self.time), self.table.encode(), b"%016x" % self.identity)
        return join((*head, *self.structs))


def decode_rows(data: bytes) -> Rows:
    """Return what was encoded.

    Raises:
        RecordingError: it was not.
    """
    try:
        time, table, identity, *structs = split(data)
        return Rows(_TIME.unpack(time)[0], table.decode(), int(identity, 16), tuple(structs))
    except (ValueError, error):
        raise RecordingError("the rows of a table are damaged") from None


class UserFacts(NamedTuple):
    """Facts about a user that slurmctld knows, independent of a request: questions, each with slurmctld's result."""

    time: float
    questions: tuple[tuple[bytes, bytes], ...]

    def encode(self) -> bytes:
        """Return the bytes."""
        return join((_TIME.pack(self.time), *(each for pair in self.questions for each in pair)))


def decode_facts(data: bytes) -> UserFacts:
    """Return what was encoded.

    Raises:
        RecordingError: it was not.
    """
    try:
        time, *exchanged = split(data)
        return UserFacts(_TIME.unpack(time)[0], tuple(zip(exchanged[::2], exchanged[1::2], strict=True)))
    except (ValueError, error):
        raise RecordingError("the facts of a user are damaged") from None


def members_asked(asked: Message) -> tuple[int, ...]:
    """Return the members that the structs of the answer to a question have; none: all."""
    return next((tuple(array("I", value)) for tag, value in asked.items if tag == MEMBERS), ())


class Redaction:
    """Removes secrets from messages before they are recorded.

    A removed text looks like a text that was too long to be sent: reading it leads to a question, which the recording
    cannot answer, so a replay knows that the text was not recorded.
    """

    def __init__(self, tables: Tables, kept: Container[str] = ()) -> None:
        """Prepare for the tables of a build; ``kept`` are keys of SECRETS that are to be recorded."""
        self._tables = tables
        self._members = {name for secret, names in SECRETS.items() if secret not in kept for name in names}
        self._places = _places(tables, self._members)
        self._kept = _places(tables, {name for names in SECRETS.values() for name in names} - self._members)

    def kept_places(self, table: int) -> tuple[int, ...]:
        """Return the indices of those secret members of a table that are to be recorded."""
        return self._kept[table] if table < len(self._kept) else ()

    def request(self, message: bytes) -> bytes:
        """Return a request, or a result of rows, without the secrets."""
        if not self._members:
            return message
        decoded = decode(message, self._tables)
        items = tuple(
            (tag, self._struct(tag, value)) if tag < len(self._places) else (tag, value) for tag, value in decoded.items
        )
        return decoded._replace(items=items).encode(self._tables)

    def rows(self, table: str, structs: Iterable[bytes]) -> tuple[bytes, ...]:
        """Return the rows of a table without the secrets."""
        place = self._tables.place(table)
        return tuple(self._struct(place, struct) for struct in structs)

    def answer(self, message: bytes) -> bytes:
        """Return the answer to a request of job_submit without the secrets."""
        secret = self._places[0]
        decoded = decode(message, self._tables)
        items = tuple((tag, value) for tag, value in decoded.items if tag not in secret)
        return decoded._replace(items=items).encode(self._tables)

    def questions(self, questions: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[bytes, bytes], ...]:
        """Return questions and results without the secrets."""
        kept = []
        for question, result in questions:
            asked = decode(question, self._tables)
            if asked.type == Type.QUERY and not self._is_secret(asked):
                rows = asked.what in (What.ROW, What.ROWS, What.PAGE)
                kept.append((question, self.request(result) if rows else result))
        return tuple(kept)

    def _is_secret(self, asked: Message) -> bool:
        if asked.what == What.MEMBER:
            return asked.number in self._places[asked.table]
        if asked.what == What.COUNT:
            return any(place in self._places[asked.table] for place in members_asked(asked))
        return asked.what == What.FACT and asked.table == Fact.JOB_SCRIPT and "script" in self._members

    def _struct(self, place: int, data: bytes) -> bytes:
        """Return a packed struct without the secret texts."""
        table, secret = self._tables.tables[place], self._places[place]
        return blanked(table, data, secret) if secret else data


def _places(tables: Tables, members: Container[str]) -> list[tuple[int, ...]]:
    """Return for each table the indices of the given members, also of those in a nested struct (details.argv)."""
    return [
        tuple(index for index, member in enumerate(table.members) if member.name.rpartition(".")[2] in members)
        for table in tables.tables
    ]


def blanked(table: Table, data: bytes, places: Iterable[int]) -> bytes:
    """Return a packed struct in which the texts at the given indices are marked as deferred, and overwritten."""
    changed = bytearray(data)
    with memoryview(changed)[: 8 * len(table.members)].cast("Q") as slots:
        for place in places:
            slot = slots[place]
            if slot > DEFERRED:
                start, size = slot & 0xFFFFFFFF, slot >> 32
                if start < len(slots) * 8 or start + size > len(changed):
                    raise RecordingError(f"{table.members[place].name} lies outside of its message")
                changed[start : start + size] = bytes(size)
                slots[place] = DEFERRED
    return bytes(changed)
