# SPDX-License-Identifier: GPL-2.0-or-later
"""Convert time limits."""

from __future__ import annotations

import re

from slurmhooks.job_submit import times
from slurmhooks.job_submit.strings.notation import NUMBER, NotationError
from slurmhooks.values import UNLIMITED, Unlimited

TIME = re.compile(rf"{NUMBER}-(?:{NUMBER}(?::{NUMBER}){{0,2}})?|{NUMBER}(?::{NUMBER}){{0,2}}", re.ASCII)


def time_str2mins(text: str) -> int | Unlimited:
    """Return a time limit in minutes, rounded up, as ``slurm.time_str2mins`` of job_submit/lua does.

    Args:
        text: ``minutes``, ``minutes:seconds``, ``hours:minutes:seconds``, ``days-hours``, ``days-hours:minutes``,
            ``days-hours:minutes:seconds``; or ``UNLIMITED``, ``INFINITE``, ``-1``.

    Raises:
        NotationError: the text is not a time.
    """
    seconds = read_seconds(text)
    return seconds if isinstance(seconds, Unlimited) else -(-seconds // 60)


def read_seconds(text: str) -> int | Unlimited:
    """Return a time limit in seconds; see :func:`time_str2mins`."""
    if text.upper() in ("-1", "INFINITE", "UNLIMITED"):
        return UNLIMITED
    total = times.seconds(text) if TIME.fullmatch(text) else None
    if total is None:
        raise NotationError(
            f"not a time: {text!r}; write minutes, hours:minutes:seconds or days-hours:minutes:seconds",
            code="ESLURM_INVALID_TIME_LIMIT",
        )
    return total


def mins_to_time_str(minutes: int | Unlimited) -> str:
    """Return minutes as Slurm's tools print them: ``1-02:03:00``, ``00:05:00``, ``UNLIMITED``."""
    if isinstance(minutes, Unlimited):
        return "UNLIMITED"
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days}-{hours:02d}:{minutes:02d}:00" if days else f"{hours:02d}:{minutes:02d}:00"
