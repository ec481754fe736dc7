# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads and writes the messages of native/wire/wire.h: a header, then items.

Raw values are those of C: numbers are ints, a text is bytes, texts are a list of bytes, None is a null pointer.
Everything that is received is checked when it is read; invalid data raises :class:`MessageError`.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks.errors import SlurmhooksError
from slurmhooks.wire.protocol import DEFERRED, MAGIC, MAX_MESSAGE, TEXT_FOR_USER, Type
from slurmhooks.wire.tables import WIDTHS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from slurmhooks.wire.tables import Table, Tables

    Raw = int | bytes | list[bytes] | None

_HEADER = Struct("=4sIQIIII")
_ITEM = Struct("=II")
_NUMBER = Struct("=Q")
_NUMBER_ITEM = Struct("=IIQ")
_HEADER_SIZE, _ITEM_SIZE = _HEADER.size, _ITEM.size
_PADDINGS = tuple(bytes(-length % 8) for length in range(8))
"""What follows a value, by its length modulo 8."""
_TYPES = {int(kind): kind for kind in Type}
_ANSWER = Type.ANSWER  # in Python 3.11, each look-up in an enumeration takes long


class MessageError(SlurmhooksError):
    """A message is damaged, or made with the tables of another build."""


def text_value(raw: bytes | None) -> bytes:
    """Return an item's value for a text; an empty value for None.

    Raises:
        ValueError: the text has a NUL byte.
    """
    if raw is None:
        return b""
    if 0 in raw:
        raise ValueError(f"a text of C has no NUL byte: {raw!r}")
    return raw + b"\0"


def texts_value(raw: Iterable[bytes] | None) -> bytes:
    """Return an item's value for texts; an empty value for None and for no texts. Raises as :func:`text_value`."""
    return b"".join(map(text_value, raw or ()))


number_value: Callable[[int], bytes] = _NUMBER.pack
"""Returns an item's value for a number."""


def condition_value(condition: bytes | tuple[int, int]) -> bytes:
    """Return an item's value for a condition on a member: a text, or a number with a mask of the bits to compare."""
    return text_value(condition) if isinstance(condition, bytes) else b"".join(map(number_value, condition))


def read_text(value: bytes) -> bytes | None:
    """Return the text of an item's value, or None.

    Raises:
        MessageError: the value is not a text.
    """
    if not value:
        return None
    if value.find(b"\0") != len(value) - 1:
        raise MessageError("an item is not a text")
    return value[:-1]


def read_texts(value: bytes) -> list[bytes]:
    """Return the texts of an item's value. Raises as :func:`read_text`."""
    if value and value[-1]:
        raise MessageError("the last text of an item has no end")
    return value.split(b"\0")[:-1]


def read_number(value: bytes) -> int:
    """Return the number of an item's value. Raises as :func:`read_text`."""
    if len(value) != _NUMBER.size:
        raise MessageError(f"a number of {len(value)} bytes")
    number: int = _NUMBER.unpack(value)[0]
    return number


class Packed:
    """A packed struct: members are decoded when they are read.

    Attributes:
        table: of its members.
        data: slots and texts.
        slots: for each member, its number, or the position of its text.
    """

    __slots__ = ("_fetch", "data", "slots", "table")

    def __init__(self, table: Table, data: bytes, fetch: Callable[[int], bytes] | None = None) -> None:
        """Store the packed struct.

        Raises:
            MessageError: the data is too short.
        """
        size = table.size
        if len(data) < size:
            raise MessageError(f"a struct of {len(data)} bytes is shorter than table {table.name}")
        self.table = table
        self.slots: Sequence[int] = memoryview(data)[:size].cast("Q")
        self.data = data
        self._fetch = fetch

    def is_set(self, member: str) -> bool:
        """Tell whether a text, texts or a pointer is not NULL."""
        return bool(self.slots[self.table.places[member]])

    def deferred(self) -> list[int]:
        """Return the indices of the members that are set, but too long to be sent unasked."""
        return [
            place
            for place, member in enumerate(self.table.members)
            if member.kind in ("text", "texts") and self.slots[place] == DEFERRED
        ]

    def value(self, place: int) -> bytes | None:
        """Return the item's value for a text or texts; None for a null pointer."""
        span = self.span(place)
        if span is None:
            return None
        data, start, end = span
        return data[start:end]

    def span(self, place: int) -> tuple[bytes, int, int] | None:
        """Return bytes that contain the item's value for a text or texts, its start and its end; see :meth:`value`."""
        slot = self.slots[place]
        if not slot:
            return None
        if slot == DEFERRED:
            if self._fetch is None:
                raise MessageError(f"{self.table.members[place].name} is deferred, and nobody can be asked for it")
            value = self._fetch(place)
            return value, 0, len(value)
        start = slot & 0xFFFFFFFF
        end = start + (slot >> 32)
        if end > len(self.data) or start < self.table.size:
            raise MessageError(f"{self.table.members[place].name} lies outside of its message")
        return self.data, start, end

    def text(self, place: int) -> bytes | None:
        """Return the text of a member, or None."""
        slot = self.slots[place]
        if not slot:
            return None
        start = slot & 0xFFFFFFFF
        last = start + (slot >> 32) - 1
        data = self.data
        if start <= last < len(data) and not data[last]:
            text = data[start:last]
            if 0 not in text:
                return text
        # Deferred, or damaged.
        value = self.value(place)
        if not value or value.find(b"\0") != len(value) - 1:
            raise MessageError(f"{self.table.members[place].name} is not a text")
        return value[:-1]

    def texts(self, place: int) -> list[bytes]:
        """Return the texts of a member; none for a null pointer."""
        value = self.value(place)
        return [] if value is None else read_texts(value)

    def raw(self, member: str) -> Raw:
        """Return a member of any kind; None if it, or the pointer to its struct, is NULL."""
        place, via, kind = self.table.index[member]
        if via is not None and not self.slots[via]:
            return None
        if kind == "text":
            return self.text(place)
        return self.texts(place) if kind == "texts" else self.slots[place]


def pack(table: Table, values: Mapping[str, Raw], others: Iterable[int] | None = None) -> bytes:
    """Pack raw values, which are given by member.

    A pointer is set if it is given, or if a member behind it is.

    ``others`` are the numbers of all members, for those that are not given; by default 0 or None.

    Raises:
        KeyError: the table has no such member.
        ValueError: a number does not fit, or a text has a NUL byte.
        TypeError: a value is not of the member's kind.
    """
    slots = [0] * len(table.members) if others is None else list(others)
    start, texts = _NUMBER.size * len(slots), []
    for name, value in values.items():
        place = table.places[name]
        kind, via = table.members[place].kind, table.via[place]
        while via is not None:
            slots[via], via = 1, table.via[via]
        if kind in WIDTHS:
            if not isinstance(value, int):
                raise TypeError(f"{name} takes an int, not {value!r}")
            slots[place] = value % (1 << 64) if kind == "time" else value
            if slots[place] >> WIDTHS[kind]:
                raise ValueError(f"{name} takes {WIDTHS[kind]} bits, not {value}")
        elif value is not None:
            if isinstance(value, int) or (kind == "text") != isinstance(value, bytes):
                raise TypeError(f"{name} takes {kind}, not {value!r}")
            text = text_value(value) if isinstance(value, bytes) else texts_value(value)
            slots[place] = len(text) << 32 | start
            start += len(text)
            texts.append(text)
    return b"".join([memoryview(Struct(f"={len(slots)}Q").pack(*slots)), *texts])


class Message(NamedTuple):
    """A message. The numbers of its header have names that depend on its type, as in native/wire/wire.h.

    Attributes:
        type: of the message.
        first: the first number of its header: hook, code, what, status.
        second: the second: sender, table, next.
        third: the third: owner, number.
        items: tag and value of each.
    """

    type: Type
    first: int = 0
    second: int = 0
    third: int = 0
    items: tuple[tuple[int, bytes], ...] = ()

    @property
    def hook(self) -> int:
        """Of a request: the number of the hook at its plugin point."""
        return self.first

    @property
    def code(self) -> int:
        """Of an answer: the return code for Slurm, as 32 bits; 0 lets the request pass."""
        return self.first

    @property
    def what(self) -> int:
        """Of a query: one of What."""
        return self.first

    @property
    def status(self) -> int:
        """Of a result: one of Status."""
        return self.first

    @property
    def sender(self) -> int:
        """Of a request: the user id of who asks; 0 if nobody does."""
        return self.second

    @property
    def table(self) -> int:
        """Of a query: the number of a table; one of Fact if it asks for a fact."""
        return self.second

    @property
    def next(self) -> int:
        """Of a result: where the next page begins; 0: this was the last one."""
        return self.second

    @property
    def owner(self) -> int:
        """Of a request: the user id of the owner of the job; 0 if there is none."""
        return self.third

    @property
    def number(self) -> int:
        """Of a query: a member, the key of a row, the start of a page, a user id or a job id."""
        return self.third

    def encode(self, tables: Tables) -> bytes:
        """Return the bytes.

        Raises:
            ValueError: the message would exceed the limit.
        """
        kind, first, second, third, items = self
        parts: list[bytes] = []
        for tag, value in items:
            length = len(value)
            parts += (_ITEM.pack(tag, length), value, _PADDINGS[length & 7])
        return _whole(tables, kind, parts, first, second, third)


def _whole(tables: Tables, kind: Type, parts: list[bytes], first: int, second: int = 0, third: int = 0) -> bytes:
    """Return the bytes of a message from those of its items; see :meth:`Message.encode`."""
    data = b"".join(parts)
    size = _HEADER_SIZE + len(data)
    if size > MAX_MESSAGE:
        raise ValueError(f"a message of {size} bytes; {MAX_MESSAGE} is the limit")
    return _HEADER.pack(MAGIC, kind, tables.identity, size, first, second, third) + data


def identity_of(data: bytes) -> int:
    """Return the identity of the tables that a message was made with.

    Raises:
        MessageError: the data is not a message.
    """
    if len(data) < _HEADER.size or not data.startswith(MAGIC):
        raise MessageError("not a message of slurmhooks")
    identity: int = _HEADER.unpack_from(data)[2]
    return identity


def decode(data: bytes, tables: Tables) -> Message:
    """Decode a message. Raises as :func:`fields`."""
    kind, first, second, third, items = fields(data, tables)
    return Message(kind, first, second, third, tuple(items))


def fields(data: bytes, tables: Tables) -> tuple[Type, int, int, int, list[tuple[int, bytes]]]:
    """Return the attributes of a message as a plain tuple: a worker needs no Message for a request.

    Raises:
        MessageError: the data is not a message, or was made with other tables.
    """
    end = len(data)
    if not _HEADER_SIZE <= end <= MAX_MESSAGE:
        raise MessageError(f"a message of {end} bytes")
    magic, type_, identity, size, first, second, third = _HEADER.unpack_from(data)
    if magic != MAGIC or size != end:
        raise MessageError("not a message of slurmhooks, or not all of it")
    if identity != tables.identity:
        raise MessageError(f"made with the tables {identity:016x}; this is {tables.identity:016x}: rebuild both sides")
    kind = _TYPES.get(type_)
    if kind is None:
        raise MessageError(f"a message of the unknown type {type_}")
    items: list[tuple[int, bytes]] = []
    position = _HEADER_SIZE
    while position < end:
        start = position + _ITEM_SIZE
        if start > end:
            raise MessageError("the message ends within an item")
        tag, length = _ITEM.unpack_from(data, position)
        position = start + (length + 7 & ~7)
        if position > end:
            raise MessageError("the message ends within an item")
        items.append((tag, data[start : start + length]))
    return kind, first, second, third, items


def answer(tables: Tables, code: int, text: bytes | None = None, writes: Mapping[str, Any] | None = None) -> bytes:
    """Return the bytes of the answer to a request.

    A ``code`` of 0 lets the request pass. ``writes`` are raw values by member of the job, its first table; empty unless
    the code is 0.

    Raises:
        ValueError: the message would exceed the limit.
    """
    parts: list[bytes] = []
    if text is not None:
        value = text_value(text)
        parts += (_ITEM.pack(TEXT_FOR_USER, len(value)), value, _PADDINGS[len(value) & 7])
    if writes:
        index = tables.tables[0].index
        for member, raw in writes.items():
            place, _, kind = index[member]
            if kind in WIDTHS:
                parts.append(_NUMBER_ITEM.pack(place, _NUMBER.size, raw))
                continue
            value = text_value(raw) if kind == "text" else texts_value(raw)
            length = len(value)
            parts.append(_ITEM.pack(place, length) + value + _PADDINGS[length & 7])
    return _whole(tables, _ANSWER, parts, code % (1 << 32))
