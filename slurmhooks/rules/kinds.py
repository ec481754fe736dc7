# SPDX-License-Identifier: GPL-2.0-or-later
"""What rules do with the values that they have in slurmhooks.toml: show them, and compare names with them."""

from __future__ import annotations

import re
import time
from fnmatch import translate
from functools import cache
from typing import TYPE_CHECKING

from slurmhooks.job_submit.strings import mib_to_mem_str, mins_to_time_str

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slurmhooks.values import Unlimited


def shown_time(minutes: int | Unlimited) -> str:
    """Return a time limit as Slurm shows it."""
    return mins_to_time_str(minutes)


def shown_moment(moment: float) -> str:
    """Return a time, in seconds since 1970, in the time zone of this process; a program may send one without a date."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
    except (OSError, OverflowError, ValueError):
        return f"{moment:.0f}"


def shown_memory(mib: int) -> str:
    """Return an amount of memory as Slurm shows it."""
    return mib_to_mem_str(mib)


def counted(number: int, what: str) -> str:
    """Return a number of things: ``1 node``, ``2 nodes``."""
    return f"{number} {what if number == 1 else f'{what}s'}"


def listed(words: Sequence[str], last: str = "or") -> str:
    """Return names as a text: ``a, b or c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else "none"


def matches(name: str | None, patterns: tuple[str, ...]) -> bool:
    """Tell whether a name matches one of some shell patterns."""
    return name is not None and _compiled(patterns).match(name) is not None


@cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return an expression for shell patterns, which are those of the site; without any, it matches nothing."""
    return re.compile("|".join(map(translate, patterns)) or "(?!)")


def matches_any_case(name: str | None, patterns: tuple[str, ...]) -> bool:
    """Tell whether the name of an account or QOS matches a shell pattern, ignoring case as Slurm does."""
    return name is not None and matches(name.lower(), tuple(pattern.lower() for pattern in patterns))


def may_be(
    ask: Callable[[], Sequence[str | None]],
    patterns: tuple[str, ...],
    match: Callable[[str | None, tuple[str, ...]], bool],
) -> bool:
    """Tell whether a job may end up with one of some names; without patterns, each job does."""
    return not patterns or any(match(name, patterns) for name in ask())


def must_be(
    ask: Callable[[], Sequence[str | None]],
    patterns: tuple[str, ...],
    match: Callable[[str | None, tuple[str, ...]], bool],
) -> bool:
    """Tell whether a job can end up with none but some names; what Slurm will choose may not be known."""
    return bool(patterns and (names := ask()) and all(match(name, patterns) for name in names))
