# SPDX-License-Identifier: GPL-2.0-or-later
"""Stand-ins for the arguments that slurmctld passes to handlers of job_submit.

Each is a view of a packed struct, as in production; the struct has the members that slurmhooks knows of a release.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, TypeVar

from slurmhooks.fields import COUNTERS
from slurmhooks.fields.classes import bind
from slurmhooks.fields.constants import JobFlag
from slurmhooks.fields.flag_rows import Bit, Enumerated
from slurmhooks.fields.number_rows import Plain, Real, Time
from slurmhooks.fields.rows import (
    ANY_RELEASE,
    NEWEST,
    Computed,
    Field,
    Lowered,
    Names,
    Sluid,
    Status,
    Strings,
    Text,
    Truth,
    release_of,
    rows,
    sluid_number,
)
from slurmhooks.job_submit import model, updates
from slurmhooks.job_submit.model import VIEWS
from slurmhooks.job_submit.origin import OF_REQUESTS
from slurmhooks.slurmctld.asking import Struct
from slurmhooks.values import NO_VAL, text_to_c
from slurmhooks.wire.message import pack
from slurmhooks.workshop.testing.jobs import JOB_ID
from slurmhooks.workshop.testing.tables import tables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slurmhooks.wire.message import Raw
    from slurmhooks.wire.tables import Table

    View = TypeVar("View", bound=model.View)

RELEASE = f"{NEWEST[0]}.{NEWEST[1]:02}"
"""The newest release, as text."""


CORES = "details.mc_ptr."
"""Begins the members of the struct with the numbers per core and socket."""
OF_SOME = ("array_recs.", CORES)
"""Begin the members behind a pointer that most jobs lack: without a value for one of them, it is null."""


class FakeStruct(Struct):
    """A packed struct for which a test gives values of computed fields, and raw values of members, by their names."""

    __slots__ = ("facts", "raws")

    def __init__(self, table: Table, kind: Any) -> None:
        self.facts: dict[str, Any] = {"groups": {}}
        self.raws: dict[str, Raw] = {}
        raws, data = _unset(kind)
        self.raws = {name: list(raw) if isinstance(raw, list) else raw for name, raw in raws.items()}
        super().__init__(table, data, None)

    def put(self, raws: Mapping[str, Raw]) -> None:
        """Set members; the counter of an array follows."""
        self.raws.update(raws)
        for name, counter in COUNTERS.items():
            if name in raws and counter in self.raws:
                self.raws[counter] = len(raws[name] or [])  # type: ignore[arg-type]
        super().__init__(self.table, pack(self.table, self.raws), None)

    def settle(self) -> None:
        """Apply the committed writes of handlers to the struct."""
        if self.written:
            self.put(self.written)


@lru_cache(maxsize=64)
def _unset(kind: type[model.View]) -> tuple[dict[str, Raw], bytes]:
    """Return the raw values and the data of a struct in which all members are unset."""
    table = tables_of(kind._release)[table_name(kind)]
    release = release_of(kind._release)
    members = [(row, row.member(release, table.places)) for row in rows(kind).values()]
    raws = {
        name: unset(row)
        for row, name in members
        if name is not None and name in table.places and not name.startswith(OF_SOME)
    }
    return raws, bytes(pack(table, raws))


class _OfRelease(model.View):
    __slots__ = ()

    def __new__(cls, *, release: str = RELEASE, **fields: object) -> Self:
        """Make an object of the class for a release."""
        return object.__new__(bound_to(cls, release))


class FakeJob(_OfRelease, model.Job):
    """A ``job`` without slurmctld: the request of a submission or an update.

    Args:
        release: release of Slurm; decides which fields exist.
        fields: values as handlers see them, including read-only fields. By default ``user_id`` and ``group_id`` are
            1000 and all other fields are unset.

    Pass it to a handler (``limits(FakeJob(account="physics"))``) or to :func:`run`; afterwards it has the values that
    the handlers wrote.

    Raises:
        AttributeError: a field does not exist, or not in that release.
        TypeError: a value has the wrong type.
        ValueError: a value does not fit, or the release is invalid.
    """

    __slots__ = ("_given",)

    _given: frozenset[str]

    def __init__(self, *, release: str = RELEASE, **fields: object) -> None:
        super().__init__(new_struct(type(self)))
        object.__setattr__(self, "_given", frozenset(fields))  # an assignment would set a field
        fill(self, {"user_id": 1000, "group_id": 1000, **fields})


DEFAULTS = {
    "account": JobFlag.USE_DEFAULT_ACCT,
    "partition": JobFlag.USE_DEFAULT_PART,
    "qos": JobFlag.USE_DEFAULT_QOS,
    "wckey": JobFlag.USE_DEFAULT_WCKEY,
}
"""Flags that slurmctld sets before its plugins run, if the request lacks a field."""


def request_of(job: FakeJob, hook: str, record: FakeRecord | None = None) -> FakeStruct:
    """Return the struct that slurmctld would send for a hook; commits pending writes of the job.

    To an update, slurmctld itself adds the owner of the job, see _update_job() of job_mgr.c; by default that of
    ``FakeRecord()``.
    """
    job._state.modify = hook == "job_modify"
    job.commit()
    struct = struct_of(job)
    struct.settle()
    if job._state.modify:
        record = record or FakeRecord(release=release_of_view(job))
        flags = sum(int(flag) for name, flag in DEFAULTS.items() if getattr(job, name) is None)
        changed = updates.fields(release_of(release_of_view(job)))
        sent: dict[str, object] = {
            name: row.facts["in_updates"]
            for name, row in rows(type(job)).items()
            if "in_updates" in row.facts and name not in {*job._missing, *changed} and getattr(job, name) is None
        }
        sent |= {"user_id": record.user_id, "group_id": None, "user_name": record.user_name}
        sent |= {"bitflags": int(job.bitflags or 0) | flags, "job_id_str": job.job_id_str or str(record.job_id)}
        fill(job, {name: value for name, value in sent.items() if name not in job._given})
    return struct


def fields_of(job: FakeJob) -> dict[str, Any]:
    """Return the values of all fields of a job; discards pending writes."""
    model.Job.__init__(job, job._struct, modify=job._modify)
    return values_of(job)


def values_of(job: model.Job) -> dict[str, Any]:
    """Return the values of all fields of a job, with pending writes."""
    values = {name: getattr(job, name) for name in rows(type(job)) if name not in job._missing}
    for name in ("environment", "spank_job_env"):
        values[name] = dict(getattr(job, name))
    values["argv"] = list(job.argv)
    return values


def struct_of(view: model.View) -> FakeStruct:
    """Return the struct of a stand-in."""
    struct = view._struct
    assert isinstance(struct, FakeStruct)
    return struct


def release_of_view(view: model.View) -> str:
    """Return the release of Slurm of a stand-in."""
    return view._release


def missing_fields(release: str) -> set[str]:
    """Return the names of the fields of ``job`` that a release of Slurm lacks."""
    return set(bound_to(model.Job, release)._missing)


ZERO = (
    *("delay_boot", "derived_ec", "exit_code", "mail_type", "max_nodes", "nice"),
    *("ntasks_per_node", "ntasks_per_tres", "num_tasks", "overcommit", "segment_size", "site_factor", "time_min"),
)
"""Fields of a record that are 0, not unset, in a job that does not set them."""


class FakeRecord(_OfRelease, model.Record):
    """A ``record`` without slurmctld: a job that slurmctld knows.

    Args:
        release: release of Slurm; decides which fields exist.
        fields: values as handlers see them. By default ``job_id`` is 67108863, which Slurm never gives, ``user_id`` and
            ``group_id`` are 1000, and all other fields are 0 or unset, as in a job that does not set them.

    Raises:
        AttributeError: a field does not exist, or not in that release.
        TypeError: a value has the wrong type.
        ValueError: a value does not fit, or the release is invalid.
    """

    __slots__ = ()

    def __init__(self, *, release: str = RELEASE, **fields: object) -> None:
        super().__init__(new_struct(type(self)))
        zero = dict.fromkeys((name for name in ZERO if name not in self._missing), 0)
        fill(self, {**zero, "job_id": JOB_ID, "user_id": 1000, "group_id": 1000, **fields})


_classes: dict[tuple[object, str], Any] = {}


def bound_to(view: type[View], release: str) -> type[View]:
    """Return the class of a view for a release.

    Raises:
        ValueError: the release is invalid.
    """
    tables = tables_of(release)
    bound: type[View] | None = _classes.get((view, tables.release))
    if bound is not None:
        return bound
    kind = next(base for base in view.__mro__ if base in VIEWS.values())
    name = next(name for name, view_class in VIEWS.items() if view_class is kind)
    computed = {name: _reader_of(name) for name, row in rows(view).items() if isinstance(row, Computed)}
    bound = bind(view, tables[name], tables.release, computed)
    bound.__name__ = kind.__name__  # error messages show it
    _classes[view, tables.release] = bound
    return bound


def _reader_of(name: str) -> Callable[[Any], Any]:
    """Return the getter of a computed field."""

    def get(view: Any) -> Any:
        facts = view._struct.facts
        return OF_REQUESTS[name](view) if name in OF_REQUESTS and name not in facts else facts.get(name)

    return get


def new_struct(kind: type[model.View]) -> FakeStruct:
    """Return a struct for a class of views, in which all members are unset."""
    return FakeStruct(tables_of(kind._release)[table_name(kind)], kind)


def table_name(kind: type[model.View]) -> str:
    """Return the name in messages of the struct of a class of views."""
    return next(name for name, view_class in VIEWS.items() if issubclass(kind, view_class))


def unset(row: Field[Any]) -> Raw:
    """Return the raw value of an unset field."""
    if isinstance(row, (Text, Computed)):
        return None
    if isinstance(row, (Names, Real)):
        return row.encoder(ANY_RELEASE)([] if isinstance(row, Names) else None)
    if isinstance(row, Strings):
        return []
    if isinstance(row, (Bit, Truth, Plain, Time, Sluid)) or (isinstance(row, Enumerated) and not row.optional):
        return 0
    return NO_VAL[row.bits or 32]


def fill(view: model.View, fields: Mapping[str, object]) -> None:
    """Set fields of a stand-in, including read-only ones."""
    struct, fields_by_name = view._struct, rows(type(view))
    assert isinstance(struct, FakeStruct)
    raws: dict[str, Raw] = {}
    for name, value in fields.items():
        if name in COUNTERS and isinstance(view, model.Job):
            items = [f"{key}={text}" for key, text in value.items()] if name != "argv" else value  # type: ignore[attr-defined]
            raws[name] = [text_to_c(name, item) for item in items]  # type: ignore[attr-defined]
        elif name not in fields_by_name or name in view._missing:
            getattr(view, name)  # raises an AttributeError that explains
        elif isinstance(fields_by_name[name], Computed):
            struct.facts[name] = value
            if name in struct.table.places:
                raws[name] = None if value is None else text_to_c(name, value)
        else:
            row = fields_by_name[name]
            member = row.member(release_of(view._release), struct.table.places)
            assert member is not None
            if value is None and member.startswith(OF_SOME):
                continue
            old = raws.get(member, struct.raws.get(member))
            raws[member] = raw_value(row, unset(row) if old is None else old, value, view._release)
    if any(member.startswith(CORES) for member in raws):  # Slurm makes the struct with all its members unset
        for row in fields_by_name.values():
            member = row.member(release_of(view._release), struct.table.places)
            if member is not None and member.startswith(CORES) and member not in struct.raws:
                raws.setdefault(member, unset(row))
    struct.put(raws)


def raw_value(row: Field[Any], old: Any, value: Any, release: str) -> Any:
    """Return the raw value of a field, even of one that handlers cannot write.

    ``old`` is the raw value of its member, which fields of flags share; ``value`` is as handlers see it.
    """
    if isinstance(row, Strings):
        return [text_to_c(row.name, text) for text in value]
    if isinstance(row, Lowered):  # the user's spelling
        return None if value is None else text_to_c(row.name, value)
    if isinstance(row, Bit):
        return (old | row.bit) if value else (old & ~row.bit)
    if isinstance(row, Truth):
        return int(bool(value))
    if value is None and not isinstance(row, Text):
        return unset(row)
    if isinstance(row, Sluid) and isinstance(value, str):
        value = sluid_number(value)
    if isinstance(row, (Status, Sluid)) or type(row).encoder is Field.encoder:
        if not isinstance(value, int):
            raise TypeError(f"{row.name} takes an int, not {value!r}")
        return int(value)
    return row.merge(old, row.encoder(release_of(release))(value))
