# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for slurmctld's side of job_submit: structs of the fields that slurmhooks knows, in any release."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from slurmhooks.job_submit import model
from slurmhooks.job_submit.rows import (
    Bit,
    Computed,
    Field,
    Plain,
    Sluid,
    Status,
    Strings,
    Text,
    Time,
    Truth,
    _Enumerated,
    bind,
    rows,
)
from slurmhooks.values import ENCODING, ERRORS, NO_VAL, text_to_c

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    View = TypeVar("View", bound=model._View)

RELEASE = "26.05"
"""The newest release that slurmhooks was written against."""
COUNTERS = {"argv": "argc", "environment": "env_size", "spank_job_env": "spank_job_env_size"}
"""The arrays of a request, each with its counter."""


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
        struct = _struct(type(self))
        super().__init__(struct)
        object.__setattr__(self, "_given", frozenset(fields))
        _fill(self, {"user_id": 1000, "group_id": 1000, **fields})

    def _view(self, hook: str, owner: int | None) -> model.Job:
        """Return what the handlers of a hook get, for :func:`run`."""
        self.commit()
        modify = hook == "job_modify"
        struct = self._struct
        for name in ("user_id", "group_id"):
            if modify and name not in self._given:
                setattr(struct, name, NO_VAL[32])
        struct._written.clear()
        return _bound(model.Job, self._release)(struct, modify=modify, owner=owner if modify else None)

    def _state(self) -> dict[str, Any]:
        """Return the fields that handlers assigned, and all that they can change otherwise, for :func:`run`."""
        struct = self._struct
        model.Job.__init__(self, struct)  # forget what was read before
        found = {name: getattr(self, name) for name in _names(type(self))}
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

    def _view(self) -> model.Record:
        """Return what handlers get, for :func:`run`."""
        return _bound(model.Record, self._release)(self._struct)


class _Partition(model.Partition):
    __slots__ = ()


class _Reservation(model.Reservation):
    __slots__ = ()


class FakeTable(model.Table):
    """``partitions``, ``reservations`` or ``jobs`` without slurmctld; see the functions below."""

    __slots__ = ("_kind", "_structs")

    def __init__(self, kind: type[model._View], structs: Mapping[Any, Any]) -> None:
        """Hold records by their keys."""
        self._kind = kind
        self._structs = structs
        super().__init__(self._find_one, self._find_all)

    def _find_one(self, key: Any) -> model._View | None:
        if isinstance(key, str) and key.isdecimal() and issubclass(self._kind, model.Record):
            key = int(key)
        return self._kind(self._structs[key]) if key in self._structs else None

    def _find_all(self) -> dict[Any, model._View]:
        return {key: self._kind(struct) for key, struct in self._structs.items()}

    def _view(self) -> model.Table:
        """Return what handlers get, for :func:`run`."""
        return model.Table(self._find_one, self._find_all)


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


def table(name: str, given: Any) -> FakeTable:
    """Return what :func:`run` was given for an argument as a table."""
    if isinstance(given, FakeTable):
        return given
    makers: dict[str, Callable[[Any], FakeTable]] = {
        "partitions": fake_partitions,
        "reservations": fake_reservations,
        "jobs": fake_jobs,
    }
    return makers[name](given or {})


def _table(kind: type[model._View], records: Mapping[str, Mapping[str, object]], release: str) -> FakeTable:
    bound = _bound(kind, release)
    structs = {}
    for name, fields in records.items():
        structs[name] = _struct(bound)
        _fill(bound(structs[name]), {"name": name, **fields})
    return FakeTable(bound, structs)


class StandIn:
    """Reads and writes structs that hold raw values, as C has them; texts are bytes, arrays lists of bytes."""

    def __init__(self, release: str) -> None:
        """Have the members of all releases; rows know which are this one's."""
        year, month = release.split(".")
        self.release = int(year), int(month)

    def has(self, path: str) -> bool:
        """See rows.Backend."""
        return True

    def string(self, pointer: Any, /) -> bytes:
        """See rows.Backend."""
        return bytes(pointer)

    def write_text(self, struct: Any, member: str, raw: bytes | None) -> None:
        """See rows.Backend."""
        setattr(struct, member, raw)

    def strings(self, struct: Any, member: str, count: str) -> list[bytes]:
        """See rows.Backend."""
        place, last = _place(struct, member)
        return list(getattr(place, last))

    def computed(self, name: str) -> Callable[[Any], Any] | None:
        """See rows.Backend."""

        def compute(view: Any) -> Any:
            return view._struct._computed.get(name)

        return compute

    def compiled(self, row: Field[Any], member: str) -> Any:
        """See rows.Backend."""
        return None

    def read(self, struct: Any, name: str) -> list[bytes]:
        """See model.Arrays."""
        return list(getattr(struct, name))

    def find(self, struct: Any, name: str, start: bytes) -> bytes | None:
        """See model.Arrays."""
        return next((item[len(start) :] for item in list(getattr(struct, name)) if item.startswith(start)), None)

    def write(self, struct: Any, name: str, items: list[bytes]) -> None:
        """See model.Arrays."""
        setattr(struct, name, list(items))
        setattr(struct, COUNTERS[name], len(items))


_classes: dict[tuple[Any, str], Any] = {}


def _bound(view: type[View], release: str) -> type[View]:
    """Return the class of a view that reads and writes stand-ins, and notes what is assigned.

    Raises:
        ValueError: there can be no such release.
    """
    parts = release.split(".")
    if len(parts) < 2 or not all(part.isdecimal() for part in parts[:2]):
        raise ValueError(f"a release of Slurm is such as '24.11', not {release!r}")
    release = ".".join(parts[:2])  # micro releases have the same fields
    if (view, release) not in _classes:
        _classes[view, release] = _bind(view, release)
    found: type[View] = _classes[view, release]
    return found


def _bind(view: type[View], release: str) -> type[View]:
    backend = StandIn(release)
    made = bind(view, backend)
    kind = next(base for base in view.__mro__ if base.__module__ == model.__name__)
    made.__name__ = kind.__name__  # as messages call it
    made._release = release
    if issubclass(made, model.Job):
        made._arrays = backend
    assign: Any = made.__setattr__

    def note(self: Any, name: str, value: object) -> None:
        assign(self, name, value)
        self._struct._written.add(name)

    type.__setattr__(made, "__setattr__", note)
    return made


def _names(kind: type[model._View]) -> list[str]:
    """Return the fields of a bound class."""
    return [name for name in rows(kind) if name not in kind._missing]


def _struct(kind: type[model._View]) -> Any:
    """Return a struct in which nothing is set."""
    struct = SimpleNamespace(_written=set(), _computed={"groups": {}})
    for row in rows(kind).values():
        if isinstance(row, Computed):
            continue
        place, last = _place(struct, row.members[0])
        if not hasattr(place, last):
            setattr(place, last, _unset(row))
    for name in COUNTERS if issubclass(kind, model.Job) else ():
        setattr(struct, name, [])
    return struct


def _place(struct: Any, path: str) -> tuple[Any, str]:
    """Return the struct that holds a member, and the member's name there."""
    *outer, last = path.split(".")
    for name in outer:
        if not hasattr(struct, name):
            setattr(struct, name, SimpleNamespace())
        struct = getattr(struct, name)
    return struct, last


def _unset(row: Field[Any]) -> Any:
    """Return the raw value of a field that is not set."""
    if isinstance(row, Text):
        return None
    if isinstance(row, Strings):
        return []
    if isinstance(row, (Bit, Truth, Plain, Time, Sluid)) or (isinstance(row, _Enumerated) and not row.optional):
        return 0
    return NO_VAL[row.bits or 32]


def _fill(view: model._View, fields: Mapping[str, object]) -> None:
    """Set fields as Slurm would have them, writable or not."""
    struct, known = view._struct, rows(type(view))
    for name, value in fields.items():
        if name in COUNTERS and isinstance(view, model.Job):
            items = [f"{key}={text}" for key, text in value.items()] if name != "argv" else value  # type: ignore[attr-defined]
            view._arrays.write(struct, name, [text_to_c(name, item) for item in items])  # type: ignore[attr-defined]
        elif name not in known or name in view._missing:
            getattr(view, name)  # explains
        elif isinstance(known[name], Computed):
            struct._computed[name] = value
        else:
            place, last = _place(struct, known[name].members[0])
            setattr(place, last, _raw(known[name], getattr(place, last), value, view._release))


def _raw(row: Field[Any], old: Any, value: Any, release: str) -> Any:
    """Return the raw value of a field that a test gives as handlers see it."""
    if isinstance(row, Strings):
        return [text.encode(ENCODING, ERRORS) for text in value]
    if isinstance(row, Bit):
        return (old | row.bit) if value else (old & ~row.bit)
    if isinstance(row, Truth):
        return bool(value)
    if value is None and not isinstance(row, Text):
        return _unset(row)
    if isinstance(row, (Status, Sluid)) or type(row).encoder is Field.encoder:
        if not isinstance(value, int):
            raise TypeError(f"{row.name} takes an int, not {value!r}")
        return int(value)
    return row.merge(old, row.encoder(StandIn(release))(value))
