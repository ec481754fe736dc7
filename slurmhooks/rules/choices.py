# SPDX-License-Identifier: GPL-2.0-or-later
"""Choices: values with the conditions under which a job gets them, for rules that choose something for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.job_submit.users import split_names
from slurmhooks.rules.conditions import Place
from slurmhooks.rules.table import key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Value


class Choice(Place):
    """A value that a job gets if it meets all conditions; without conditions, every job gets it."""

    to: Value = key(..., "what the job gets")

    def fits(self, request: Request, there: Sequence[str] | None = None) -> bool:
        """Tell whether a job meets all conditions. Without memory, it meets no condition on that.

        ``there`` are the partitions in which it would run; None: those of the request.
        """
        return self.is_there(request, sure=False) and self.meets(request, sure=True, there=there)


def choose(cases: tuple[Choice, ...], request: Request, *, partition: bool = False) -> int:
    """Return which case is the first whose conditions a job meets; the number of cases if there is none.

    ``partition``: the values are partitions, whose defaults the job would have.
    """
    there = (split_names(case.to) if partition else None for case in cases)
    fits = (number for number, (case, names) in enumerate(zip(cases, there, strict=True)) if case.fits(request, names))
    return next(fits, len(cases))


def effects(cases: tuple[Choice, ...]) -> str:
    """Describe cases in words."""
    return "; ".join(f"`{case.to}` for {case.described() or 'all others'}" for case in cases)
