# SPDX-License-Identifier: GPL-2.0-or-later
"""Read JSON documents of slurmhooks itself into dataclasses.

Not with pydantic, whose import takes longer than the rest of most commands.
"""

import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from functools import cache, partial
from typing import Any, TypeVar, get_args, get_origin

Kind = TypeVar("Kind")
Builder = Callable[[Any, str], Any]
MOST = 1 << 63
"""Limit of numbers, which must also fit into a float."""


def build(kind: type[Kind], value: Any) -> Kind:
    """Return an instance of a dataclass whose annotations are types, not texts; unknown keys are ignored.

    Times are texts in ISO format with a time zone, or seconds since the epoch.

    Raises:
        ValueError: a key is missing, or a value has another type.
    """
    result: Kind = _builder(kind)(value, "the document")
    return result


@cache
def _keys(kind: Any) -> dict[str, Builder]:
    """Return how each key of a dataclass is built: a log has a million documents of the same type."""
    return {each.name: _builder(each.type) for each in fields(kind)}


def _builder(kind: Any) -> Builder:
    """Return a function that builds a value of a type, or raises ValueError; its second argument says where it is."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value, _: value
    if isinstance(kind, type) and is_dataclass(kind):
        return partial(_build_dataclass, kind)
    if kind is datetime:
        return moment
    if origin is types.UnionType:
        return partial(_build_any, [_builder(each) for each in arguments])
    if origin is list:
        return partial(_build_list, _builder(arguments[0]))
    if origin is tuple and arguments[-1] is ...:
        build_list = partial(_build_list, _builder(arguments[0]))
        return lambda value, where: tuple(build_list(value, where))
    if origin is tuple:
        return partial(_build_tuple, [_builder(each) for each in arguments])
    if origin is dict:
        return partial(_build_dict, _builder(arguments[1]))
    return lambda value, where: _checked(value, kind, where)


def _build_dataclass(kind: Any, value: Any, where: str) -> Any:
    given = _checked(value, dict, where)
    values = {name: build_value(given[name], name) for name, build_value in _keys(kind).items() if name in given}
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error


def _build_list(build_item: Builder, value: Any, where: str) -> list[Any]:
    return [build_item(each, where) for each in _checked(value, list, where)]


def _build_tuple(build_items: list[Builder], value: Any, where: str) -> tuple[Any, ...]:
    items = _checked(value, list, where)
    if len(items) != len(build_items):
        raise ValueError(f"{where}: must have {len(build_items)} items, not {len(items)}")
    return tuple(build_item(each, where) for build_item, each in zip(build_items, items, strict=True))


def _build_dict(build_value: Builder, value: Any, where: str) -> dict[str, Any]:
    return {name: build_value(each, name) for name, each in _checked(value, dict, where).items()}


def _build_any(builders: list[Builder], value: Any, where: str) -> Any:
    """Build the first of several types that a value fits."""
    for build_value in builders[:-1]:
        try:
            return build_value(value, where)
        except ValueError:
            continue
    return builders[-1](value, where)


def moment(value: Any, where: str) -> datetime:
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


def _checked(value: Any, kind: Any, where: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):  # a bool is an int in Python
        raise ValueError(f"{where}: must be {getattr(kind, '__name__', kind)}, not {value!r}")
    if isinstance(value, int) and not -MOST <= value < MOST:
        raise ValueError(f"{where}: has too many digits")
    return value
