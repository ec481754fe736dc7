# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the class of a view for one release of Slurm: a property for each row in fields that the release has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from slurmhooks.fields.flag_rows import Enumerated
from slurmhooks.fields.rows import Computed, Field, Lowered, Text, release_of, rows
from slurmhooks.handlers.similar import nearest
from slurmhooks.wire.protocol import MAX_CONDITIONS
from slurmhooks.wire.tables import WIDTHS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slurmhooks.fields.rows import Condition
    from slurmhooks.wire.tables import Table

    Computations = Mapping[str, Callable[[Any], Any]]

View = TypeVar("View")


def bind(
    view: type[View], table: Table, release: str, computed: Computations | None = None, sent: Table | None = None
) -> type[View]:
    """Return the class whose fields read packed structs, and stage assignments.

    Its instances hold the struct in ``_state.struct`` and staged raw values, by member, in ``_state.writes``. Rows
    without a member in this release are left out; ``view._explain`` explains them.

    ``release`` is such as "24.11.5". ``computed`` has functions that compute, from a view, the value of a row that is
    no member. ``sent`` has the members that the structs have, if not all: they look up the others by name.
    """
    computed = computed or {}
    running = release_of(release)
    bound: dict[str, Any] = {"__slots__": (), "__doc__": view.__doc__, "_release": release}
    setters: dict[str, tuple[str, Callable[[object], Any]]] = {}
    parts: dict[str, tuple[str, Any, Callable[[object], Any]]] = {}
    missing: dict[str, Field[Any]] = {}
    for name, row in rows(view).items():
        member = row.member(running, table.places)
        if member is None or (isinstance(row, Computed) and name not in computed):
            missing[name] = row
            bound[name] = _Missing()
            continue
        if isinstance(row, Computed):
            bound[name] = property(computed_getter(computed[name]), doc=row.doc)
            continue
        bound[name] = property(_getter(row, member, sent or table), doc=row.doc)
        if row.writable and (isinstance(row, Lowered) or (isinstance(row, Enumerated) and row.mask is not None)):
            parts[name] = (member, row, row.encoder(running))
        elif row.writable:
            setters[name] = (member, row.encoder(running))

    unknown: Callable[[Any, str, object], None] = getattr(view, "_assign")  # noqa: B009 - for the type checker

    def assign(self: Any, name: str, value: object) -> None:
        if name in setters:
            member, encode = setters[name]
            self._state.writes[member] = encode(value)
        elif name in parts:
            member, row, encode = parts[name]
            state = self._state
            old = state.writes[member] if member in state.writes else state.struct.raw(member)
            state.writes[member] = row.merge(old, encode(value))
        else:
            unknown(self, name, value)

    bound.update(__setattr__=assign, _missing=missing)
    # Errors name it, also where the rows of a table have a class with more, such as actions.
    result: type[View] = type(table.name.capitalize(), (view,), bound)
    return result


def conditions_of(view: Any, table: Table, fields: Mapping[str, object]) -> dict[str, Condition]:
    """Return the conditions on the members of a struct under which the fields of a bound view have these values.

    Raises:
        AttributeError: there is no such field, or not in this release.
        TypeError: see :meth:`Field.condition`.
        ValueError: see :meth:`Field.condition`; or two fields ask for the same bits of one member.
    """
    conditions: dict[str, Condition] = {}
    for name, value in fields.items():
        row, member = _stored(view, table, name, "filter by")
        condition = row.condition(value)
        other = conditions.get(member)
        if isinstance(condition, tuple) and isinstance(other, tuple) and not condition[1] & other[1]:
            condition = (condition[0] | other[0], condition[1] | other[1])  # a condition on another part of the member
        elif other is not None:
            raise ValueError(f"{name}: another condition tests the same bits of {member}")
        conditions[member] = condition
    if len(conditions) > MAX_CONDITIONS:
        raise ValueError(f"at most {MAX_CONDITIONS} fields can be asked for, not {len(conditions)}")
    return conditions


def members_of(view: Any, table: Table, names: Iterable[str]) -> list[str]:
    """Return the members that fields of a bound view read.

    Raises:
        AttributeError: there is no such field, or not in this release; or it is no member.
    """
    return [_stored(view, table, name, "count by")[1] for name in names]


def _stored(view: Any, table: Table, name: str, what: str) -> tuple[Field[Any], str]:
    by_name = rows(view)
    row = by_name.get(name)
    member = None if row is None or name in view._missing else row.member(release_of(view._release), table.places)
    if row is None or member is None or isinstance(row, Computed):
        raise AttributeError(f"{view.__name__.lower()} has no {name!r} to {what}{nearest(name, by_name)}")
    return row, member


class _Missing:
    """Makes an attribute appear not to exist, so that ``_explain`` explains it."""

    __slots__ = ()

    def __get__(self, view: object, owner: type | None = None) -> None:
        raise AttributeError


def computed_getter(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the getter of a row that is no member of the struct."""

    def get(view: Any) -> Any:
        view._state  # noqa: B018 - raises if the call is over
        return compute(view)

    return get


def _getter(row: Field[Any], member: str, table: Table) -> Callable[[Any], Any]:
    """Return the function that reads a field. The usual ones look into the struct themselves, to be one call less."""
    decode = row.decoder()
    place, via, kind = table.index.get(member, (None, None, ""))

    def text(view: Any) -> Any:
        state = view._state
        if member in state.writes:
            raw = state.writes[member]
        elif state.struct.slots[place]:
            raw = state.struct.text(place)
        else:
            return None
        if raw:
            value = decode(raw)
            if value:
                return value
        return "" if raw is not None and view._keeps_empty else None

    def number(view: Any) -> Any:
        state = view._state
        return decode(state.writes[member] if member in state.writes else state.struct.slots[place])

    def other(view: Any) -> Any:
        state = view._state
        raw = state.writes[member] if member in state.writes else state.struct.raw(member)
        return None if raw is None else decode(raw)

    if place is None:
        return other
    if via is None and kind in WIDTHS:
        return number
    return text if isinstance(row, Text) else other
