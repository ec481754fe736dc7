# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of slurmctld that handlers get, such as ``partitions`` and ``jobs``."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from typing import TYPE_CHECKING, Any, TypeVar

from slurmhooks.handlers.view import OfACall

if TYPE_CHECKING:
    from slurmhooks.slurmctld.model import View

Key = TypeVar("Key")
Row = TypeVar("Row", covariant=True)


class Table(OfACall, Mapping[Key, Row]):
    """A table of slurmctld: a read-only mapping of keys to records, which are looked up on use."""

    __slots__ = ("_alive", "_all", "_find", "_made", "_select")

    def __init__(
        self,
        find: Callable[[Any], View | None],
        everything: Callable[[], dict[Any, View]],
        select: Callable[[dict[str, Any]], list[Any]],
    ) -> None:
        """Make a table.

        Args:
            find: returns the record of a key, or None.
            everything: returns all records by key.
            select: returns the records whose fields have certain values.
        """
        self._find = find
        self._all = everything
        self._select = select
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
        """Return the number of records."""
        self._living()
        return len(self._everything())

    def items(self) -> ItemsView[Key, Row]:
        """Return keys and records, by one look-up."""
        self._living()
        return self._everything().items()

    def values(self) -> ValuesView[Row]:
        """Return the records, by one look-up."""
        self._living()
        return self._everything().values()

    def where(self, **fields: Any) -> list[Row]:
        """Return the records whose fields have certain values; slurmctld sends only these.

        Args:
            fields: values by field, at most eight: ``jobs.where(partition="debug", job_state=JobState.JOB_PENDING)``.

        Raises:
            AttributeError: a field does not exist.
            TypeError: a field cannot be a condition, or a value has the wrong type.
            ValueError: a value does not fit.
        """
        self._living()
        records = self._select(fields)
        self._made += records
        return records

    def of_user(self, user_id: int) -> list[Row]:
        """Return the jobs, or the associations, of a user: ``where(user_id=user_id)``."""
        return self.where(user_id=user_id)

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
