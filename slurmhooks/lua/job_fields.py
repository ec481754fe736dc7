# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of requests and records for Lua scripts, made from the rows of slurmhooks.fields.

A field has the same name as its row, which says whether scripts can read or write it, and since which release. This
module describes fields for which Slurm's C code passes something other than the member.

Scripts get the values of the struct: NO_VAL is a number, and nice includes NICE_OFFSET.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from slurmhooks.fields import JobFields, PartitionFields, RecordFields, ReservationFields
from slurmhooks.fields.flag_rows import Bit
from slurmhooks.fields.number_rows import (
    AUTH_NOBODY,
    CORE_SPEC_THREAD,
    MEM_PER_CPU,
    NICE_OFFSET,
    Identity,
    Offset,
    Plain,
    Tagged,
    Time,
)
from slurmhooks.fields.rows import Computed, Field, Gres, Release, Strings, Text, Truth, release_of, rows
from slurmhooks.values import ENCODING, ERRORS, INFINITE, NO_VAL, UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slurmhooks.lua.runtime import LuaState
    from slurmhooks.slurmctld.model import Members


ARRAYS = ("argv", "spank_job_env")
"""Fields that are tables whose first index is 0."""
_VIEWS = {"job_desc": JobFields, "job_rec": RecordFields, "part": PartitionFields, "reservation": ReservationFields}


@cache
def names(kind: str, release: Release) -> Mapping[str, Field[Any]]:
    """Return the fields of a job_desc, job_rec, part or reservation that scripts can read or write, with their rows."""
    return {
        name: row
        for name, row in rows(_VIEWS[kind]).items()
        if (row.facts["lua"].reads(release) or row.facts["lua"].writes(release)) and _exists(row, release)
    }


def _exists(row: Field[Any], release: Release) -> bool:
    # Scripts can read max_nodes_orig even in releases without this member.
    until = None if row.name.endswith("_orig") else row.until
    return not (row.since and release_of(row.since) > release) and not (until and release_of(until) < release)


@cache
def writable(release: Release) -> frozenset[str]:
    """Return the fields of a request that a script can write."""
    return frozenset(name for name, row in names("job_desc", release).items() if row.facts["lua"].writes(release))


def readers(members: Mapping[str, str | None], release: Release) -> dict[bytes, Callable[[Members], Any]]:
    """Return the functions that read the fields of a request, by their names in bytes."""
    functions = {}
    for name, row in names("job_desc", release).items():
        member = members[name]
        if member is not None and not isinstance(row, Computed) and row.facts["lua"].reads(release):
            functions[name.encode()] = _reader(member, _decoder(row))
    return functions


def _reader(member: str, decode: Callable[[Any], Any]) -> Callable[[Members], Any]:
    def read(members: Members) -> Any:
        raw = members.get(member)
        return None if raw is None else decode(raw)

    return read


def _decoder(row: Field[Any]) -> Callable[[Any], Any]:
    """Return a function that converts a raw value to a Lua value."""
    if isinstance(row, Text):
        return bytes
    if isinstance(row, Tagged):
        tag, tagged, unset = row.tag, row.tagged, NO_VAL[row.bits]
        return lambda raw: float(raw & ~tag) if raw != unset and bool(raw & tag) == tagged else None
    if isinstance(row, Bit):
        bit = int(row.bit)
        return lambda raw: raw & bit != 0
    if row.name == "site_factor":
        return lambda raw: float(raw if raw == NO_VAL[32] else raw - NICE_OFFSET)
    if isinstance(row, Time):
        decode = row.decoder()
        return lambda raw: float(decode(raw))
    return float


def encoder(row: Field[Any], release: Release) -> Callable[[Any], Any]:
    """Return a function that converts bytes (of a text) or a float from Lua to the raw value of the member."""
    if isinstance(row, Gres):
        prefixed = row.encoder(release)
        return lambda raw: prefixed(raw.decode(ENCODING, ERRORS)) if raw else None
    if isinstance(row, Text):
        return lambda raw: raw or None
    bits = getattr(row, "bits", 64)
    if isinstance(row, Tagged) and row.tagged:
        tag = MEM_PER_CPU if bits == 64 else CORE_SPEC_THREAD
        return lambda value: to_c(value, bits) | tag
    if row.name == "site_factor":

        def offset(value: float) -> int:
            raw = to_c(value, 32)
            return raw if raw == NO_VAL[32] else (raw + NICE_OFFSET) & 0xFFFFFFFF

        return offset
    if row.name in ("begin_time", "end_time"):
        return lambda value: _truncated(value, 64) & (1 << 64) - 1
    return lambda value: to_c(value, bits)


def to_c(value: float, bits: int) -> int:
    """Convert a double to an unsigned integer as C does on x86-64; the C standard does not define all cases.

    Members of less than 32 bits are converted to an int first, others to a long. A value that does not fit into that
    type becomes the smallest number of the type.
    """
    if bits == 64 and value >= 1 << 63:
        return int(value) & (1 << 64) - 1 if value < 1 << 64 else 0
    return _truncated(value, 32 if bits < 32 else 64) & (1 << bits) - 1


def _truncated(value: float, width: int) -> int:
    limit = 1 << (width - 1)
    if not -limit - 1 < value < limit:
        return -limit
    return int(value)


class Reader:
    """A read-only record of slurmctld that Lua can index."""

    __slots__ = ("_getters", "_state", "_view")

    def __init__(self, getters: dict[bytes, Callable[[Any], Any]], view: Any, state: LuaState) -> None:
        self._getters = getters
        self._view = view
        self._state = state

    def __getitem__(self, name: object) -> Any:
        """Return the Lua value of a field."""
        if not isinstance(name, bytes):
            return None
        get = self._getters.get(name.partition(b"\0")[0])
        if get is None:
            return None
        try:
            value = get(self._view)
        except Exception as error:
            self._state.note(error)
            raise
        return self._state.value(value) if type(value) is dict else value


def getters(kind: str, release: Release) -> dict[bytes, Callable[[Any], Any]]:
    """Return the functions that read the fields of a view, by their names in bytes; they return dicts for tables."""
    functions: dict[bytes, Callable[[Any], Any]] = {}
    for name, row in names(kind, release).items():
        functions[name.encode()] = _special(kind, name) or _getter(row)
    if kind == "part" and release >= (26, 5):
        functions[b"max_nodes_orig"] = functions[b"max_nodes"]
        functions[b"min_nodes_orig"] = functions[b"min_nodes"]
    return functions


def _special(kind: str, name: str) -> Callable[[Any], Any] | None:
    """Return the function for a field for which Slurm passes something other than the row."""
    if kind == "job_rec":
        return {
            "user_name": lambda view: view.members().get("user_name"),  # record.user_name would look it up
            "job_state": lambda view: float(view.job_state | view.job_state_flags),
            "resizing": lambda view: float(view.resizing),
            "argv": lambda view: _table(view.argv, 1),
            "spank_job_env": lambda view: _table(view.spank_job_env, 0) or None,
        }.get(name)
    if kind == "part" and name == "flag_default":
        return lambda view: float(view.flag_default)
    return None


def _table(items: Iterable[str], first: int) -> dict[Any, Any]:
    return {float(index): item for index, item in enumerate(items, first)}


def _getter(row: Field[Any]) -> Callable[[Any], Any]:
    name = row.name
    if isinstance(row, (Text, Computed)) or type(row).__name__ == "Sluid":

        def text(view: Any) -> bytes | None:
            value = getattr(view, name)
            return None if value is None else value.encode(ENCODING, ERRORS)

        return text
    if isinstance(row, Bit):
        return lambda view: bool(getattr(view, name))
    if isinstance(row, Tagged):

        def tagged(view: Any) -> float | None:
            value = getattr(view, name)
            return None if value is None else float(value)

        return tagged
    if isinstance(row, Offset):
        is_raw = name == "nice"

        def offset(view: Any) -> float:
            value = getattr(view, name)
            return float(NO_VAL[32] if value is None else value + NICE_OFFSET if is_raw else value)

        return offset
    if isinstance(row, Truth):
        return lambda view: float(bool(getattr(view, name)))
    assert not isinstance(row, Strings)
    bits = getattr(row, "bits", 32) or 32
    unset = AUTH_NOBODY if isinstance(row, Identity) else NO_VAL[bits]
    # The record may lack the struct that contains the member: without array_recs, array_task_cnt does not exist.
    absent = type(row) in (Plain, Time)

    def number(view: Any) -> float | None:
        value = getattr(view, name)
        if value is None and absent:
            return None
        return float(unset if value is None else INFINITE[bits] if value is UNLIMITED else value)

    return number
