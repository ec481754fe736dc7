# SPDX-License-Identifier: GPL-2.0-or-later
"""Converts recorded messages for another release of Slurm, field by field and by name."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any

from slurmhooks.fields.rows import Computed, Gres, release_of, rows
from slurmhooks.job_submit.model import VIEWS
from slurmhooks.recording.request import Rows, UserFacts, members_asked
from slurmhooks.values import NO_VAL
from slurmhooks.wire.message import Message, Packed, decode, number_value, read_number
from slurmhooks.wire.protocol import DEFERRED, MEMBERS, PAGE_END, What
from slurmhooks.wire.tables import WIDTHS
from slurmhooks.workshop.testing.job_submit import unset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from slurmhooks.recording.request import Recorded
    from slurmhooks.wire.tables import Table, Tables
    from slurmhooks.workshop.recorded import Contents

NEW_GRES = (23, 11)
"""The first release that writes ``gres/gpu`` where older ones write ``gres:gpu``."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Fields of a request that only one of two releases has."""

    only_old: tuple[str, ...]
    only_new: tuple[str, ...]


class Conversions:
    """The messages of a recording, converted to the tables of one build."""

    def __init__(self, contents: Contents, tables: Tables) -> None:
        self._contents = contents
        self._tables = tables
        self._made: dict[int, Conversion | None] = {tables.identity: None}

    def _of(self, old: Tables) -> Conversion | None:
        if old.identity not in self._made:
            self._made[old.identity] = Conversion(old, self._tables)
        return self._made[old.identity]

    def request(self, request: Recorded) -> Recorded:
        """Return a recorded request. Raises RecordingError, MessageError."""
        conversion = self._of(self._contents.of(request.request))
        return request if conversion is None else conversion.recorded(request)

    def rows(self) -> Iterator[Rows]:
        """Yield the recorded tables. Raises RecordingError."""
        for each in self._contents.rows:
            conversion = (
                self._of(self._contents.tables[each.identity]) if each.identity in self._contents.tables else None
            )
            converted = each if conversion is None else conversion.rows(each)
            if converted is not None:
                yield converted

    def facts(self) -> Iterator[UserFacts]:
        """Yield the facts about users that slurmctld knew. Raises RecordingError, MessageError."""
        for each in self._contents.facts:
            conversion = self._of(self._contents.of(each.questions[0][0])) if each.questions else None
            yield each if conversion is None else UserFacts(each.time, conversion.questions(each.questions))


class Conversion:
    """Converts messages from the tables of one build to those of another."""

    def __init__(self, old: Tables, new: Tables) -> None:
        self.old = old
        self.new = new
        self._pairs = {table.name: _Pair(old, new, table.name) for table in old.tables if table.name in new}

    def difference(self) -> Difference:
        """Return which fields of a request only one of the releases has."""
        names = []
        for tables in (self.old, self.new):
            release, places = release_of(tables.release), tables["job"].places
            fields = rows(VIEWS["job"]).items()
            names.append({name for name, row in fields if row.member(release, places) is not None})
        return Difference(tuple(sorted(names[0] - names[1])), tuple(sorted(names[1] - names[0])))

    def recorded(self, request: Recorded) -> Recorded:
        """Convert a recorded request."""
        return request._replace(
            request=self._structs(decode(request.request, self.old)).encode(self.new),
            answer=self._answer(decode(request.answer, self.old)).encode(self.new),
            questions=self.questions(request.questions),
            unknown=self._pairs["job"].unknown(request.unknown),
        )

    def questions(self, questions: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[bytes, bytes], ...]:
        """Convert questions with their results, without questions that the new build cannot answer."""
        converted = []
        for question, result in questions:
            asked = self._question(decode(question, self.old))
            if asked is not None:
                converted.append((asked.encode(self.new), self._result(asked, decode(result, self.old))))
        return tuple(converted)

    def rows(self, rows: Rows) -> Rows | None:
        """Convert the rows of a table; None if the new build has no such table."""
        pair = self._pairs.get(rows.table)
        if pair is None:
            return None
        return Rows(rows.time, rows.table, self.new.identity, tuple(map(pair.struct, rows.structs)))

    def _structs(self, message: Message) -> Message:
        items = []
        for tag, value in message.items:
            if tag >= len(self.old.tables):
                items.append((tag, value))
            elif (pair := self._pairs.get(self.old.tables[tag].name)) is not None:
                # The structs of a count have no members.
                items.append((self.new.place(pair.new.name), pair.struct(value) if value else value))
        return message._replace(items=tuple(items))

    def _answer(self, message: Message) -> Message:
        codes = {number % (1 << 32): name for name, number in self.old.constants.get("ESLURM", {}).items()}
        numbers = self.new.constants.get("ESLURM", {})
        number = numbers.get(codes.get(message.code, ""), message.code if not codes else numbers.get("SLURM_ERROR", -1))
        items = []
        pair = self._pairs["job"]
        for tag, value in message.items:
            if tag >= len(pair.old.members):
                items.append((tag, value))
            elif (place := pair.place(tag)) is not None:
                items.append((place, pair.item(tag, place, value)))
        return Message(message.type, number % (1 << 32) if message.code else 0, items=tuple(items))

    def _question(self, asked: Message) -> Message | None:
        """Convert a question; None if the new build cannot answer it."""
        if asked.what == What.FACT:
            return asked
        pair = self._pairs.get(self.old.tables[asked.table].name)
        if pair is None:
            return None
        third, items = asked.number, list(asked.items)
        if asked.what == What.MEMBER:
            place = pair.place(asked.number)
            if place is None:
                return None
            third = place
        elif asked.what in (What.PAGE, What.COUNT):
            if members_asked(asked):
                return None
            places = [tag if tag in (PAGE_END, MEMBERS) else pair.place(tag) for tag, _ in items]
            if None in places:
                return None
            items = [(place or 0, value) for place, (_, value) in zip(places, items, strict=True)]
        return Message(asked.type, asked.what, self.new.place(pair.new.name), third, tuple(items))

    def _result(self, asked: Message, result: Message) -> bytes:
        rows = asked.what in (What.ROW, What.ROWS, What.PAGE, What.COUNT)
        return (self._structs(result) if rows else result).encode(self.new)


class _Pair:
    """One table in both builds."""

    def __init__(self, old: Tables, new: Tables, name: str) -> None:
        self.old: Table = old[name]
        self.new: Table = new[name]
        releases = release_of(old.release), release_of(new.release)
        member_of: dict[str, str] = {name: name for name in self.new.places if name in self.old.places}
        gres: set[str] = set()
        empty: dict[str, Any] = {}
        for row in rows(VIEWS[name]).values():
            if isinstance(row, Computed):
                continue
            before, after = row.member(releases[0], self.old.places), row.member(releases[1], self.new.places)
            if after is None:
                continue
            if before is not None:
                member_of.setdefault(after, before)
            elif after not in member_of:
                empty[after] = unset(row)
            if isinstance(row, Gres) and (releases[0] >= NEW_GRES) != (releases[1] >= NEW_GRES):
                gres.add(after)
        self._gres = (b"gres:", b"gres/") if releases[1] >= NEW_GRES else (b"gres/", b"gres:")
        self._plan: list[tuple[int | None, int | bytes | None, Callable[[bytes], bytes] | None]] = []
        self._by_old: dict[int, int] = {}
        for place, member in enumerate(self.new.members):
            source = member_of.get(member.name)
            at = None if source is None else self.old.places[source]
            if at is not None and not _alike(self.old.members[at].kind, member.kind):
                at = None
            if at is not None:
                self._by_old.setdefault(at, place)
            value = empty.get(member.name)
            number = value if isinstance(value, int) else 0
            self._plan.append((at, number, self._renamed if member.name in gres else None))

    def place(self, old: int) -> int | None:
        """Return the index of a member in the new table, or None."""
        return self._by_old.get(old)

    def unknown(self, members: frozenset[str]) -> frozenset[str]:
        """Return the members of the new table that are made from unknown ones."""
        if not members:
            return members
        pairs = ((self.new.members[place].name, at) for place, (at, _, _) in enumerate(self._plan) if at is not None)
        return frozenset(name for name, at in pairs if self.old.members[at].name in members)

    def item(self, old: int, new: int, value: bytes) -> bytes:
        """Convert the value of an item that assigns a value to a member."""
        kinds = self.old.members[old].kind, self.new.members[new].kind
        if kinds[1] in WIDTHS:
            return number_value(_resized(read_number(value), *kinds))
        change = self._plan[new][2]
        return value if change is None else change(value)

    def struct(self, data: bytes) -> bytes:
        """Convert a packed struct."""
        packed = Packed(self.old, data)
        slots, texts = [0] * len(self._plan), []
        start = 8 * len(slots)
        for place, (at, empty, change) in enumerate(self._plan):
            kind = self.new.members[place].kind
            if at is None:
                slots[place] = empty if isinstance(empty, int) else 0
            elif kind in WIDTHS:
                slots[place] = _resized(packed.slots[at], self.old.members[at].kind, kind)
            elif packed.slots[at] <= DEFERRED:
                slots[place] = packed.slots[at]
            else:
                text = packed.value(at) or b""
                text = text if change is None else change(text)
                slots[place] = len(text) << 32 | start
                start += len(text)
                texts.append(text)
            via = self.new.via[place] if slots[place] and at is not None else None
            while via is not None:
                slots[via], via = 1, self.new.via[via]
        return b"".join([memoryview(Struct(f"={len(slots)}Q").pack(*slots)), *texts])

    def _renamed(self, text: bytes) -> bytes:
        return text.replace(*self._gres)


def _alike(old: str, new: str) -> bool:
    """Tell whether members of two kinds can have the same values."""
    return old == new or (old in WIDTHS and new in WIDTHS and "pointer" not in (old, new))


def _resized(raw: int, old: str, new: str) -> int:
    """Convert a number to another width; the values for unset and unlimited keep their meanings."""
    widths = WIDTHS[old], WIDTHS[new]
    if widths[0] == widths[1]:
        return raw
    for sentinel in (0, 1):
        if all(width in NO_VAL for width in widths) and raw == NO_VAL[widths[0]] + sentinel:
            return NO_VAL[widths[1]] + sentinel
    return min(raw, (1 << widths[1]) - 1)
