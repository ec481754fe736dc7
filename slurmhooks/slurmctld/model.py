# SPDX-License-Identifier: GPL-2.0-or-later
"""The views of slurmctld's structs, for handlers of all its plugin points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from slurmhooks.errors import StaleHandleError
from slurmhooks.fields import (
    AssociationFields,
    LicenseFields,
    NodeFields,
    PartitionFields,
    QosFields,
    RecordFields,
    ReservationFields,
)
from slurmhooks.fields.rows import Computed, Field, release_of
from slurmhooks.handlers.similar import nearest
from slurmhooks.handlers.view import stale
from slurmhooks.slurmctld import NEEDS_SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmhooks.fields.rows import Release
    from slurmhooks.slurmctld.asking import Struct
    from slurmhooks.wire.message import Raw


class ViewState:
    """What a view is of and what is staged in it: in an object of its own, because assignments to a view set fields."""

    __slots__ = ("struct", "writes")

    def __init__(self, struct: Struct) -> None:
        self.struct = struct
        self.writes: dict[str, Any] = {}


class View:
    """A view of one of Slurm's structs; slurmhooks.fields.classes makes the class for a release.

    Public names are fields. Therefore all other names begin with an underscore, even those that other modules use.

    Attributes:
        _state: what the view has besides its class, until the call ends.
        _missing: fields that this release lacks.
        _keeps_empty: an empty text is one; otherwise it reads as None.
        _release: the release of Slurm.
    """

    __slots__ = ("_state",)

    _state: ViewState

    _missing: ClassVar[dict[str, Field[Any]]] = {}
    _release: ClassVar[str] = ""

    @property
    def _keeps_empty(self) -> bool:
        return True

    def __init__(self, struct: Struct) -> None:
        object.__setattr__(self, "_state", ViewState(struct))

    @property
    def _struct(self) -> Struct:
        return self._state.struct

    @property
    def _writes(self) -> dict[str, Any]:
        return self._state.writes

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Raise an error that explains: the attribute does not exist, or the call has ended."""
            return self._explain(name)

    def _explain(self, name: str) -> Any:
        """Raise an error that explains why an attribute does not exist."""
        if name == "_state":
            raise stale(self)
        what = type(self).__name__.lower()
        row = self._missing.get(name)
        if isinstance(row, Computed) and row.private:
            raise AttributeError(f"only slurmctld knows {what}.{name}: {NEEDS_SOURCES}")
        if row is not None:
            span = [f"{word} Slurm {end}" for word, end in (("since", row.since), ("until", row.until)) if end]
            exists = " ".join(span) or "in other builds of Slurm"
            raise AttributeError(f"{what}.{name} exists {exists}; this is {self._release}")
        methods = [
            each
            for base in type(self).__mro__
            for each, value in vars(base).items()
            if each[0] != "_" and callable(value)
        ]
        raise AttributeError(f"{what} has no {name!r}{nearest(name, [*self._names(), *methods])}")

    def _assign(self, name: str, value: object) -> None:
        """Handle an assignment to a name that is not a writable field; see slurmhooks.fields.classes."""
        self._living()
        if name not in self._missing and hasattr(type(self), name):
            raise AttributeError(f"{type(self).__name__.lower()}.{name} is read-only")
        self._explain(name)

    def _living(self) -> None:
        self._state  # noqa: B018 - raises if the call has ended

    def __delattr__(self, name: str) -> None:
        """Raise an error that says how to unset a field."""
        self._living()
        getattr(self, name)  # raises if there is no such field
        raise AttributeError(f"{type(self).__name__.lower()}.{name} cannot be deleted; None unsets a field")

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Iterate over names and values of all fields: ``dict(job)`` is a copy that stays valid after the call."""
        for name in sorted(self._names()):
            value = getattr(self, name)
            yield name, value

    def __dir__(self) -> list[str]:
        """Return the names of the fields."""
        return sorted(self._names())

    def __repr__(self) -> str:
        """Show the class, and the name of the object."""
        try:
            return f"<{type(self).__name__} {getattr(self, 'name')!r}>"  # noqa: B009 - an association has none
        except (AttributeError, StaleHandleError):  # a representation must not raise
            return f"<{type(self).__name__}>"

    @classmethod
    def _names(cls) -> list[str]:
        hidden = {"ASKED_FOR", "bounds", "commit", "close", "members", "rollback", "savepoint", *cls._missing}
        return [name for name in dir(cls) if not name.startswith("_") and name not in hidden]

    def members(self) -> Members:
        """Return the members of the struct as raw values; for Lua scripts."""
        return Members(self)

    def close(self) -> None:
        """Make every later use raise StaleHandleError; for dispatch."""
        object.__delattr__(self, "_state")


class Members:
    """The members of a view's struct as raw values, which rows.py describes."""

    __slots__ = ("_view",)

    def __init__(self, view: View) -> None:
        self._view: Any = view

    @property
    def release(self) -> Release:
        """The release of Slurm that the struct is of."""
        return release_of(self._view._release)

    def of(self, row: Field[Any]) -> str | None:
        """Return the member that a row reads in this release, or None."""
        return row.member(self.release, self._view._struct.whole.places)

    def get(self, member: str) -> Raw:
        """Return the staged value of a member, or else the one that slurmctld sent."""
        state = self._view._state
        value: Raw = state.writes[member] if member in state.writes else state.struct.raw(member)
        return value


class Record(RecordFields, View):
    """``record``: the job as slurmctld knows it; read-only."""

    __slots__ = ()


class Partition(PartitionFields, View):
    """A partition; read-only."""

    __slots__ = ()


class Reservation(ReservationFields, View):
    """A reservation; read-only."""

    __slots__ = ()


class Node(NodeFields, View):
    """A node; read-only."""

    __slots__ = ()


class License(LicenseFields, View):
    """A license; read-only."""

    __slots__ = ()


class Qos(QosFields, View):
    """A QOS; read-only."""

    __slots__ = ()


class Association(AssociationFields, View):
    """An account, or a user in an account; read-only."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the class, and the account or user."""
        try:
            return f"<Association {self.id}: {self.account} {self.user or ''}>"
        except (AttributeError, StaleHandleError):  # a representation must not raise
            return "<Association>"


VIEWS: dict[str, type[View]] = {
    "record": Record,
    "partition": Partition,
    "reservation": Reservation,
    "node": Node,
    "license": License,
    "qos": Qos,
    "association": Association,
}
"""The views of slurmctld's records, by the names of the tables."""
