# SPDX-License-Identifier: GPL-2.0-or-later
"""Convert amounts of memory."""

from __future__ import annotations

import re

from slurmhooks.job_submit.strings.notation import MAX_AMOUNT, NUMBER, NotationError

MEMORY = re.compile(rf"\s*\+?({NUMBER})(?:([kKmMgGtT])[bB]?)?", re.ASCII)
MIB = {"m": 1, "g": 1 << 10, "t": 1 << 20}


def mem_str_to_mib(text: str) -> int:
    """Return an amount of memory in MiB, as ``--mem`` reads it.

    Args:
        text: a number of MiB, or a number with the suffix K, M, G or T; K is rounded up to MiB.

    Raises:
        NotationError: the text is not an amount of memory.
    """
    match = MEMORY.fullmatch(text)
    if match is None:
        raise NotationError(
            f"not an amount of memory: {text!r}; write a number, or a number with the suffix K, M, G or T",
            code="ESLURM_INVALID_TASK_MEMORY",
        )
    number, unit = int(match.group(1)), (match.group(2) or "m").lower()
    mib = -(-number // 1024) if unit == "k" else number * MIB[unit]
    if mib > MAX_AMOUNT:
        raise NotationError(f"not an amount of memory: {text!r} is too large", code="ESLURM_INVALID_TASK_MEMORY")
    return mib


def mib_to_mem_str(mib: int) -> str:
    """Return an amount in MiB as Slurm writes it, with the largest unit that is exact: ``8G``, ``1500M``."""
    for unit, size in (("T", 1 << 20), ("G", 1 << 10)):
        if mib and mib % size == 0:
            return f"{mib // size}{unit}"
    return f"{mib}M"
