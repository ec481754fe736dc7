# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the arguments of sbatch's options."""

import re
import time
from typing import Any

from slurmhooks.values import UNLIMITED

UNITS = {"": 1.0, "M": 1.0, "K": 1 / 1024, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
"""Of memory, in MiB."""
PERIODS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
DATES = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d")


class SbatchError(ValueError):
    """An option that sbatch would not take either."""


def minutes(text: str) -> Any:
    """Read a time limit; seconds are rounded up."""
    total = seconds(text)
    return total if total is UNLIMITED else -(-total // 60)


def seconds(text: str) -> Any:
    """Read a time limit, without rounding."""
    if text.lower() in ("-1", "infinite", "unlimited"):
        return UNLIMITED
    found = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if not found:
        raise SbatchError(
            f"{text!r} is no time: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:...]]"
        )
    days, first, second, third = (None if part is None else int(part) for part in found.groups())
    if days is None and third is None:
        return first * 60 + (second or 0)  # type: ignore[operator]
    return (days or 0) * 86400 + first * 3600 + (second or 0) * 60 + (third or 0)  # type: ignore[operator]


def mib(text: str) -> int:
    """Read an amount of memory; a number alone is MiB."""
    found = re.fullmatch(r"(\d+)([KMGTP]?)B?", text, re.IGNORECASE)
    if not found:
        raise SbatchError(f"{text!r} is no amount of memory, such as 4000, 512M or 16G")
    exact = int(found.group(1)) * UNITS[found.group(2).upper()]
    return int(exact) + (exact > int(exact))


def moment(text: str) -> int:
    """Read a point in time."""
    found = re.fullmatch(r"now(?:\+(\d+)(?:(second|minute|hour|day|week)s?)?)?", text, re.IGNORECASE)
    if found:
        return int(time.time()) + int(found.group(1) or 0) * PERIODS[(found.group(2) or "second").lower()]
    for form in DATES:
        try:
            return int(time.mktime(time.strptime(text, form)))
        except ValueError:
            continue
    raise SbatchError(f"{text!r} is none of the times known here: 2030-01-31T12:00, 2030-01-31, now, now+2hours")


def number(text: str) -> int:
    """Read a number; K and M are taken as sbatch takes them."""
    found = re.fullmatch(r"(-?\d+)([kKmM]?)", text)
    if not found:
        raise SbatchError(f"{text!r} is no number")
    return int(found.group(1)) * {"": 1, "k": 1024, "m": 1024 * 1024}[found.group(2).lower()]
