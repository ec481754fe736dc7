# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the arguments of sbatch's options."""

import re
import time

PERIODS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
DATES = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d")


class SbatchError(ValueError):
    """An option that sbatch would not take either."""


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
