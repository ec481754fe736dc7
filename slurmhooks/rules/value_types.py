# SPDX-License-Identifier: GPL-2.0-or-later
"""The types of values that rules take in slurmhooks.toml.

Only what checks a file imports them, because pydantic is slow.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from slurmhooks.handlers.similar import nearest
from slurmhooks.job_submit.strings import mem_str_to_mib, time_str2mins
from slurmhooks.rules.typed import AMOUNTS_LIMITED, AMOUNTS_NAMED, NUMBERS, READABLE, ROWS, WRITABLE
from slurmhooks.values import Unlimited

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pydantic.fields import FieldInfo

LABEL = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
URL = re.compile(r"https?://[^\s/]\S*")
HOURS = re.compile(r"(?!(.+)-\1$)([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-4]):[0-5]\d")
"""Two times of day that differ."""


def _minutes(value: Any) -> Any:
    """Return a time limit in minutes; leave other values to the model."""
    if isinstance(value, str):
        value = time_str2mins(value)
        if isinstance(value, Unlimited):
            raise ValueError("must be a time with an end")
    return value


def _mebibytes(value: Any) -> Any:
    """Return an amount of memory in MiB; leave other values to the model."""
    return mem_str_to_mib(value) if isinstance(value, str) else value


def _moment(value: Any) -> Any:
    if not isinstance(value, date):
        raise ValueError(f"must be a date or a time without quotes, as in 2027-01-31, not {value!r}")
    return value


def _only(fits: Callable[[str], object], fault: str) -> AfterValidator:
    """Return what refuses texts that do not fit, and says why."""

    def check(value: str) -> str:
        if not fits(value):
            raise ValueError(fault)
        return value

    return AfterValidator(check)


def _path(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError("must be an absolute path")
    return value.rstrip("/") or "/"


def _is_value(value: Any) -> Any:
    parts = value if isinstance(value, list | tuple) else (value,)
    if not parts or not all(isinstance(each, str | int | date) for each in parts) or "" in parts:
        raise ValueError("must be a text that is not empty, a number, true, false, a date, or a list of these")
    return tuple(parts) if isinstance(value, list | tuple) else value


def _schema(*examples: str) -> WithJsonSchema:
    return WithJsonSchema({"type": ["string", "integer"], "examples": list(examples)})


def _exists(names: Collection[str]) -> AfterValidator:
    """Return what refuses other names than some, most of which are fields of ``job``."""

    def check(name: str) -> str:
        if name in names:
            return name
        if name not in ROWS:
            raise ValueError(f"job has no field {name!r}{nearest(name, names)}")
        why = "may hold a password" if name not in READABLE else "" if name in WRITABLE else "cannot be written"
        raise ValueError(f"field {name} of job {why or 'is no number'}: this rule does not take it")

    return AfterValidator(check)


def _field_schema(names: Collection[str]) -> WithJsonSchema:
    """Return the schema of the name of a field, which editors complete."""
    return WithJsonSchema({"type": "string", "format": "field", "enum": sorted(names)})


Word = Annotated[str, Field(min_length=1)]
Words = Annotated[tuple[Word, ...], Field(strict=False)]
"""A list of names or patterns."""
Line = Annotated[str, _only(str.isprintable, "must be one line")]
Label = Annotated[str, _only(LABEL.fullmatch, "must consist of letters, digits, '.', '_' and '-'")]
Url = Annotated[str, _only(URL.fullmatch, "must be a URL that begins with http:// or https://")]
AbsolutePath = Annotated[str, AfterValidator(_path)]
AbsolutePaths = Annotated[tuple[AbsolutePath, ...], Field(strict=False)]
Count = Annotated[int, Field(ge=0, lt=1 << 31)]
Seconds = Annotated[float, Field(strict=False, ge=0.0, le=86400.0)]
UNITS = ("minutes", "MiB")
"""Units of numbers: the last part of their types."""
Minutes = Annotated[
    int, BeforeValidator(_minutes), Field(ge=1, lt=1 << 31), _schema("1:00:00", "2-00:00:00"), "minutes"
]
"""A time limit: minutes, or a text in the notation of --time."""
Mebibytes = Annotated[int, BeforeValidator(_mebibytes), Field(ge=1, lt=1 << 43), _schema("4G", "500M"), "MiB"]
"""An amount of memory: MiB, or a text in the notation of --mem."""
Moment = Annotated[datetime | date, BeforeValidator(_moment)]
"""A day, or a time; without a time zone, in that of slurmctld."""
TimeOfDay = Annotated[str, _only(HOURS.fullmatch, 'must be a time of day, as in "22:00-06:00"')]
Day = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

Readable = Annotated[str, _exists(READABLE), _field_schema(READABLE)]
"""The name of a field of ``job`` that rules may look at."""
Writable = Annotated[str, _exists(WRITABLE), _field_schema(WRITABLE)]
"""The name of a field of ``job`` that rules may set."""
Fields = Annotated[
    tuple[Readable, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    Field(strict=False),
    WithJsonSchema({"anyOf": [_field_schema(READABLE).json_schema, {"type": "array", "items": {"type": "string"}}]}),
]
"""One such name, or a list."""
Required = Annotated[str, _exists([*READABLE, *AMOUNTS_NAMED]), _field_schema([*READABLE, *AMOUNTS_NAMED])]
Limited = Annotated[str, _exists([*NUMBERS, *AMOUNTS_LIMITED]), _field_schema([*NUMBERS, *AMOUNTS_LIMITED])]
Value = Annotated[
    Any,
    BeforeValidator(_is_value),
    WithJsonSchema({"type": ["string", "integer", "boolean", "array"], "examples": ["gpu"]}),
]
"""The value of a field as slurmhooks.toml has it; see :func:`slurmhooks.rules.typed.typed`."""
Values = Annotated[tuple[Value, ...], Field(strict=False)]
Given = Annotated[
    tuple[Value, ...],
    BeforeValidator(lambda value: value if isinstance(value, list | tuple) else (value,)),
    Field(strict=False),
    WithJsonSchema({"type": ["string", "integer", "boolean", "array"], "examples": ["x*"]}),
]
"""One such value, or a list."""
Map = Annotated[dict[str, Value], WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "string"}]})]


def unit_of(field: FieldInfo) -> Literal["minutes", "MiB"] | None:
    """Return the unit of a key's value in the model, or None."""
    return next((item for item in _metadata(field) if item in UNITS), None)


def _metadata(field: FieldInfo) -> list[Any]:
    parts = list(get_args(field.annotation))
    return [*field.metadata, *(item for part in parts for item in getattr(part, "__metadata__", ()))]
