# SPDX-License-Identifier: GPL-2.0-or-later
"""The names that scripts can use, by release of Slurm: fields, constants and functions, options, items of SPANK."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from slurmhooks.cli_filter.command_options import NAMES
from slurmhooks.fields import JobFields
from slurmhooks.fields.flag_rows import Bit
from slurmhooks.fields.number_rows import Number, Tagged
from slurmhooks.fields.rows import NEWEST, Computed, Gres, Text, rows
from slurmhooks.fields.secrets import BESIDES
from slurmhooks.handlers.similar import nearest
from slurmhooks.lua import job_fields
from slurmhooks.lua.job_constants import numbers
from slurmhooks.spank.fields import ITEMS
from slurmhooks.values import NO_VAL
from slurmhooks.workshop.testing.job_submit import unset
from slurmhooks.workshop.testing.tables import tables_of

if TYPE_CHECKING:
    from slurmhooks.fields.rows import Release

RELEASES: tuple[Release, ...] = (
    *((22, 5), (23, 2), (23, 11), (24, 5), (24, 11), (25, 5), (25, 11)),
    NEWEST,
)
"""Those whose names differ."""

KINDS = ("job_desc", "job_rec", "part", "reservation")
POINTERS = {"job_desc": "_job_desc", "job_rec": "_job_rec_ptr", "part": "_part_rec_ptr", "reservation": "_resv_ptr"}

SLURM = {"log", "error", "time_str2mins", "SUCCESS", "ERROR", "FAILURE"} | {
    f"log_{level}" for level in ("error", "info", "verbose", "debug", "debug2", "debug3", "debug4")
}
OF_JOB_SUBMIT = {"user_msg", "log_user", "jobs", "reservations"}
OF_CLI_FILTER = {"json_cli_options", "json_env", "cli_store", "cli_retrieve"}
CONVERSIONS = {"to_json", "from_json", "to_yaml", "from_yaml"}
NUMBERS_UNSET = {
    f"{name}{'' if bits == 32 else bits}": float((1 << bits) - less)
    for bits in (8, 16, 32, 64)
    for name, less in (("NO_VAL", 2), ("INFINITE", 1))
}
ALWAYS_SENT = {"user_id", "group_id", "user_name", "work_dir", "alloc_node", "name", "min_cpus", "environment", "argv"}
"""What sbatch, salloc and srun always send with a submission."""
NOT_OF_USERS = {"user_name", "alloc_node", "default_account", "default_qos", "assoc_comment", "assoc_qos"}
"""Texts of a request that its user cannot choose."""
ZERO_IF_UNSET = {"begin_time", "end_time", "nice", "mail_type", "immediate", "contiguous", "bitflags", "shared"}
"""Numbers of a request whose comparison with another number is right also if they are not given."""

SPANK_METHODS = {
    *("register_option", "getopt", "get_item", "getenv", "setenv", "unsetenv", "remote"),
    *("job_control_getenv", "job_control_setenv", "job_control_unsetenv"),
}
SPANK_FIELDS = {"context", "args", "slurm_version"}
SPANK_TABLE = {"SUCCESS", "FAILURE", "_log_msg"} | {
    f"log_{level}" for level in ("error", "info", "verbose", "debug", "debug2", "debug3", "user")
}

BASE = {
    *("_G", "_VERSION", "assert", "collectgarbage", "dofile", "error", "getmetatable", "ipairs", "load", "loadfile"),
    *("next", "pairs", "pcall", "print", "rawequal", "rawget", "rawset", "require", "select", "setmetatable"),
    *("tonumber", "tostring", "type", "xpcall", "coroutine", "debug", "io", "math", "os", "package", "string", "table"),
}
"""The globals of Lua whose members or results are followed; those that only some versions have are not."""


@cache
def fields(kind: str, release: Release) -> frozenset[str]:
    """Return the fields of a kind that scripts can read in a release."""
    names = {name for name, row in job_fields.names(kind, release).items() if row.facts["lua"].reads(release)}
    if kind == "job_desc":
        names |= set(BESIDES)
    if kind == "job_rec":
        names |= set(job_fields.ARRAYS)
    return frozenset(names | {POINTERS[kind]})


@cache
def slurm_table(family: str, release: Release) -> frozenset[str]:
    """Return the members of the table ``slurm`` of job_submit, cli_filter or scrun in a release."""
    members = {*SLURM, *numbers(release), "CLUSTER_NAME"}
    if family == "job_submit":
        members |= OF_JOB_SUBMIT
        if release >= (24, 11):
            members.add("get_qos_priority")
    elif family == "cli_filter":
        members |= OF_CLI_FILTER
    if release >= (26, 5):
        members |= CONVERSIONS
    return frozenset(members)


def options() -> frozenset[str]:
    """Return the keys of ``options`` in cli_filter.lua."""
    return frozenset({name for names in NAMES.values() for name in names} | {"argv", "spank", "type", "spank_job_env"})


@cache
def unset_numbers() -> frozenset[str]:
    """Return the fields of a request whose number is NO_VAL if it is not given."""
    return frozenset(
        name
        for name, row in rows(JobFields).items()
        if kind_of(name) == "number"
        and name not in ALWAYS_SENT | ZERO_IF_UNSET
        and unset(row) == NO_VAL[row.bits or 32]
    )


def number_of_unset(field: str) -> int:
    """Return the number of a field of a request that is not given."""
    return NO_VAL[rows(JobFields)[field].bits or 32]


def unset_name(field: str) -> str:
    """Return how scripts name that number."""
    bits = rows(JobFields)[field].bits or 32
    return "slurm.NO_VAL" if bits == 32 else f"slurm.NO_VAL{bits}"


def items() -> frozenset[str]:
    """Return the items of SPANK."""
    return frozenset(item.item for item in ITEMS)


def kind_of(field: str) -> str:
    """Return what a field of ``job_desc`` is when it is read.

    Returns:
        ``text``: nil if unset; ``number?``: a number, or nil if unset; ``number``: a number, NO_VAL if unset;
        ``boolean``; ``table``; or ``unknown``.
    """
    if field in BESIDES:
        return "table"
    row = next(
        (job_fields.names("job_desc", release)[field] for release in reversed(RELEASES) if has(field, release)), None
    )
    if row is None:
        return "unknown"
    if isinstance(row, (Text, Gres, Computed)):
        return "text"
    if isinstance(row, Tagged):
        return "number?"
    return "boolean" if isinstance(row, Bit) else "number"


@cache
def same_as(field: str) -> str:
    """Return the name that stands for all names of one member of the request, as gres does for tres_per_node."""
    return _synonyms().get(field, field)


@cache
def _synonyms() -> dict[str, str]:
    release = NEWEST
    places = tables_of(shown(release))["job"].places
    first: dict[str, str] = {}
    result = {}
    for name, row in sorted(job_fields.names("job_desc", release).items(), key=lambda item: item[0] == "gres"):
        member = row.member(release, places)
        if member is not None and not isinstance(row, (Tagged, Bit)):
            result[name] = first.setdefault(member, name)
    return result


def takes_values(field: str) -> bool:
    """Tell whether a field of a request is a text or a plain number, rather than flags or one of some values."""
    row = rows(JobFields).get(field)
    return isinstance(row, (Text, Gres, Number, Tagged)) and not isinstance(row, Computed)


def has(field: str, release: Release) -> bool:
    """Tell whether ``job_desc`` has a field in a release."""
    return field in job_fields.names("job_desc", release)


def releases_with(name: str, known_in: dict[Release, frozenset[str]]) -> str:
    """Return in words which releases have a name, such as ``from 23.11 on``; empty if none has it."""
    having = [release for release in RELEASES if name in known_in[release]]
    if not having:
        return ""
    first, last = having[0], having[-1]
    if last == RELEASES[-1]:
        return f"from {shown(first)} on"
    return f"until {shown(last)}"


def similar(name: str, names: frozenset[str]) -> str:
    """Return a hint such as ``; did you mean 'partition'?`` for an unknown name."""
    return nearest(name, sorted(names))


def shown(release: Release) -> str:
    """Return a release such as 24.11."""
    return f"{release[0]}.{release[1]:02d}"
