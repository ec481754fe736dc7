# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of job_submit's records as a Lua script sees them, made from the rows of slurmhooks.job_submit.fields.

A row's name is Lua's. Only what differs stands here: which rows scripts cannot reach, since when they can, which they
cannot write, and where Slurm's C code hands over something else than the member.

Scripts see what is in the struct: NO_VAL is a number, nice is counted from NICE_OFFSET.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from slurmhooks.job_submit.fields import JobFields, PartitionFields, RecordFields, ReservationFields
from slurmhooks.job_submit.rows import (
    AUTH_NOBODY,
    CORE_SPEC_THREAD,
    MEM_PER_CPU,
    NICE_OFFSET,
    Bit,
    Computed,
    Field,
    Gres,
    Identity,
    Offset,
    Plain,
    Strings,
    Tagged,
    Text,
    Time,
    Truth,
    rows,
)
from slurmhooks.values import ENCODING, ERRORS, INFINITE, NO_VAL, UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Release = tuple[int, int]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What scripts cannot reach: job_submit_lua.c and slurm_lua.c do not know these names.
_NO_DESC = _words(
    "alloc_resp_port alloc_sid alloc_tls_cert cluster_features container_id container_type cpu_bind cpu_bind_type"
    " deadline env_size fed_siblings_active fed_siblings_viable group_name groups job_id job_id_str job_size_str"
    " kill_on_node_fail licenses_tot mem_bind mem_bind_type mem_update_delay mem_update_margin oom_kill_step open_mode"
    " origin_cluster other_port overcommit plane_size profile resp_host restart_cnt resv_port_cnt sluid submit_line"
    " task_dist task_dist_flags wait_all_nodes warn_flags warn_signal warn_time x11 x11_magic_cookie x11_target"
    " x11_target_port"
)
_NO_RECORD = _words(
    "batch_flag begin_time bitflags container_id cpus_per_task deadline job_state_flags mail_type mail_user network"
    " num_tasks prefer req_nodes requeue state_desc state_reason submit_line system_comment"
)
_NO_PARTITION = _words("grace_time tres_fmt_str")
_NO_RESERVATION = _words("burst_buffer comment groups name tres_fmt_str")

_READ_ONLY = _words("boards_per_node network ntasks_per_board ntasks_per_core req_context sockets_per_board")
"""Writable in Python, not in Lua."""

# First release whose Lua knows the name, where the member is older.
_SINCE_DESC = {
    "assoc_comment": (23, 2),
    "assoc_qos": (24, 11),
    "core_spec": (26, 5),
    "mcs_label": (23, 11),
    "segment_size": (25, 11),
    "thread_spec": (26, 5),
}
_SINCE_RECORD = {
    "core_spec": (26, 5),
    "curr_dependency": (24, 5),
    "extra": (23, 2),
    "mcs_label": (23, 11),
    "orig_dependency": (24, 5),
    "original_sluid": (26, 5),
    "segment_size": (25, 11),
    "sluid": (26, 5),
    "thread_spec": (26, 5),
}
_SINCE_PARTITION = {"max_cpus_per_socket": (23, 2)}
READABLE_SINCE = {"selinux_context": (23, 2)}
"""Until then a script can only write it."""

ARRAYS = ("argv", "spank_job_env")
"""Tables whose first index is 0."""
BESIDES = (*ARRAYS, "environment")
"""What a request has beside its rows."""


def names(kind: str, release: Release) -> dict[str, Field[Any]]:
    """Return the fields that a script can read or write, with their rows.

    Args:
        kind: ``job_desc``, ``job_rec``, ``part`` or ``reservation``.
        release: of Slurm.
    """
    view, hidden, since = {
        "job_desc": (JobFields, _NO_DESC, _SINCE_DESC),
        "job_rec": (RecordFields, _NO_RECORD, _SINCE_RECORD),
        "part": (PartitionFields, _NO_PARTITION, _SINCE_PARTITION),
        "reservation": (ReservationFields, _NO_RESERVATION, {}),
    }[kind]
    return {
        name: row
        for name, row in rows(view).items()
        if name not in hidden and since.get(name, release) <= release and _exists(row, release)
    }


def _exists(row: Field[Any], release: Release) -> bool:
    def number(text: str) -> Release:
        year, month = text.split(".")
        return int(year), int(month)

    # Where the C member has gone, scripts still read max_nodes_orig.
    until = None if row.name.endswith("_orig") else row.until
    return not (row.since and number(row.since) > release) and not (until and number(until) < release)


def writable(release: Release) -> frozenset[str]:
    """Return the fields of a request that a script can write."""
    known = names("job_desc", release)
    return frozenset(name for name, row in known.items() if row.writable and name not in _READ_ONLY)


def readers(string: Callable[[Any], bytes], members: Callable[[Field[Any]], str | None], release: Release) -> Any:
    """Return the functions that read a request, by name in bytes.

    Args:
        string: returns the bytes of a text member that is set.
        members: returns the member that a row reads in this release, or None.
        release: of Slurm.
    """
    found = {}
    for name, row in names("job_desc", release).items():
        member = members(row)
        if member is None or isinstance(row, Computed) or READABLE_SINCE.get(name, release) > release:
            continue
        found[name.encode()] = _reader(row, member, string)
    return found


def _reader(row: Field[Any], member: str, string: Callable[[Any], bytes]) -> Any:
    """Return a function written out as source, as rows.bind does: scripts mostly read fields."""
    raw = f"writes[{member!r}] if {member!r} in writes else struct.{member}"
    if isinstance(row, Text):
        lines = [
            f"if {member!r} in writes:",
            f"    return writes[{member!r}]",
            f"raw = struct.{member}",
            "return string(raw) if raw else None",
        ]
    elif isinstance(row, Tagged):
        fits = "raw & tag" if row.tagged else "not raw & tag"
        lines = [f"raw = {raw}", f"return float(raw & ~tag) if raw != {NO_VAL[row.bits]} and {fits} else None"]
    elif isinstance(row, Bit):
        lines = [f"return ({raw}) & {int(row.bit)} != 0"]
    elif row.name == "site_factor":
        lines = [f"raw = {raw}", f"return float(raw if raw == {NO_VAL[32]} else raw - {NICE_OFFSET})"]
    else:
        lines = [f"return float({raw})"]
    namespace: dict[str, Any] = {"string": string, "tag": getattr(row, "tag", 0)}
    source = "\n    ".join([f"def {row.name}(struct, writes):", *lines])
    exec(compile(source, f"<Lua's {row.name}>", "exec"), namespace)
    return namespace[row.name]


def encoder(row: Field[Any], backend: Any) -> Callable[[Any], Any]:
    """Return the function from what Lua converted (bytes for text, else a float) to the raw value of the member."""
    if isinstance(row, Gres):
        prefixed = row.encoder(backend)
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
        return lambda value: _truncated(value, 64)
    return lambda value: to_c(value, bits)


def to_c(value: float, bits: int) -> int:
    """Return the unsigned integer that C makes of a double on x86-64 and does not promise elsewhere.

    Small members go through an int, others through a long; what that cannot hold is its smallest number.
    """
    if bits == 64 and value >= 1 << 63:
        return int(value) & (1 << 64) - 1 if value < 1 << 64 else 0
    return _truncated(value, 32 if bits < 32 else 64) & (1 << bits) - 1


def _truncated(value: float, width: int) -> int:
    limit = 1 << (width - 1)
    if not -limit - 1 < value < limit:
        return -limit
    return int(value)


Places = dict[bytes, tuple[str, str, int, int, bool, int]]


def places(struct: Any, release: Release) -> tuple[Places, bytes, int, int]:
    """Return what native/job_submit/lua.c reads and writes by itself.

    Args:
        struct: cffi's type of ``job_desc_msg_t``.
        release: of Slurm.

    Returns:
        the fields, see :func:`_places`; the name of the environment, where that is, and where the number of its
        variables.
    """
    members = dict(struct.fields)
    found = _places("job_desc", members, release, writable(release))
    return found, b"environment", members["environment"].offset, members["env_size"].offset


def partition_places(struct: Any, release: Release) -> tuple[Places, int]:
    """Return what native/job_submit/lua_partitions.c reads by itself.

    Args:
        struct: cffi's type of ``part_record_t``.
        release: of Slurm.

    Returns:
        the fields, see :func:`_places`, and where the name is.
    """
    members = dict(struct.fields)
    return _places("part", members, release, frozenset()), members["name"].offset


def _places(kind: str, members: dict[str, Any], release: Release, written: frozenset[str]) -> Places:
    """Return what C reads: what it is, its member, where that is, its size, if it is written there too, and which bit.

    Args:
        kind: see :func:`names`.
        members: cffi's, by name.
        release: of Slurm.
        written: what scripts can write.
    """
    found = {}
    for name, row in names(kind, release).items():
        member = next((path for path in row.members if path in members), None)
        flag = int(row.bit) if kind == "part" and name == "flag_default" and isinstance(row, Bit) else 0
        special = isinstance(row, Computed) or (isinstance(row, Bit) and not flag) or name == "site_factor"
        if member is None or special or READABLE_SINCE.get(name, release) > release:
            continue
        shown = _shown(row, members[member].type.cname, flag)
        if shown is not None:
            what, size = shown
            is_written = name in written and not isinstance(row, Gres)
            found[name.encode()] = (what, sys.intern(member), members[member].offset, size, is_written, flag)
    return found


def _shown(row: Field[Any], type_: str, flag: int) -> tuple[str, int] | None:
    """Return what C makes of a member of a type, and the size of that; None: nothing."""
    if type_ in ("time_t", "long"):
        return "time", 8
    if type_ == "char *":
        return "text", 8
    size = next((bits // 8 for bits in NO_VAL if type_ == f"uint{bits}_t"), None)
    if size is None:
        return None
    if isinstance(row, Tagged):
        return "tagged" if row.tagged else "untagged", size
    return "flag" if flag else "number", size


class Reader:
    """What Lua reads from a read-only record of slurmctld, by way of its view."""

    __slots__ = ("_getters", "_value", "_view")

    def __init__(self, getters: dict[bytes, Callable[[Any], Any]], view: Any, value: Callable[[Any], Any]) -> None:
        """Take the view, the functions that read one of its kind, and what makes tables of lists."""
        self._getters = getters
        self._view = view
        self._value = value

    def __getitem__(self, name: object) -> Any:
        """Return what Lua gets."""
        get = self._getters.get(name)  # type: ignore[call-overload]
        if get is None:
            return None
        found = get(self._view)
        return self._value(found) if type(found) is dict else found


def getters(kind: str, release: Release) -> dict[bytes, Callable[[Any], Any]]:
    """Return the functions that read a view of some kind; they return dicts for tables."""
    found: dict[bytes, Callable[[Any], Any]] = {}
    for name, row in names(kind, release).items():
        found[name.encode()] = _special(kind, name) or _getter(row)
    if kind == "part" and release >= (25, 11):
        found[b"max_nodes_orig"], found[b"min_nodes_orig"] = found[b"max_nodes"], found[b"min_nodes"]
    return found


def _special(kind: str, name: str) -> Callable[[Any], Any] | None:
    """Return the function for a field where Slurm hands over something else than the row."""
    if kind == "job_rec":
        return {
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
            found = getattr(view, name)
            return None if found is None else found.encode(ENCODING, ERRORS)

        return text
    if isinstance(row, Bit):
        return lambda view: bool(getattr(view, name))
    if isinstance(row, Tagged):

        def tagged(view: Any) -> float | None:
            found = getattr(view, name)
            return None if found is None else float(found)

        return tagged
    if isinstance(row, Offset):
        raw_too = name == "nice"

        def offset(view: Any) -> float:
            found = getattr(view, name)
            return float(NO_VAL[32] if found is None else found + NICE_OFFSET if raw_too else found)

        return offset
    if isinstance(row, Truth):
        return lambda view: float(bool(getattr(view, name)))
    assert not isinstance(row, Strings)
    bits = getattr(row, "bits", 32) or 32
    unset = AUTH_NOBODY if isinstance(row, Identity) else NO_VAL[bits]
    # What the record points to may not be there: no array_recs, no array_task_cnt.
    absent = type(row) in (Plain, Time)

    def number(view: Any) -> float | None:
        found = getattr(view, name)
        if found is None and absent:
            return None
        return float(unset if found is None else INFINITE[bits] if found is UNLIMITED else found)

    return number
