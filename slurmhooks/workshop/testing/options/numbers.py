# SPDX-License-Identifier: GPL-2.0-or-later
"""Read numbers, times and amounts as the C functions of Slurm's commands do, with their limits.

Source: strtol(3); parse_time.c:time_str2secs; proc_args.c:str_to_mbytes, str_to_nodes.
"""

from __future__ import annotations

import re

from slurmhooks.job_submit import times

LONG_MAX = (1 << 63) - 1
SPACE = " \t\n\v\f\r"
LONGEST = 64
"""A number with so many digits is too large, unless they are zeros."""
INT_MAX = (1 << 31) - 1
_DIGITS = {
    10: re.compile(r"[ \t-\r]*([+-]?)([0-9]+)"),
    16: re.compile(r"[ \t-\r]*([+-]?)(?:0[xX](?=[0-9a-fA-F]))?([0-9a-fA-F]+)"),
}
_FACTORS = {"": 1, "m": 1, "g": 1 << 10, "t": 1 << 20}
UNLIMITED_WORDS = ("-1", "infinite", "unlimited")
NEVER = (1 << 32) - 1
"""INFINITE of slurm.h."""


def strtol(text: str, base: int = 10) -> tuple[int, str]:
    """Return the number at the begin of a text, or 0, and what follows it; a number that is too large is LONG_MAX."""
    match = _DIGITS[base].match(text)
    if match is None:
        return 0, text
    value = int(match[2], base) if len(match[2]) < LONGEST else LONG_MAX
    return max(-LONG_MAX - 1, -value) if match[1] == "-" else min(LONG_MAX, value), text[match.end() :]


def int32(value: int) -> int:
    """Return a number as C stores it in an int."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def seconds(text: str) -> int:
    """Return a period in seconds; :data:`NEVER` for one without end.

    Raises:
        ValueError: Slurm refuses the text.
    """
    if text.lower() in UNLIMITED_WORDS:
        return NEVER
    # times.seconds() takes no number of 19 digits, of which C stores the last 32 bits.
    short = re.sub(r"(\A-|)([0-9]{19,})", lambda long: f"{long[1]}{abs(strtol(long[0])[0]) % (1 << 32)}", text)
    value = times.seconds(short)
    if value is None:
        raise ValueError(text)
    return int32(value)


def minutes(text: str) -> int:
    """Return a period in minutes, rounded up; see :func:`seconds`."""
    value = seconds(text)
    return value if value == NEVER else int((value + 59) / 60)


def megabytes(text: str) -> int:
    """Return an amount of memory in MiB; kilobytes are rounded up.

    Raises:
        ValueError: Slurm refuses the text.
    """
    value, unit = strtol(text)
    unit = unit.lower()
    if len(unit) == 2:
        unit = unit.removesuffix("b")
    if not _DIGITS[10].match(text) or not 0 <= value < LONG_MAX or unit not in (*_FACTORS, "k"):
        raise ValueError(text)
    return -(-value // 1024) if unit == "k" else value * _FACTORS[unit] % (1 << 64)


def node_count(text: str) -> int:
    """Return a number of nodes, in which K and M are powers of 1024; -1 if it is none.

    Raises:
        ValueError: Slurm refuses the text.
    """
    match = _DIGITS[10].match(text)
    value, rest = strtol(text)
    for unit, factor in (("k", 1 << 10), ("m", 1 << 20)):
        if match and rest[:1].lower() == unit:
            value, rest = value * factor, rest[1:]
    if rest.strip(SPACE):
        raise ValueError(text)
    return value if match and 0 <= value <= INT_MAX else -1
