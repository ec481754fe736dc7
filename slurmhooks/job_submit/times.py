# SPDX-License-Identifier: GPL-2.0-or-later
"""Parse time limits as Slurm does (parse_time.c)."""

from __future__ import annotations

import re

TOO_LONG = re.compile(r"\d{19}")
"""A number with more digits than 64 bits can hold; converting a long number takes quadratic time."""


def seconds(text: str) -> int | None:
    """Return a time in seconds; None if Slurm does not accept the text, or a number has more than 18 digits.

    Slurm counts groups of digits, and hardly checks their positions. This function does the same, because Lua scripts
    rely on it.
    """
    if not _is_timespec(text) or TOO_LONG.search(text):
        return None
    if "-" in text:
        days, hours, minutes, rest = (*_scan(text, "-::"), 0, 0, 0, 0)[:4]
        return days * 86400 + hours * 3600 + minutes * 60 + rest
    numbers = _scan(text, "::")
    first, second, third = (*numbers, 0, 0, 0)[:3]
    return first * 3600 + second * 60 + third if len(numbers) == 3 else first * 60 + second


def _is_timespec(text: str) -> bool:
    groups = dashes = colons = 0
    before = ""
    for sign in text:
        if sign in "0123456789":
            groups += not before.isdigit()
        elif sign == "-":
            dashes += 1
            if colons:
                return False
        elif sign == ":":
            colons += 1
        else:
            return False
        before = sign
    return groups > 0 and dashes <= 1 and colons <= 2 and (not colons or groups > colons + dashes)


def _scan(text: str, signs: str) -> list[int]:
    """Return the numbers that sscanf reads, with these characters between them."""
    numbers = []
    at = 0
    for sign in (*signs, None):
        end = at + (text[at : at + 1] == "-")
        while text[end : end + 1].isdigit():
            end += 1
        if not text[at:end].strip("-"):
            break
        numbers.append(int(text[at:end]))
        if sign is None or text[end : end + 1] != sign:
            break
        at = end + 1
    return numbers
