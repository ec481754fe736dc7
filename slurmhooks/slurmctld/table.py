# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of slurmctld that handlers get, such as ``partitions`` and ``jobs``."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from slurmhooks.handlers.view import OfACall

if TYPE_CHECKING:
    from slurmhooks.slurmctld.model import View

Key = TypeVar("Key")
Row = TypeVar("Row", covariant=True)


class Selected(Sequence[Row]):
    """Records that meet conditions, in the order in which slurmctld has them; they are fetched when they are used."""

    __slots__ = ("_count", "_fetch", "_records")

    def __init__(self, fetch: Callable[[], list[Any]], count: Callable[[], int]) -> None:
        """Take the function that returns the records, and that which returns their number."""
        self._fetch = fetch
        self._count = count
        self._records: list[Any] | None = None

    def fetch(self) -> list[Any]:
        """Return the records as a list, always the same."""
        if self._records is None:
            self._records = self._fetch()
        return self._records

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count() if self._records is None else len(self._records)

    def __getitem__(self, index: Any) -> Any:
        """Return a record, or a list of some."""
        return self.fetch()[index]

    def __iter__(self) -> Iterator[Row]:
        """Iterate over the records."""
        return iter(self.fetch())

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        """Return a list of these and other records."""
        return [*self.fetch(), *other]

    def __radd__(self, other: Iterable[Any]) -> list[Any]:
        """Return a list of other records and these."""
        return [*other, *self.fetch()]

    def __eq__(self, other: object) -> bool:
        """Tell whether another sequence has the same records."""
        return isinstance(other, Sequence) and self.fetch() == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the records."""
        return repr(self.fetch())


class Table(OfACall, Mapping[Key, Row]):
    """A table of slurmctld: a read-only mapping of keys to records, which are looked up on use."""

    __slots__ = ("_alive", "_all", "_count", "_find", "_made", "_select", "_steady")

    def __init__(
        self,
        find: Callable[[Any], View | None],
        everything: Callable[[], dict[Any, View]],
        select: Callable[[dict[str, Any]], Callable[[], list[Any]]],
        count: Callable[[tuple[str, ...], dict[str, Any]], Iterable[tuple[Any, int, int]]],
        *,
        steady: bool = True,
    ) -> None:
        """Make a table.

        ``find`` returns the record of a key, ``everything`` all by key, ``select`` a function that returns the records
        whose fields have certain values, ``count`` a record for each combination of the values of some fields, how many
        have it, and as how many jobs they count; of all records whose fields have certain values. ``steady``: records
        do not change during the call.
        """
        self._find = find
        self._all = everything
        self._select = select
        self._count = count
        self._steady = steady
        self._made: list[View] = []
        self._alive = True

    def __getitem__(self, key: Any) -> Row:
        """Return a record; raise KeyError if it does not exist."""
        record: Row | None = self.get(key)
        if record is None:
            raise KeyError(key)
        return record

    def get(self, key: Any, default: Any = None) -> Any:
        """Return a record, or the default if it does not exist."""
        self._living()
        record = self._find(key)
        if record is None:
            return default
        self._made.append(record)
        return record

    def __contains__(self, key: object) -> bool:
        """Return whether a record exists."""
        return self.get(key) is not None

    def __iter__(self) -> Iterator[Key]:
        """Iterate over the keys of all records."""
        self._living()
        return iter(self._everything())

    def __len__(self) -> int:
        """Return the number of records: slurmctld sends only this number."""
        self._living()
        return self._numbers({})[0]

    def items(self) -> ItemsView[Key, Row]:
        """Return keys and records, by one look-up."""
        self._living()
        return self._everything().items()

    def values(self) -> ValuesView[Row]:
        """Return the records, by one look-up."""
        self._living()
        return self._everything().values()

    def where(self, **fields: Any) -> Sequence[Row]:
        """Return the records whose fields have certain values; slurmctld sends only these.

        ``len()`` of the result is only a number from slurmctld, as long as nothing else of it was used.

        Args:
            fields: values by field, at most eight: ``jobs.where(partition="debug", job_state=JobState.JOB_PENDING)``;
                ``nodes.where(partitions="debug")`` are those in that partition.

        Raises:
            AttributeError: a field does not exist.
            TypeError: a field cannot be a condition, or a value has the wrong type.
            ValueError: a value does not fit.
        """
        self._living()
        select = self._select(fields)
        selected: Selected[Row] = Selected(partial(self._fetch, select), lambda: self._numbers(fields)[0])
        if not self._steady:
            selected.fetch()
        return selected

    def count(self, **fields: Any) -> int:
        """Return how many jobs, nodes, ... there are; slurmctld sends only the number.

        Of a job array, each task counts, also those that still wait in a common record; of a heterogeneous job, each
        component. Jobs count as long as slurmctld knows them: also those that have ended, for MinJobAge, and, in a
        federation, those that run in another cluster or were revoked. A condition on ``job_state`` leaves them out.

        Args:
            fields: as for :meth:`where`; by default all.

        Raises:
            AttributeError: see :meth:`where`.
            TypeError: see :meth:`where`.
            ValueError: see :meth:`where`.
        """
        self._living()
        return self._numbers(fields)[1]

    def counts(self, *names: str, **fields: Any) -> dict[tuple[Any, ...], int]:
        """Return how many there are, as :meth:`count` does, for each combination of the values of some fields.

        ``jobs.counts("account", "partition")`` is ``{("physics", "debug"): 17, ...}``. Lists become tuples.

        Args:
            names: the fields.
            fields: as for :meth:`where`; by default all.

        Raises:
            AttributeError: a field does not exist, or is no member of Slurm's struct.
            TypeError: see :meth:`where`.
            ValueError: see :meth:`where`.
        """
        self._living()
        found: dict[tuple[Any, ...], int] = {}
        for record, _, jobs in self._count(names, fields):
            values = (getattr(record, name) for name in names)
            kind = tuple(tuple(value) if isinstance(value, list) else value for value in values)
            found[kind] = found.get(kind, 0) + jobs
        return found

    def of_user(self, user_id: int) -> Sequence[Row]:
        """Return the jobs, or the associations, of a user: ``where(user_id=user_id)``."""
        return self.where(user_id=user_id)

    def _numbers(self, fields: dict[str, Any]) -> tuple[int, int]:
        """Return how many records there are, and as how many jobs they count."""
        counted = list(self._count((), fields))
        return sum(rows for _, rows, _ in counted), sum(jobs for _, _, jobs in counted)

    def _fetch(self, select: Callable[[], list[Any]]) -> list[Any]:
        self._living()
        records = select()
        self._made += records
        return records

    def _everything(self) -> dict[Any, Any]:
        records = self._all()
        self._made += records.values()
        return records

    def close(self) -> None:
        """Make every later use of the table and its records raise StaleHandleError."""
        self._alive = False
        for view in self._made:
            view.close()
        self._made = []
