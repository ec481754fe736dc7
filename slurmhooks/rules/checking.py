# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks tables of rules, conditions and exemptions: makes a model of each class, and instances from what that accepts.

Processes that serve avoid this module, because it imports pydantic, which is slow.
"""

from __future__ import annotations

import inspect
from datetime import datetime
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from slurmhooks.config import model as config
from slurmhooks.rules import value_types
from slurmhooks.rules.base import Rule
from slurmhooks.rules.choices import Choice
from slurmhooks.rules.conditions import Place
from slurmhooks.rules.exemptions import Exemption
from slurmhooks.rules.kinds import listed, matches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TypeVar

    from slurmhooks.rules.table import Key, Table

    T = TypeVar("T", bound=Table)


class Strict(BaseModel):
    """Unknown keys are refused, and nothing is converted implicitly."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True, allow_inf_nan=False)


_models: dict[type[Table], type[BaseModel]] = {}
_adapters: dict[type[Table], TypeAdapter[Any]] = {}


def model_of(kind: type[Table]) -> type[BaseModel]:
    """Return the model of a class."""
    if kind not in _models:
        _models[kind] = _model(kind)
    return _models[kind]


def _model(kind: type[Table]) -> type[BaseModel]:
    texts: dict[str, Any] = {}
    for base in kind.__mro__[::-1]:
        texts |= inspect.get_annotations(base)
    own = SimpleNamespace(__annotations__={name: texts[name] for name in kind.keys})
    inner = {table.__name__: _checked(table) for table in (Place, Choice) if issubclass(kind, Rule)}
    types = get_type_hints(own, {**vars(value_types), **inner}, include_extras=True)
    fields: dict[str, Any] = {name: _field(kind, row, types[name]) for name, row in kind.keys.items()}
    model: type[BaseModel] = create_model(kind.__name__, __base__=Strict, __module__=kind.__module__, **fields)
    model.__doc__ = kind.__doc__
    return model


def _field(kind: type[Table], row: Key, of_value: Any) -> tuple[Any, Any]:
    """Return the type and the default of a key in the model."""
    about = Field(description=row.description or None, **row.limits)
    if row.check is None:
        return Annotated[of_value, about], row.default

    def check(value: Any) -> Any:
        row.check(kind, value)  # type: ignore[misc]
        return value

    return Annotated[of_value, about, AfterValidator(check)], row.default


def _checked(kind: type[Table]) -> Any:
    """Return the type of a table whose value is an instance of the class."""
    return Annotated[model_of(kind), AfterValidator(partial(_made, kind))]


def _made(kind: type[Table], read: BaseModel) -> Table:
    return kind(**{name: getattr(read, name) for name in kind.keys if name in read.model_fields_set})


def check(kind: type[T], table: Mapping[str, Any]) -> T:
    """Return a table as an instance of its class.

    Raises:
        ValidationError: it is invalid.
    """
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(_checked(kind))
    checked: T = _adapters[kind].validate_python(table)
    return checked


# Exemptions


def exemptions_of(
    path: Path, tables: Sequence[dict[str, Any]], titles: Sequence[str]
) -> tuple[list[Exemption], list[str]]:
    """Return the exemptions of a configuration, and a finding for each error.

    ``tables`` are ``[[rules.exemptions]]``, ``titles`` the names of the rules that are switched on.
    """
    exemptions: list[Exemption] = []
    findings: list[str] = []
    for where, exemption in _read(path, tables):
        if isinstance(exemption, ValidationError):
            findings += config.findings(where, exemption, model_of(Exemption))
            continue
        exemptions.append(exemption)
        findings += [
            f"{where}: rules: no [[rule]] has the name {pattern}; there are {listed(titles, 'and')}"
            for pattern in exemption.rules
            if not any(matches(title, (pattern,)) for title in titles)
        ]
    return exemptions, findings


def ended(path: Path, tables: Sequence[dict[str, Any]]) -> list[str]:
    """Return a note for each exemption that is over; those that are invalid are findings elsewhere."""
    return [
        f"{where} ({each.who}): {'it ended at' if isinstance(each.until, datetime) else 'its last day was'}"
        f" {each.until}, so it has no effect: remove it, or correct the date"
        for where, each in _read(path, tables)
        if isinstance(each, Exemption) and each.is_over
    ]


def _read(path: Path, tables: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Exemption | ValidationError]]:
    """Yield where each exemption is, and the exemption, or what is wrong with it."""
    for number, table in enumerate(tables, 1):
        where = f"{path}: rules.exemptions, number {number}"
        try:
            yield where, check(Exemption, table)
        except ValidationError as error:
            yield where, error
