# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes Python's clocks show the time of a recorded request.

This changes ``time.time()`` and its relatives, ``datetime.now()``, ``utcnow()`` and ``today()``, but not
``time.monotonic()``, the clock of Lua scripts, or that of other programs. A module gets the replaced classes if it is
imported after :func:`install`.
"""

from __future__ import annotations

import datetime
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_time, _localtime, _gmtime, _strftime, _asctime = time.time, time.localtime, time.gmtime, time.strftime, time.asctime
_datetime, _date = datetime.datetime, datetime.date
_recorded: float | None = None


def show(seconds: float | None) -> None:
    """Show a time, in seconds since the epoch; None: the real time."""
    global _recorded
    _recorded = seconds


def now() -> float:
    """Return the time that is shown."""
    return _time() if _recorded is None else _recorded


class _Kind(type):
    """Makes ``isinstance`` treat a replaced class as the original one."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[1])

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.__mro__[1])


class _Datetime(datetime.datetime, metaclass=_Kind):
    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        return _datetime.__new__(_datetime if cls is _Datetime else cls, *arguments, **named)

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return _datetime.fromtimestamp(now(), tz)

    @classmethod
    def today(cls) -> Any:
        return _datetime.fromtimestamp(now())

    @classmethod
    def utcnow(cls) -> Any:
        return _datetime.fromtimestamp(now(), datetime.UTC).replace(tzinfo=None)


class _Date(datetime.date, metaclass=_Kind):
    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        return _date.__new__(_date if cls is _Date else cls, *arguments, **named)

    @classmethod
    def today(cls) -> Any:
        return _date.fromtimestamp(now())


def _replacements() -> dict[tuple[Any, str], Any]:
    return {
        (time, "time"): now,
        (time, "time_ns"): lambda: round(now() * 1e9),
        (time, "localtime"): lambda seconds=None: _localtime(now() if seconds is None else seconds),
        (time, "gmtime"): lambda seconds=None: _gmtime(now() if seconds is None else seconds),
        (time, "ctime"): lambda seconds=None: _asctime(_localtime(now() if seconds is None else seconds)),
        (time, "asctime"): lambda at=None: _asctime(_localtime(now()) if at is None else at),
        (time, "strftime"): lambda form, at=None: _strftime(form, _localtime(now()) if at is None else at),
        (datetime, "datetime"): _Datetime,
        (datetime, "date"): _Date,
    }


def install() -> None:
    """Replace the clocks of this process."""
    for (module, name), replacement in _replacements().items():
        setattr(module, name, replacement)


@contextmanager
def installed() -> Iterator[None]:
    """Replace the clocks until the block ends. Modules imported in it keep new clocks, which then show real time."""
    before = {place: getattr(*place) for place in _replacements()}
    install()
    try:
        yield
    finally:
        show(None)
        for (module, name), original in before.items():
            setattr(module, name, original)
