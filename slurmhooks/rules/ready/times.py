# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on the time limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from slurmhooks.rules import resources
from slurmhooks.rules.base import Rule
from slurmhooks.rules.kinds import shown_time
from slurmhooks.rules.options import option_of
from slurmhooks.rules.ready.writes import refuse_half_moves
from slurmhooks.rules.table import key

if TYPE_CHECKING:
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Minutes

TIME = "ESLURM_INVALID_TIME_LIMIT"
LIMITS = ("time_limit", "time_min", "deadline")
"""The fields that say how long a job may run."""


class TimeCeiling(Rule):
    """Jobs may not ask for more time than a ceiling.

    Several rules of this kind can give each partition, QOS or account its own.
    A job that may run in several partitions has to meet the ceiling of each. The minimum time limit (--time-min) may
    not be above the ceiling, either. A job without a time limit is accepted as it is if Slurm gives it no more than the
    ceiling: by the DefaultTime of its partition, or by its --deadline.
    """

    rule: Literal["time_ceiling"] = key("time_ceiling")
    left_to_slurm: ClassVar[str] = (
        "the DefaultTime of the first of its partitions; if that has none, the largest DefaultTime (or else MaxTime)"
        " of those that the rule is for"
    )
    limit: Minutes = key(..., "the maximum time limit: minutes, or in the notation of --time")
    longer: Literal["refuse", "lower"] = key(
        "refuse", "what happens to jobs that ask for more: they are refused, or get the ceiling"
    )
    unset: Literal["set", "refuse", "accept"] = key(
        "set",
        "what happens to jobs without a time limit whose DefaultTime is above the ceiling: they get the"
        " ceiling, or keep their DefaultTime; refuse refuses all jobs without a time limit",
    )

    own_fields: ClassVar[tuple[str, ...]] = (*LIMITS, "partition", "reservation")
    option: ClassVar[str] = "time_limit"
    text: ClassVar[str] = "at most {limit} in {where}; the job would have {asked} ({option})"
    lowering: ClassVar[str] = "time limit lowered from {asked} to {limit}, the most in {where}"
    placeholders: ClassVar[dict[str, str]] = {"limit": "the ceiling", "asked": "the time limit of the job"}
    code: ClassVar[str | None] = TIME
    example: ClassVar[str] = 'partitions = ["debug"]\nlimit = "30:00"'

    def check(self, request: Request) -> None:
        """Refuse or lower a time limit above the ceiling."""
        if request.modify and request.get("time_limit") is not None and not request.sets(self.with_selecting(LIMITS)):
            return  # a move only changes the DefaultTime of jobs without a time limit
        least = request.number("time_min")
        if least > self.limit:
            self.refuse(
                request, limit=shown_time(self.limit), asked=shown_time(least), option=option_of(request, "time_min")
            )
        asked = resources.named_limit(request, self.limit)
        if asked is None:
            if self.unset == "set":
                if resources.time_limit(request, self.limiting(request)).most > self.limit:
                    refuse_half_moves(self, request, "time_limit")
                    resources.limit_time(request, self.limit)
            elif self.unset == "refuse":
                self.refuse(request, limit=shown_time(self.limit), asked="no time limit")
        elif asked > self.limit:  # UNLIMITED is greater than every number
            words = {"limit": shown_time(self.limit), "asked": shown_time(asked)}
            if self.longer == "refuse":
                self.refuse(request, **words)
            refuse_half_moves(self, request, "time_limit")
            request.job.time_limit = self.limit
            self.tell(request, self.lowering, **words)

    def effect(self) -> str:
        """Describe the rule."""
        longer = "Jobs that ask for more are refused." if self.longer == "refuse" else "Jobs that ask for more get it."
        unset = {
            "set": " Those without `--time` get no more.",
            "refuse": " Jobs without `--time` are refused.",
            "accept": "",
        }
        return f"The time limit is at most {shown_time(self.limit)}. {longer}{unset[self.unset]}"
