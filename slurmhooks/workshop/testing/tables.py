# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of Slurm's structs, made from the rows of fields instead of Slurm's headers."""

from __future__ import annotations

from functools import cache
from typing import Any

from slurmhooks.fields import COUNTERS, TABLES
from slurmhooks.fields.number_rows import Time
from slurmhooks.fields.rows import Computed, Field, Names, Status, Strings, Text, Truth, release_of, rows
from slurmhooks.handlers.codes import stand_ins
from slurmhooks.wire.tables import WIDTHS, Member, Table, Tables


@cache
def tables_of(release: str) -> Tables:
    """Return the tables of a release; a row with several members uses the first.

    Raises:
        ValueError: the release is invalid.
    """
    parts = release.split(".")
    if len(parts) < 2 or not all(part.isdecimal() for part in parts[:2]):
        raise ValueError(f"not a release of Slurm: {release!r}; write one such as '24.11'")
    release = ".".join(parts[:2])  # micro releases have the same fields
    tables = tuple(_table(name, view, release) for name, view in TABLES.items())
    return Tables(release, "testing", tables, {"ESLURM": stand_ins()})


def code_of(number: int) -> str | int | None:
    """Return the error code that a handler gave as a number in an answer; None if it gave none."""
    names = stand_ins()
    if number == names["SLURM_ERROR"] % (1 << 32):
        return None
    return next((name for name, code in names.items() if code == number), number)


def _table(name: str, view: type, release: str) -> Table:
    kinds: dict[str, str] = {}
    writable: set[str] = set()
    for row in rows(view).values():
        member = None if isinstance(row, Computed) else row.member(release_of(release), row.members)
        if member is None:
            continue
        outer = member.rpartition(".")[0]
        while outer:
            kinds[outer] = "pointer"
            outer = outer.rpartition(".")[0]
        # The row of a single bit does not have the width of its member.
        kinds[member] = max(kinds.get(member, _kind(row)), _kind(row), key=lambda kind: WIDTHS.get(kind, 0))
        if row.writable:
            writable.add(member)
    if name == "job":
        kinds |= dict.fromkeys(COUNTERS, "texts")
        writable |= set(COUNTERS)
    elif name == "record":
        kinds["user_name"] = "text"
    return Table(name, tuple(Member(member, kind, member in writable) for member, kind in kinds.items()))


def _kind(row: Field[Any]) -> str:
    if isinstance(row, (Text, Names)):
        return "text"
    if isinstance(row, Strings):
        return "texts"
    if isinstance(row, Time):
        return "time"
    if isinstance(row, Truth):
        return "u8"
    if isinstance(row, Status):
        return "u32"
    return f"u{row.bits or 64}"
