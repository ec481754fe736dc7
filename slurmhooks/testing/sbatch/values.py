# SPDX-License-Identifier: GPL-2.0-or-later
"""Read arguments of sbatch's options."""

import re
import time

PERIODS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
"""In seconds."""
DATES = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d")


class SbatchError(ValueError):
    """An option that sbatch would refuse, too."""


def moment(text: str) -> int:
    """Return a point in time as seconds since the epoch."""
    match = re.fullmatch(r"now(?:\+([0-9]{1,10})(?:(second|minute|hour|day|week)s?)?)?", text, re.IGNORECASE)
    if match:
        return int(time.time()) + int(match.group(1) or 0) * PERIODS[(match.group(2) or "second").lower()]
    for form in DATES:
        try:
            return int(time.mktime(time.strptime(text, form)))
        except (ValueError, OverflowError):
            continue
    raise SbatchError(f"{text!r} is not a time; write 2030-01-31T12:00, 2030-01-31, now or now+2hours")


def number(text: str) -> int:
    """Return a number; the suffixes K and M are powers of 1024, as in sbatch."""
    match = re.fullmatch(r"(-?[0-9]{1,18})([kKmM]?)", text)
    if not match:
        raise SbatchError(f"{text!r} is not a number")
    return int(match.group(1)) * {"": 1, "k": 1024, "m": 1024 * 1024}[match.group(2).lower()]
