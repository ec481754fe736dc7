# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that inform users: notices, and the effect of a maintenance on a job."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from slurmhooks.fields.constants import JobState, ReservationFlag
from slurmhooks.handlers.registry import SKIP
from slurmhooks.policies.base import Rule
from slurmhooks.policies.kinds import Minutes, shown_time

if TYPE_CHECKING:
    from slurmhooks.policies.request import Request


class Notice(Rule):
    """Users read a message when they submit a job, for example that a partition will close."""

    rule: Literal["notice"] = "notice"
    message: str = Field(min_length=1, description="what the user reads")

    hooks: ClassVar[tuple[str, ...]] = ("job_submit",)
    text: ClassVar[str] = ""
    after_refusal: ClassVar[int] = SKIP
    example: ClassVar[str] = 'partitions = ["old"]\nmessage = "partition {partition} closes on 1 May"'

    @property
    def informs(self) -> bool:
        """Whether it only informs users."""
        return True

    def check(self, request: Request) -> None:
        """Show the message."""
        self.tell(request)

    def effect(self) -> str:
        """Describe the rule."""
        return f"Notice: {self.message}"


class Maintenance(Rule):
    """Users are told if a job cannot end before a maintenance, or such jobs are refused.

    The rule names start and end of the maintenance; without them, the next reservation with the flag MAINT counts. A
    job without a time limit counts as a job that cannot end before the maintenance; one that may not begin before its
    end (--begin) is not concerned. If such jobs are refused, so are updates that make one of a job.
    """

    rule: Literal["maintenance"] = "maintenance"
    start: datetime | None = Field(default=None, description="its start, such as 2027-05-01T08:00:00")
    end: datetime | None = Field(default=None, description="its end; afterwards the rule says nothing")
    ahead: Minutes | None = Field(
        default=None, description="how long before the start the rule applies; by default always"
    )
    jobs: Literal["accept", "refuse"] = Field(
        default="accept",
        description="what happens to jobs that cannot end before; Slurm starts accepted ones afterwards",
    )

    own_fields: ClassVar[tuple[str, ...]] = ("time_limit", "begin_time")
    text: ClassVar[str] = "maintenance from {start} to {end}: the job can only start afterwards (time limit: {asked})"
    placeholders: ClassVar[dict[str, str]] = {
        "start": "the start",
        "end": "the end",
        "asked": "the time limit of the job",
    }
    code: ClassVar[str | None] = "ESLURM_ACCESS_DENIED"
    example: ClassVar[str] = 'start = 2027-05-01T08:00:00\nend = 2027-05-02T18:00:00\njobs = "refuse"'

    @model_validator(mode="after")
    def _has_both(self) -> Maintenance:
        if (self.start is None) != (self.end is None):
            raise ValueError("needs both start and end, or neither")
        if self.start is not None and self.end is not None and self.start.timestamp() >= self.end.timestamp():
            raise ValueError("start must be before end")
        return self

    @property
    def informs(self) -> bool:
        """Whether it only informs users."""
        return self.jobs == "accept"

    def active_hooks(self) -> tuple[str, ...]:
        """Return only job_submit if the rule just informs."""
        return tuple(hook for hook in super().active_hooks() if self.jobs == "refuse" or hook == "job_submit")

    def tables(self, hook: str) -> tuple[str, ...]:
        """Return the table of reservations if the rule names no times."""
        return () if self.start is not None else ("reservations",)

    def check(self, request: Request) -> None:
        """Tell the user, or refuse the job."""
        now = time.time()
        begin = _begin(request, now)
        window = self._window(request, begin)
        if window is None:
            return
        start, end = window
        if self.ahead is not None and now < start - 60 * self.ahead:
            return
        limit = request.get("time_limit")
        if isinstance(limit, int) and begin + 60 * limit <= start:
            return
        asked = "none" if limit is None else shown_time(limit)
        words = {"start": _shown(start), "end": _shown(end), "asked": asked}
        if self.jobs == "refuse":
            self.refuse(request, **words)
        self.tell(request, **words)

    def _window(self, request: Request, begin: float) -> tuple[float, float] | None:
        """Return start and end of the first maintenance that is not over at a time, in seconds since 1970."""
        if self.start is not None and self.end is not None:
            windows = [(self.start.timestamp(), self.end.timestamp())]
        else:
            windows = [
                (float(each.start_time), float(each.end_time))
                for each in request.tables["reservations"].values()
                if each.flags & ReservationFlag.RESERVE_FLAG_MAINT
            ]
        return min((window for window in windows if window[1] > begin), default=None)

    def effect(self) -> str:
        """Describe the rule."""
        when = "the next maintenance"
        if self.start is not None and self.end is not None:
            when = f"the maintenance from {_shown(self.start.timestamp())} to {_shown(self.end.timestamp())}"
        what = "are refused" if self.jobs == "refuse" else "start afterwards"
        return f"Jobs whose time limit reaches into {when} {what}."


def _begin(request: Request, now: float) -> float:
    """Return when a job starts at the earliest, or has started, in seconds since 1970."""
    record = request.record
    if record is not None and record.job_state in (JobState.JOB_RUNNING, JobState.JOB_SUSPENDED):
        return record.start_time or now
    return max(now, request.number("begin_time"))


def _shown(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
