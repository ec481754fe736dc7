# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for slurmctld's side of job_submit: packed structs of the fields that slurmhooks knows, in any release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from slurmhooks.job_submit import model
from slurmhooks.job_submit.binding import bind, conditions_of
from slurmhooks.job_submit.fields import COUNTERS, KEYS
from slurmhooks.job_submit.flag_rows import Bit, Enumerated
from slurmhooks.job_submit.model import VIEWS
from slurmhooks.job_submit.number_rows import Plain, Real, Time
from slurmhooks.job_submit.rows import (
    ANY_RELEASE,
    Computed,
    Field,
    Names,
    Sluid,
    Status,
    Strings,
    Text,
    Truth,
    release_of,
    rows,
)
from slurmhooks.job_submit.source import Struct
from slurmhooks.testing.tables import tables_of
from slurmhooks.values import NO_VAL, text_to_c
from slurmhooks.wire.message import pack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slurmhooks.job_submit.rows import Condition
    from slurmhooks.wire.message import Raw
    from slurmhooks.wire.tables import Table

    View = TypeVar("View", bound=model._View)

RELEASE = "26.05"
"""The newest release that slurmhooks was written against."""


class FakeStruct(Struct):
    """A struct that a test fills.

    Attributes:
        facts: the values of fields that are no members, by name.
        raws: raw values by member.
    """

    __slots__ = ("facts", "raws")

    def __init__(self, table: Table, kind: type[model._View]) -> None:
        """Make one in which nothing is set."""
        self.facts: dict[str, Any] = {"groups": {}}
        self.raws: dict[str, Raw] = {}
        members = [(row, row.member(release_of(kind._release), table.places)) for row in rows(kind).values()]
        self.raws = {name: _unset(row) for row, name in members if name is not None and name in table.places}
        super().__init__(table, pack(table, self.raws), None)

    def put(self, raws: Mapping[str, Raw]) -> None:
        """Change members; an array's counter changes with it."""
        self.raws.update(raws)
        for name, counter in COUNTERS.items():
            if name in raws and counter in self.raws:
                self.raws[counter] = len(raws[name] or [])  # type: ignore[arg-type]
        super().__init__(self.table, pack(self.table, self.raws), None)

    def settle(self) -> None:
        """Take what handlers have written for what the struct has."""
        if self.written:
            self.put(self.written)


class FakeJob(model.Job):
    """A ``job`` without slurmctld: the request of a submission, or of an update.

    Args:
        release: of Slurm: decides which fields there are.
        fields: as handlers see them, read-only ones too; others are unset, but the user and group, which are 1000.

    It can be given to a handler as it is (``limits(FakeJob(account="physics"))``), or to :func:`run`, after which it
    holds what the handlers wrote.

    Raises:
        AttributeError: a field does not exist, or not in that release.
    """

    __slots__ = ("_given",)

    def __new__(cls, *, release: str = RELEASE, **fields: object) -> FakeJob:
        """Make a job of the class of a release."""
        made: FakeJob = object.__new__(_bound(cls, release))
        return made

    def __init__(self, *, release: str = RELEASE, **fields: object) -> None:
        """Fill it; see the class."""
        super().__init__(_struct(type(self)))
        self._set(_given=frozenset(fields))
        _fill(self, {"user_id": 1000, "group_id": 1000, **fields})

    def _request(self, hook: str) -> FakeStruct:
        """Return what slurmctld sends of a job, for :func:`run`."""
        self.commit()
        struct = self._struct
        assert isinstance(struct, FakeStruct)
        struct.settle()
        if hook == "job_modify":
            struct.put({name: NO_VAL[32] for name in ("user_id", "group_id") if name not in self._given})
        return struct

    def _state(self) -> dict[str, Any]:
        """Return all fields, for :func:`run`."""
        model.Job.__init__(self, self._struct)  # forget what was staged and read before
        found = {name: getattr(self, name) for name in rows(type(self)) if name not in self._missing}
        for name in ("environment", "spank_job_env"):
            found[name] = dict(getattr(self, name))
        found["argv"] = list(self.argv)
        return found


class FakeRecord(model.Record):
    """A ``record`` without slurmctld: a job that it knows.

    Args:
        release: of Slurm: decides which fields there are.
        fields: as handlers see them; others are unset, but for ``job_id``, which is 1, and user and group, 1000.
    """

    __slots__ = ()

    def __new__(cls, *, release: str = RELEASE, **fields: object) -> FakeRecord:
        """Make a record of the class of a release."""
        made: FakeRecord = object.__new__(_bound(cls, release))
        return made

    def __init__(self, *, release: str = RELEASE, **fields: object) -> None:
        """Fill it; see the class."""
        super().__init__(_struct(type(self)))
        _fill(self, {"job_id": 1, "user_id": 1000, "group_id": 1000, **fields})


class FakeTable(model.Table):
    """``partitions``, ``jobs`` and the like without slurmctld; see the functions below."""

    __slots__ = ("_kind", "structs")

    def __init__(self, kind: type[model._View], structs: Mapping[Any, Any]) -> None:
        """Hold records by their keys."""
        self._kind = kind
        self.structs = structs
        super().__init__(self._find_one, self._find_all, self._find_some)

    def _find_one(self, key: Any) -> model._View | None:
        if isinstance(key, str) and key.isdecimal() and _table_of(self._kind) in KEYS:
            key = int(key)
        return self._kind(self.structs[key]) if key in self.structs else None

    def _find_some(self, fields: dict[str, Any]) -> list[model._View]:
        view: Any = self._kind
        conditions = conditions_of(view, tables_of(view._release)[_table_of(self._kind)], fields)
        return [self._kind(struct) for struct in self.structs.values() if fulfils(struct, conditions)]

    def _find_all(self) -> dict[Any, model._View]:
        return {key: self._kind(struct) for key, struct in self.structs.items()}

    def packed(self, key: Any, conditions: Mapping[str, Condition] = {}) -> list[bytes]:
        """Return the struct of a key as slurmctld sends it, or none; of None, all that fulfil conditions."""
        if key is None:
            return [struct.data for struct in self.structs.values() if fulfils(struct, conditions)]
        return [self.structs[key].data] if key in self.structs else []


def fake_partitions(partitions: Mapping[str, Mapping[str, object]], *, release: str = RELEASE) -> FakeTable:
    """Return a ``partitions`` without slurmctld.

    Args:
        partitions: by name, each a dict of its fields: ``{"debug": {"max_time": 60}}``.
        release: of Slurm: decides which fields there are.
    """
    return _table(model.Partition, partitions, release)


def fake_reservations(reservations: Mapping[str, Mapping[str, object]], *, release: str = RELEASE) -> FakeTable:
    """Return a ``reservations`` without slurmctld.

    Args:
        reservations: by name, each a dict of its fields.
        release: of Slurm: decides which fields there are.
    """
    return _table(model.Reservation, reservations, release)


def fake_jobs(jobs: Iterable[FakeRecord], *, release: str = RELEASE) -> FakeTable:
    """Return a ``jobs`` without slurmctld.

    Args:
        jobs: each with another ``job_id``.
        release: of Slurm: decides which fields there are.
    """
    return FakeTable(_bound(model.Record, release), {job.job_id: job._struct for job in jobs})


def fake_nodes(nodes: Mapping[str, Mapping[str, object]], *, release: str = RELEASE) -> FakeTable:
    """Return a ``nodes`` without slurmctld.

    Args:
        nodes: by name, each a dict of its fields: ``{"n1": {"cpus": 64, "partitions": ["debug"]}}``.
        release: of Slurm: decides which fields there are.
    """
    return _table(model.Node, nodes, release)


def fake_licenses(licenses: Mapping[str, Mapping[str, object]], *, release: str = RELEASE) -> FakeTable:
    """Return a ``licenses`` without slurmctld.

    Args:
        licenses: by name, each a dict of its fields.
        release: of Slurm: decides which fields there are.
    """
    return _table(model.License, licenses, release)


def fake_qos(qos: Mapping[str, Mapping[str, object]], *, release: str = RELEASE) -> FakeTable:
    """Return a ``qos`` without slurmctld.

    Args:
        qos: by name, each a dict of its fields.
        release: of Slurm: decides which fields there are.
    """
    return _table(model.Qos, qos, release)


def fake_associations(associations: Iterable[Mapping[str, object]], *, release: str = RELEASE) -> FakeTable:
    """Return an ``associations`` without slurmctld.

    Args:
        associations: each a dict of its fields; one without an ``id`` gets its place among them, from 1 on.
        release: of Slurm: decides which fields there are.
    """
    numbered = [{"id": number, **fields} for number, fields in enumerate(associations, 1)]
    return _table(model.Association, {fields["id"]: fields for fields in numbered}, release)


MAKERS: dict[str, Callable[..., FakeTable]] = {
    "partitions": fake_partitions,
    "reservations": fake_reservations,
    "jobs": fake_jobs,
    "nodes": fake_nodes,
    "licenses": fake_licenses,
    "qos": fake_qos,
    "associations": fake_associations,
}
"""What makes each table that handlers may take."""


def _table(kind: type[model._View], records: Mapping[Any, Mapping[str, object]], release: str) -> FakeTable:
    bound = _bound(kind, release)
    field = KEYS.get(_table_of(bound), "name")
    structs = {}
    for key, fields in records.items():
        structs[key] = _struct(bound)
        _fill(bound(structs[key]), {field: key, **fields})
    return FakeTable(bound, structs)


_classes: dict[tuple[object, str], Any] = {}


def _bound(view: type[View], release: str) -> type[View]:
    """Return the class of a view for a release.

    Raises:
        ValueError: there can be no such release.
    """
    tables = tables_of(release)
    found: type[View] | None = _classes.get((view, tables.release))
    if found is not None:
        return found
    kind = next(base for base in view.__mro__ if base in VIEWS.values())
    name = next(name for name, known in VIEWS.items() if known is kind)
    computed = {name: _given(name) for name, row in rows(view).items() if isinstance(row, Computed)}
    made = bind(view, tables[name], tables.release, computed)
    made.__name__ = kind.__name__  # as messages call it
    _classes[view, tables.release] = made
    return made


def _given(name: str) -> Callable[[Any], Any]:
    def get(view: Any) -> Any:
        return view._struct.facts.get(name)

    return get


def _struct(kind: type[model._View]) -> FakeStruct:
    """Return a struct in which nothing is set."""
    return FakeStruct(tables_of(kind._release)[_table_of(kind)], kind)


def _table_of(kind: type[model._View]) -> str:
    """Return the name that messages have for the table of a view."""
    return next(name for name, known in VIEWS.items() if issubclass(kind, known))


def fulfils(struct: FakeStruct, conditions: Mapping[str, Condition]) -> bool:
    """Tell whether a struct has what native/slurmctld/queries.c would choose it for."""
    for member, condition in conditions.items():
        raw: Any = struct.raw(member)
        if raw != condition if isinstance(condition, bytes) else ((raw or 0) & condition[1]) != condition[0]:
            return False
    return True


def _unset(row: Field[Any]) -> Raw:
    """Return the raw value of a field that is not set."""
    if isinstance(row, (Text, Computed)):
        return None
    if isinstance(row, (Names, Real)):
        return row.encoder(ANY_RELEASE)([] if isinstance(row, Names) else None)
    if isinstance(row, Strings):
        return []
    if isinstance(row, (Bit, Truth, Plain, Time, Sluid)) or (isinstance(row, Enumerated) and not row.optional):
        return 0
    return NO_VAL[row.bits or 32]


def _fill(view: model._View, fields: Mapping[str, object]) -> None:
    """Set fields as Slurm would have them, writable or not."""
    struct, known = view._struct, rows(type(view))
    assert isinstance(struct, FakeStruct)
    raws: dict[str, Raw] = {}
    for name, value in fields.items():
        if name in COUNTERS and isinstance(view, model.Job):
            items = [f"{key}={text}" for key, text in value.items()] if name != "argv" else value  # type: ignore[attr-defined]
            raws[name] = [text_to_c(name, item) for item in items]  # type: ignore[attr-defined]
        elif name not in known or name in view._missing:
            getattr(view, name)  # explains
        elif isinstance(known[name], Computed):
            struct.facts[name] = value
            if name in struct.table.places:
                raws[name] = None if value is None else text_to_c(name, value)
        else:
            row = known[name]
            member = row.member(release_of(view._release), struct.table.places)
            assert member is not None
            raws[member] = _raw(row, raws.get(member, struct.raws[member]), value, view._release)
    struct.put(raws)


def _raw(row: Field[Any], old: Any, value: Any, release: str) -> Any:
    """Return the raw value of a field that a test gives as handlers see it."""
    if isinstance(row, Strings):
        return [text_to_c(row.name, text) for text in value]
    if isinstance(row, Bit):
        return (old | row.bit) if value else (old & ~row.bit)
    if isinstance(row, Truth):
        return int(bool(value))
    if value is None and not isinstance(row, Text):
        return _unset(row)
    if isinstance(row, (Status, Sluid)) or type(row).encoder is Field.encoder:
        if not isinstance(value, int):
            raise TypeError(f"{row.name} takes an int, not {value!r}")
        return int(value)
    return row.merge(old, row.encoder(release_of(release))(value))
