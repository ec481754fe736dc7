# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on the time limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from slurmhooks.policies import resources
from slurmhooks.policies.base import Rule
from slurmhooks.policies.kinds import Minutes, shown_time
from slurmhooks.policies.options import option_of

if TYPE_CHECKING:
    from slurmhooks.policies.request import Request

TIME = "ESLURM_INVALID_TIME_LIMIT"
LIMITS = ("time_limit", "time_min", "deadline")
"""The fields that say how long a job may run."""


class RequireTime(Rule):
    """Jobs must have a time limit (--time); --time=0 and --time=UNLIMITED ask for none.

    Slurm can start short jobs earlier if it knows that they are short.
    """

    rule: Literal["require_time"] = "require_time"
    left_to_slurm: ClassVar[str] = "refuses a job that names no limit, whatever the DefaultTime of the partition is"

    option: ClassVar[str] = "time_limit"
    own_fields: ClassVar[tuple[str, ...]] = ("time_limit",)
    text: ClassVar[str] = "name a time limit with {option}"
    code: ClassVar[str | None] = "ESLURM_MISSING_TIME_LIMIT"

    def check(self, request: Request) -> None:
        """Refuse a job without a time limit."""
        limit = request.get("time_limit")
        if not isinstance(limit, int) or not limit:  # sbatch sends UNLIMITED for --time=0, other clients may send 0
            self.refuse(request)

    def effect(self) -> str:
        """Describe the rule."""
        return "Give a time limit with `--time`."


class DefaultTime(Rule):
    """Jobs without a time limit get one, instead of the partition's DefaultTime; not above MaxTime of the partition.

    It is at least the limit of --time-min. Jobs whose --deadline is earlier get none.
    """

    rule: Literal["default_time"] = "default_time"
    left_to_slurm: ClassVar[str] = "fills it in if the request names none"
    value: Minutes = Field(description="the time limit: minutes, or in the notation of --time")

    hooks: ClassVar[tuple[str, ...]] = ("job_submit",)
    text: ClassVar[str] = "no --time given: limited to {limit}"
    placeholders: ClassVar[dict[str, str]] = {"limit": "the time limit"}
    example: ClassVar[str] = 'value = "1:00:00"'

    def check(self, request: Request) -> None:
        """Set a missing time limit."""
        if request.job.time_limit is not None:
            return
        limit = resources.limit_time(request, max(self.value, request.number("time_min")))
        if limit is not None:
            self.tell(request, limit=shown_time(limit))

    def effect(self) -> str:
        """Describe the rule."""
        return f"A job without `--time` is limited to {shown_time(self.value)}."


class TimeCeiling(Rule):
    """Jobs may not ask for more time than a ceiling.

    Several rules of this kind can give each partition, QOS or account its own.
    A job that may run in several partitions has to meet the ceiling of each. The minimum time limit (--time-min) may
    not be above the ceiling, either. A job without a time limit is accepted as it is if Slurm gives it no more than the
    ceiling: by the DefaultTime of its partition, or by its --deadline.
    """

    rule: Literal["time_ceiling"] = "time_ceiling"
    left_to_slurm: ClassVar[str] = (
        "the largest DefaultTime (or else MaxTime) of those of its partitions that the rule is for"
    )
    limit: Minutes = Field(description="the maximum time limit: minutes, or in the notation of --time")
    longer: Literal["refuse", "lower"] = Field(
        default="refuse", description="what happens to jobs that ask for more: they are refused, or get the ceiling"
    )
    unset: Literal["set", "refuse", "accept"] = Field(
        default="set",
        description="what happens to jobs without a time limit whose DefaultTime is above the ceiling: they get the"
        " ceiling, or keep their DefaultTime; refuse refuses all jobs without a time limit",
    )

    own_fields: ClassVar[tuple[str, ...]] = (*LIMITS, "partition", "reservation")
    option: ClassVar[str] = "time_limit"
    text: ClassVar[str] = "at most {limit} in {where}; you asked for {asked} ({option})"
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
        asked = request.get("time_limit")
        if asked is None:
            if self.unset == "set":
                if resources.time_limit(request, self.limiting(request)).most > self.limit:
                    resources.limit_time(request, self.limit)
            elif self.unset == "refuse":
                self.refuse(request, limit=shown_time(self.limit), asked="no time limit")
        elif asked > self.limit:  # UNLIMITED is greater than every number
            words = {"limit": shown_time(self.limit), "asked": shown_time(asked)}
            if self.longer == "refuse":
                self.refuse(request, **words)
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
