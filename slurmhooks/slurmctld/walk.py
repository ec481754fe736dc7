# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of a table: slurmctld sends the members that handlers have read before, and is asked for others in bulk.

A row never has a text of more than SHORT bytes: what one user has written must not decide what it costs to go through
the jobs of all. Such a text is asked for when a handler reads it, together with those of the rows after it: first one,
then twice as many as before. What has been asked for is given up again once it takes much memory.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from slurmhooks.errors import StaleHandleError
from slurmhooks.fields import KEYS
from slurmhooks.slurmctld.asking import Struct
from slurmhooks.wire.message import Packed, number_value, text_value
from slurmhooks.wire.protocol import DEFERRED, MEMBERS, What
from slurmhooks.wire.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slurmhooks.fields.rows import Condition
    from slurmhooks.slurmctld.asking import Asking
    from slurmhooks.wire.message import Raw

KEPT = 4 << 20
"""Bytes of members that were asked for later and are kept, before the next answer."""
MOST_ROWS = 2048
"""Rows of which a member is asked for at once; slurmctld answers for fewer if they are large."""
SPARSE = ("record", "node")
"""The tables that may have so many rows that not all their members are sent."""
OTHER_LOCKS = ("license", "qos", "association")
"""The tables whose rows may come and go during a call, because slurmctld does not hold their locks meanwhile."""
SAME = {"record": "details.submit_time"}
"""The member besides the key that tells whether a row is still of the same object, by the name of its table."""
REPEATED = {"record": ("user_id", "restart_cnt")}
"""The members that tell whether it nevertheless is: a job that was requeued has a new time of submission."""


class GoneError(StaleHandleError):
    """A job has ended, and slurmctld has removed it, before one of its long texts was read."""


def with_pointers(table: Table, members: Iterable[str]) -> tuple[int, ...]:
    """Return the places of members, and of the pointers through which they are reached."""
    places: set[int | None] = set()
    for member in members:
        place: int | None = table.places[member]
        while place is not None:
            places.add(place)
            place = table.via[place]
    return tuple(sorted(place for place in places if place is not None))


def part_of(table: Table, places: Iterable[int]) -> Table:
    """Return a table that has only some members.

    Raises:
        IndexError: there is no such member.
    """
    return Table(table.name, tuple(table.members[place] for place in places))


class ReadMembers:
    """Which members of the rows of a table handlers have read, as long as the process lives.

    Attributes:
        whole: the table.
        always: members that each row has: its key, and what SAME says.
        places: of all these members.
    """

    def __init__(self, whole: Table) -> None:
        self.whole = whole
        self.always = [KEYS.get(whole.name, "name"), *filter(None, [SAME.get(whole.name)])]
        self.places = with_pointers(whole, self.always)
        self._sent: Table | None = None

    def note(self, member: str) -> None:
        """Note that a handler has read a member."""
        if self.whole.places[member] not in self.places:
            self.places = tuple(sorted({*self.places, *with_pointers(self.whole, [member])}))
            self._sent = None

    @property
    def sent(self) -> Table:
        """The table of rows that have these members."""
        if self._sent is None:
            self._sent = part_of(self.whole, self.places)
        return self._sent


class Walk:
    """The rows of one question, in the order in which they came, with the members that slurmctld sends."""

    def __init__(self, asking: Asking, read: ReadMembers, sent: Table | None = None) -> None:
        """Prepare.

        Members that handlers have read are in ``read``; more are noted. ``sent`` has those that the rows have; by
        default all.
        """
        self.whole = read.whole
        self.sent = sent or read.whole
        self.rows: list[Row] = []
        self.asking = asking
        self._read = read
        self._key = read.always[0]
        self._found: dict[tuple[int, str], Packed | None] = {}
        self._size = 0
        self._batches: dict[str, int] = {}

    def add(self, data: bytes) -> Row:
        """Return the row of a packed struct."""
        row = Row(self, len(self.rows), data)
        self.rows.append(row)
        return row

    def one(self, key: int | bytes) -> Row | None:
        """Ask for the row of a key; return None if there is none."""
        found = self.asking.row(self.whole.name, key)
        return None if found is None else self.add(found.data)

    def ask(self, conditions: Mapping[str, Condition] = {}) -> Iterator[Row]:
        """Ask for the rows: all, or those whose members meet conditions, each once."""
        key = self._key
        seen: set[Raw] = set()
        place = self.asking.tables.place(self.whole.name)
        wanted = [] if self.sent is self.whole else [members_item(self._read.places)]
        items = [*wanted, *self.asking.conditions(self.whole, conditions)]
        for number, (page, is_last) in enumerate(self.asking.pages(place, items)):
            for data in self.asking.structs(page, place):
                row = self.add(data)
                # If records have gone since the page before, slurmctld may repeat rows.
                if number or not is_last:
                    if row.raw(key) in seen:
                        self.rows.pop()
                        continue
                    seen.add(row.raw(key))
                yield row

    def later(self, row: Row, member: str) -> Packed:
        """Return a struct that has a member that a row lacks, or of which it lacks the long text.

        Raises:
            GoneError: the row no longer exists, or is of another job.
        """
        if member not in self.sent.places:
            self._read.note(member)
        if (row.at, member) not in self._found:
            self._ask_later(row.at, member)
        found = self._found[row.at, member]
        if found is None:
            raise GoneError(
                f"{self.whole.name} {row.raw(self._key)!r} has ended before its {member.rpartition('.')[2]} was read"
            )
        return found

    def _ask_later(self, at: int, member: str) -> None:
        if self._size > KEPT:
            self._found.clear()
            self._size = 0
        size = self._batches[member] = min(2 * self._batches.get(member, 0) or 1, MOST_ROWS)
        rows = self.rows[at : at + size]
        table, wanted = self.whole, []
        if self.asking.sparse:
            places = with_pointers(self.whole, [*self._read.always, *REPEATED.get(self.whole.name, ()), member])
            table, wanted = part_of(self.whole, places), [members_item(places)]
        place = self.asking.tables.place(self.whole.name)
        result = self.asking.ask(What.ROWS, place, 0, *wanted, *((0, _key(row.raw(self._key))) for row in rows))
        by_key: dict[Raw, Packed] = {}
        for data in self.asking.structs(result.items, place):
            struct = Packed(table, data)
            by_key[struct.raw(self._key)] = struct
            self._size += len(data)
        for row in rows[: result.next or None]:
            found = by_key.get(row.raw(self._key))
            self._found[row.at, member] = found if found is not None and self._is_same(row, found) else None
        if (at, member) not in self._found:  # a worker that loops forever would be worse
            self._found[at, member] = None

    def _is_same(self, row: Row, found: Packed) -> bool:
        if all(row.raw(name) == found.raw(name) for name in self._read.always if name in self.sent.places):
            return True
        if self.sent is not self.whole or self.whole.name not in REPEATED:
            return False
        user, count = ((row.raw(name), found.raw(name)) for name in REPEATED[self.whole.name])
        return user[0] == user[1] and _number(count[0]) < _number(count[1])


def members_item(places: Iterable[int]) -> tuple[int, bytes]:
    """Return the item of a question that says which members the answer is to have."""
    return MEMBERS, array("I", places).tobytes()


def _key(raw: Raw) -> bytes:
    return number_value(raw) if isinstance(raw, int) else text_value(raw if isinstance(raw, bytes) else None)


def _number(raw: Raw) -> int:
    return raw if isinstance(raw, int) else 0


class Row(Struct):
    """A row of a table, with its index in the walk that it came with."""

    __slots__ = ("at", "walk")

    def __init__(self, walk: Walk, at: int, data: bytes) -> None:
        Struct.__init__(self, walk.sent, data, walk.asking)
        self.walk = walk
        self.at = at

    @property
    def whole(self) -> Table:
        """See Struct."""
        return self.walk.whole

    def is_set(self, member: str) -> bool:
        """See Packed."""
        return super().is_set(member) if member in self.table.places else self.walk.later(self, member).is_set(member)

    def raw(self, member: str) -> Raw:
        """See Packed."""
        return super().raw(member) if member in self.table.index else self.walk.later(self, member).raw(member)

    def span(self, place: int) -> tuple[bytes, int, int] | None:
        """See Packed."""
        if self.slots[place] != DEFERRED:
            return super().span(place)
        member = self.table.members[place].name
        later = self.walk.later(self, member)
        return later.span(later.table.places[member])
