# SPDX-License-Identifier: GPL-2.0-or-later
"""Stand-ins for the tables of slurmctld."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmhooks.fields import KEYS
from slurmhooks.fields.classes import conditions_of, members_of
from slurmhooks.slurmctld import model
from slurmhooks.slurmctld.table import Table as Mapped
from slurmhooks.workshop.testing.job_submit import (
    RELEASE,
    FakeRecord,
    bound_to,
    fill,
    new_struct,
    release_of_view,
    struct_of,
    table_name,
)
from slurmhooks.workshop.testing.questions import fulfils, tasks
from slurmhooks.workshop.testing.table_defaults import defaults_of
from slurmhooks.workshop.testing.tables import tables_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slurmhooks.wire.tables import Table


class FakeTable(Mapped[Any, Any]):
    """A table of slurmctld without slurmctld, such as ``partitions``; the functions below make them."""

    __slots__ = ("_kind", "structs")

    def __init__(self, kind: type[model.View], structs: Mapping[Any, Any]) -> None:
        self._kind = kind
        self.structs = structs
        super().__init__(self._find_one, self._find_all, self._find_some, self._count_some)

    @property
    def release(self) -> str:
        """The release of Slurm that the rows are of."""
        view: Any = self._kind
        return release_of_view(view)

    def _find_one(self, key: Any) -> model.View | None:
        if isinstance(key, str) and key.isdecimal() and table_name(self._kind) in KEYS:
            key = int(key)
        return self._kind(self.structs[key]) if key in self.structs else None

    def _find_some(self, fields: dict[str, Any]) -> Callable[[], list[model.View]]:
        conditions = conditions_of(self._kind, self._table, fields)
        return lambda: [self._kind(struct) for struct in self.structs.values() if fulfils(struct, conditions)]

    def _count_some(self, names: tuple[str, ...], fields: dict[str, Any]) -> Iterator[tuple[model.View, int, int]]:
        members_of(self._kind, self._table, names)
        for view in self._find_some(fields)():
            yield view, 1, tasks(view._struct)

    @property
    def _table(self) -> Table:
        return tables_of(self.release)[table_name(self._kind)]

    def _find_all(self) -> dict[Any, model.View]:
        return {key: self._kind(struct) for key, struct in self.structs.items()}

    def packed(self, key: Any) -> bytes | None:
        """Return the struct of a key as slurmctld sends it, or None."""
        key = key.decode("utf-8", "surrogateescape") if isinstance(key, bytes) else key
        return self.structs[key].data if key in self.structs else None

    def all_packed(self) -> list[bytes]:
        """Return all structs as slurmctld sends them."""
        return [struct.data for struct in self.structs.values()]


def fake_partitions(partitions: Mapping[str, Mapping[str, object]], *, release: str = RELEASE) -> FakeTable:
    """Make a table ``partitions`` of the fields of each one: ``{"debug": {"max_time": 60}}``.

    As for all tables, the release decides which fields exist.
    """
    return _table(model.Partition, partitions, release)


def fake_reservations(reservations: Mapping[str, Mapping[str, object]], *, release: str = RELEASE) -> FakeTable:
    """Make a table ``reservations`` of the fields of each reservation, by its name."""
    return _table(model.Reservation, reservations, release)


def fake_jobs(jobs: Iterable[FakeRecord], *, release: str = RELEASE) -> FakeTable:
    """Make a table ``jobs`` of records with different ``job_id``."""
    return FakeTable(bound_to(model.Record, release), {job.job_id: struct_of(job) for job in jobs})


def fake_nodes(nodes: Mapping[str, Mapping[str, object]], *, release: str = RELEASE) -> FakeTable:
    """Make a table ``nodes`` of the fields of each node: ``{"n1": {"cpus": 64, "partitions": ["debug"]}}``."""
    return _table(model.Node, nodes, release)


def fake_licenses(licenses: Mapping[str, Mapping[str, object]], *, release: str = RELEASE) -> FakeTable:
    """Make a table ``licenses`` of the fields of each license, by its name."""
    return _table(model.License, licenses, release)


def fake_qos(qos: Mapping[str, Mapping[str, object]], *, release: str = RELEASE) -> FakeTable:
    """Make a table ``qos`` of the fields of each QOS, by its name."""
    return _table(model.Qos, qos, release)


def fake_associations(associations: Iterable[Mapping[str, object]], *, release: str = RELEASE) -> FakeTable:
    """Make a table ``associations`` of the fields of each; without an ``id`` they are numbered from 1."""
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
"""The functions that make the tables, by the names of handlers' arguments."""


def _table(kind: type[model.View], records: Mapping[Any, Mapping[str, object]], release: str) -> FakeTable:
    bound = bound_to(kind, release)
    field = KEYS.get(table_name(bound), "name")
    structs = {}
    for key, fields in records.items():
        structs[key] = new_struct(bound)
        set_by_slurm = {
            name: value for name, value in defaults_of(table_name(bound), fields).items() if name not in bound._missing
        }
        fill(bound(structs[key]), {**set_by_slurm, field: key, **fields})
    return FakeTable(bound, structs)
