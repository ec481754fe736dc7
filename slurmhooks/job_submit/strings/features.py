# SPDX-License-Identifier: GPL-2.0-or-later
"""Read features of nodes, as in --constraint."""

from __future__ import annotations

import re

COUNT = re.compile(r"\*\s*([+-]?)0*(\d+)", re.ASCII)
LARGEST = (1 << 63) - 1
"""strtol() returns no larger number, and its negative minus one as the smallest."""
PARENTHESES = re.compile(r"\([^()]*\)")
BRACKETS = re.compile(r"\[([^\[\]]*)\]")
AND = re.compile("[&,]")
OPERATOR = re.compile("[&,|]")


def nodes_with_features(text: str | None) -> int:
    """Return the sum of the numbers of nodes in ``a*2&b*4``, as _feature_string2list() of job_scheduler.c reads them.

    Of each number it takes the low 32 bits, and refuses 0 and negative ones; of several numbers of a feature it takes
    the last. In brackets, _valid_feature_list() refuses numbers of alternatives, so that those count for nothing.
    """
    if not text:
        return 0
    one_level = PARENTHESES.sub(lambda group: OPERATOR.sub(".", group[0]), text)
    counted = BRACKETS.sub(_without_alternatives, one_level)
    return sum(_last(COUNT.findall(feature)) for feature in OPERATOR.split(counted))


def _without_alternatives(brackets: re.Match[str]) -> str:
    """Return what is in brackets without those features of which Slurm chooses one."""
    return f"[{'&'.join(features for features in AND.split(brackets[1]) if '|' not in features)}]"


def _last(counts: list[tuple[str, str]]) -> int:
    """Return the last of the numbers of a feature; 0 if there is none, or slurmctld refuses it."""
    if not counts:
        return 0
    sign, digits = counts[-1]
    number = min(max(int(sign + digits[:20]), -LARGEST - 1), LARGEST)
    return max((number + (1 << 31)) % (1 << 32) - (1 << 31), 0)
