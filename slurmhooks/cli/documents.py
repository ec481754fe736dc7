# SPDX-License-Identifier: GPL-2.0-or-later
"""Read JSON documents of slurmhooks itself into dataclasses.

Not with pydantic, whose import takes longer than the rest of most commands.
"""

import types
from dataclasses import fields, is_dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from typing import Any, TypeVar, get_args, get_origin

Kind = TypeVar("Kind")
MOST = 1 << 63
"""Limit of numbers, which must also fit into a float."""


def build(kind: type[Kind], value: Any) -> Kind:
    """Return an instance of a dataclass whose annotations are types, not texts; unknown keys are ignored.

    Times are texts in ISO format with a time zone, or seconds since the epoch.

    Raises:
        ValueError: a key is missing, or a value has another type.
    """
    result: Kind = _build(kind, value, "the document")
    return result


def _build(kind: Any, value: Any, where: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if isinstance(kind, type) and is_dataclass(kind):
        given = _checked(value, dict, where)
        values = {
            each.name: _build(each.type, given[each.name], each.name) for each in fields(kind) if each.name in given
        }
        try:
            return kind(**values)
        except TypeError as error:
            raise ValueError(f"{where}: {error}") from error
    if kind is datetime:
        return _time(value, where)
    if origin is types.UnionType:
        return _build_any(arguments, value, where)
    if origin is list:
        return [_build(arguments[0], each, where) for each in _checked(value, list, where)]
    if origin is tuple:
        items = _checked(value, list, where)
        if arguments[-1] is ...:
            return tuple(_build(arguments[0], each, where) for each in items)
        if len(items) != len(arguments):
            raise ValueError(f"{where}: must have {len(arguments)} items, not {len(items)}")
        return tuple(_build(item, each, where) for item, each in zip(arguments, items, strict=True))
    if origin is dict:
        return {name: _build(arguments[1], each, where) for name, each in _checked(value, dict, where).items()}
    return _checked(value, kind, where)


def _time(value: Any, where: str) -> datetime:
    """Return a time that exists in every time zone.

    Raises:
        ValueError: it is none.
    """
    try:
        time = (
            datetime.fromisoformat(value)
            if isinstance(value, str)
            else datetime.fromtimestamp(_checked(value, int | float, where), UTC)
        )
    except (OverflowError, OSError) as error:
        raise ValueError(f"{where}: {error}") from error
    if time.tzinfo is None:
        raise ValueError(f"{where}: must have a time zone, not {value!r}")
    if not MINYEAR < time.year < MAXYEAR:
        raise ValueError(f"{where}: {value!r} is no time in some time zones")
    return time


def _build_any(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    """Build the first of several types that a value fits."""
    for kind in kinds[:-1]:
        try:
            return _build(kind, value, where)
        except ValueError:
            continue
    return _build(kinds[-1], value, where)


def _checked(value: Any, kind: Any, where: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):  # a bool is an int in Python
        raise ValueError(f"{where}: must be {getattr(kind, '__name__', kind)}, not {value!r}")
    if isinstance(value, int) and not -MOST <= value < MOST:
        raise ValueError(f"{where}: has too many digits")
    return value
