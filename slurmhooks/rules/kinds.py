# SPDX-License-Identifier: GPL-2.0-or-later
"""The kinds of values that rules take in slurmhooks.toml."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from slurmhooks.job_submit.strings import mem_str_to_mib, mib_to_mem_str, mins_to_time_str, time_str2mins
from slurmhooks.values import Unlimited

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

LABEL = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)


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


def _label(value: str) -> str:
    if not LABEL.fullmatch(value):
        raise ValueError("must consist of letters, digits, '.', '_' and '-'")
    return value


def _url(value: str) -> str:
    if not re.match(r"https?://[^\s/]", value) or re.search(r"\s", value):
        raise ValueError("must be a URL that begins with http:// or https://")
    return value


def _path(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError("must be an absolute path")
    return value.rstrip("/") or "/"


def _schema(*examples: str) -> WithJsonSchema:
    return WithJsonSchema({"type": ["string", "integer"], "examples": list(examples)})


Word = Annotated[str, Field(min_length=1)]
Words = Annotated[tuple[Word, ...], Field(strict=False)]
"""A list of names or patterns."""
Label = Annotated[str, AfterValidator(_label)]
Url = Annotated[str, AfterValidator(_url)]
AbsolutePath = Annotated[str, AfterValidator(_path)]
AbsolutePaths = Annotated[tuple[AbsolutePath, ...], Field(strict=False)]
Count = Annotated[int, Field(ge=0, lt=1 << 31)]
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


def unit_of(field: FieldInfo) -> Literal["minutes", "MiB"] | None:
    """Return the unit of a key's value in the model, or None."""
    return next((item for item in _metadata(field) if item in UNITS), None)


def _metadata(field: FieldInfo) -> list[Any]:
    parts = list(get_args(field.annotation))
    return [*field.metadata, *(item for part in parts for item in getattr(part, "__metadata__", ()))]


def shown_time(minutes: int | Unlimited) -> str:
    """Return a time limit as Slurm shows it."""
    return mins_to_time_str(minutes)


def shown_moment(moment: float) -> str:
    """Return a time, in seconds since 1970, in the time zone of this process."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))


def shown_memory(mib: int) -> str:
    """Return an amount of memory as Slurm shows it."""
    return mib_to_mem_str(mib)


def counted(number: int, what: str) -> str:
    """Return a number of things: ``1 node``, ``2 nodes``."""
    return f"{number} {what if number == 1 else f'{what}s'}"


def listed(words: Sequence[str], last: str = "or") -> str:
    """Return names as a text: ``a, b or c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else "none"


def matches(name: str | None, patterns: tuple[str, ...]) -> bool:
    """Tell whether a name matches one of some shell patterns."""
    return name is not None and any(fnmatchcase(name, pattern) for pattern in patterns)


def matches_any_case(name: str | None, patterns: tuple[str, ...]) -> bool:
    """Tell whether the name of an account or QOS matches a shell pattern, ignoring case as Slurm does."""
    return name is not None and matches(name.lower(), tuple(pattern.lower() for pattern in patterns))


def may_be(
    ask: Callable[[], Sequence[str | None]],
    patterns: tuple[str, ...],
    match: Callable[[str | None, tuple[str, ...]], bool],
) -> bool:
    """Tell whether a job may end up with one of some names; without patterns, each job does."""
    return not patterns or any(match(name, patterns) for name in ask())


def must_be(
    ask: Callable[[], Sequence[str | None]],
    patterns: tuple[str, ...],
    match: Callable[[str | None, tuple[str, ...]], bool],
) -> bool:
    """Tell whether a job can end up with none but some names; what Slurm will choose may not be known."""
    return bool(patterns and (names := ask()) and all(match(name, patterns) for name in names))
