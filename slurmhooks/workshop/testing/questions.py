# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers questions about rows of tables as native/slurmctld/pages.c does, from packed structs."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from slurmhooks.fields import KEYS
from slurmhooks.slurmctld.walk import part_of
from slurmhooks.wire.message import Packed, number_value, pack, read_number, read_text
from slurmhooks.wire.protocol import MEMBERS, TALLY, What

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slurmhooks.fields.rows import Condition
    from slurmhooks.wire.message import Message, Raw
    from slurmhooks.wire.tables import Member, Table

    Item = tuple[int, bytes]

ABOUT_ROWS = (What.ROW, What.ROWS, What.PAGE, What.COUNT)
"""The questions that :func:`answer` answers."""
SETS = {("node", "partitions")}
"""Tables with the members that name the sets to which a row belongs, see native/slurmctld/records.h."""
TASKS = "array_recs.task_cnt"


def answer(
    asked: Message, table: Table, row: Callable[[Raw], bytes | None], every: Callable[[], Iterable[bytes]]
) -> list[Item]:
    """Return the items of the answer to a question."""
    if asked.what in (What.ROW, What.ROWS):
        keys = [_key(table, value) for tag, value in asked.items if tag != MEMBERS] or [asked.number]
        structs: Iterable[bytes] = filter(None, map(row, keys))
    else:
        conditions = {
            table.members[tag].name: condition_of(table.members[tag], value)
            for tag, value in asked.items
            if tag != MEMBERS
        }
        structs = (data for data in every() if fulfils(Packed(table, data), conditions))
    members = next((value for tag, value in asked.items if tag == MEMBERS), None)
    places = None if members is None else array("I", members)
    if asked.what != What.COUNT:
        return [(asked.table, data if places is None else part(table, data, places)) for data in structs]
    counted: dict[bytes, list[int]] = {}
    for data in structs:
        tally = counted.setdefault(part(table, data, places or ()), [0, 0])
        tally[0] += 1
        tally[1] += tasks(Packed(table, data))
    return [
        item
        for data, tally in counted.items()
        for item in ((asked.table, data), (TALLY, b"".join(map(number_value, tally))))
    ]


def part(table: Table, data: bytes, places: Iterable[int]) -> bytes:
    """Return a packed struct that has only some members."""
    some = part_of(table, places)
    whole = Packed(table, data)
    raws = {member.name: whole.raw(member.name) for member in some.members}
    return pack(some, {name: raw for name, raw in raws.items() if raw is not None})


def tasks(struct: Packed) -> int:
    """Return as how many jobs a struct counts."""
    waiting = struct.raw(TASKS) if TASKS in struct.table.places else 0
    return waiting if isinstance(waiting, int) and waiting else 1


def _key(table: Table, value: bytes) -> Raw:
    return read_number(value) if table.name in KEYS else read_text(value)


def fulfils(struct: Packed, conditions: Mapping[str, Condition]) -> bool:
    """Tell whether a struct meets conditions, as native/slurmctld/selection.c does."""
    for member, condition in conditions.items():
        raw: Any = struct.raw(member)
        if (struct.table.name, member) in SETS:
            if condition not in (raw or b"").split(b","):
                return False
        elif raw != condition if isinstance(condition, bytes) else ((raw or 0) & condition[1]) != condition[0]:
            return False
    return True


def condition_of(member: Member, value: bytes) -> Condition:
    """Return the condition on a member, as questions have it."""
    if member.kind == "text":
        return read_text(value) or b""
    return read_number(value[:8]), read_number(value[8:])
