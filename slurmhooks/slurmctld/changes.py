# SPDX-License-Identifier: GPL-2.0-or-later
"""What a handler changed in a request: fields with their old and new values, without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.errors import SlurmhooksError
from slurmhooks.fields.flag_rows import Enumerated
from slurmhooks.fields.number_rows import Tagged
from slurmhooks.fields.rows import release_of, rows
from slurmhooks.recording.request import SECRETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmhooks.fields.rows import Field

SECRET = {field: name for name, fields in SECRETS.items() for field in fields}
"""Fields that may contain secrets such as passwords, each with the name that a site lists to have its values logged."""
NOT_SENT = "(not sent)"
"""Replaces a value that slurmctld did not send and that no handler read."""
NOTHING: tuple[dict[str, Any], None, dict[str, Any]] = ({}, None, {})
"""The savepoint of a request that no handler has changed."""

_known: dict[type, dict[str, list[str]]] = {}

Changes = dict[str, tuple[Any, Any]]


def changes(job: Any, before: object, after: object, included: tuple[str, ...] = ()) -> tuple[Changes, list[str]]:
    """Compare two savepoints of a request.

    Args:
        job: a view of the request, which is rolled back to both.
        before: the first savepoint; None: the request as it was received.
        after: the second one.
        included: the values of SECRET that the site lists.

    Returns:
        old and new values, as handlers see them, by field; each variable of an environment counts as a field, such as
        ``environment.HOME``. Also the names of the secret fields that have changed, which are not read.
    """
    before = NOTHING if before is None else before
    if before == after:
        return {}, []
    shown: list[tuple[str, str | None, str]] = []
    hidden = []
    for field, variable in _written(before, after, job):
        name = field if variable is None else f"{field}.{variable}"
        if field in SECRET and SECRET[field] not in included:
            hidden.append(name)
        else:
            shown.append((field, variable, name))
    job.rollback(before)
    old = [_value(job, field, variable) for field, variable, _ in shown]
    job.rollback(after)
    new = [_value(job, field, variable) for field, variable, _ in shown]
    names = [name for _, _, name in shown]
    return {name: (was, now) for name, was, now in zip(names, old, new, strict=True) if was != now}, hidden


def _written(before: Any, after: Any, view: Any) -> Iterator[tuple[str, str | None]]:
    """Yield the fields whose staged values differ, each with the variable if the field is an environment."""
    (writes, argv, mappings), (new_writes, new_argv, new_mappings) = before, after
    for member in {**writes, **new_writes}:
        if writes.get(member, ...) != new_writes.get(member, ...):
            for name in _fields(view).get(member, ()):
                yield name, None
    if argv != new_argv:
        yield "argv", None
    for name in {**mappings, **new_mappings}:
        staged, new_staged = mappings.get(name, {}), new_mappings.get(name, {})
        for variable in {**staged, **new_staged}:
            if staged.get(variable, ...) != new_staged.get(variable, ...):
                yield name, variable


def _value(job: Any, field: str, variable: str | None) -> Any:
    """Return a value as handlers see it; NOT_SENT if slurmctld did not send it."""
    try:
        if variable is not None:
            return getattr(job, field).get(variable)
        return list(job.argv) if field == "argv" else getattr(job, field)
    except SlurmhooksError:
        return NOT_SENT


def _fields(view: Any) -> dict[str, list[str]]:
    """Return the fields that represent each member: all of its parts, or the one field with the plainest name."""
    kind = type(view)
    known = _known.get(kind)
    if known is None:
        members: dict[str, list[Field[Any]]] = {}
        for name, row in rows(kind).items():
            member = row.member(release_of(view._release), view._struct.table.places)
            if row.writable and member is not None and name not in view._missing:
                members.setdefault(member, []).append(row)
        known = _known[kind] = {member: _plainest(member, rows_of_member) for member, rows_of_member in members.items()}
    return known


def _plainest(member: str, rows_of_member: list[Field[Any]]) -> list[str]:
    parts = [
        row.name for row in rows_of_member if isinstance(row, Tagged) or (isinstance(row, Enumerated) and row.mask)
    ]
    if parts:
        return parts
    names = [row.name for row in rows_of_member]
    return [member] if member in names else names[:1]
