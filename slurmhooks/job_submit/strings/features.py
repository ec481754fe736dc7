# SPDX-License-Identifier: GPL-2.0-or-later
"""Read features of nodes, as in --constraint."""

from __future__ import annotations

import re

COUNT = re.compile(r"\*\s*([+-]?)0*(\d+)", re.ASCII)
LARGEST = (1 << 63) - 1
"""strtol() returns no larger number, and its negative minus one as the smallest."""


def nodes_with_features(text: str | None) -> int:
    """Return the sum of the numbers of nodes in ``a*2&b*4``, as _feature_string2list() of job_scheduler.c does.

    Of each number it takes the low 32 bits, and refuses 0 and negative ones.
    """
    numbers = (int(sign + digits[:20]) for sign, digits in COUNT.findall(text or ""))
    limited = (min(max(number, -LARGEST - 1), LARGEST) for number in numbers)
    return sum(max((number + (1 << 31)) % (1 << 32) - (1 << 31), 0) for number in limited)
