# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that inform users: notices, and the effect of a maintenance on a job."""

from __future__ import annotations

import math
import time
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from slurmhooks.fields.constants import JobState, ReservationFlag
from slurmhooks.handlers.registry import SKIP
from slurmhooks.job_submit.bounds import computing
from slurmhooks.job_submit.bounds.model import YEAR
from slurmhooks.job_submit.strings import NotationError, expand_nodes
from slurmhooks.job_submit.unchanged import Unchanged
from slurmhooks.job_submit.users import split_names
from slurmhooks.rules import resources
from slurmhooks.rules.base import Rule, known_placeholders
from slurmhooks.rules.kinds import shown_moment, shown_time
from slurmhooks.rules.ready.times import LIMITS
from slurmhooks.rules.table import key
from slurmhooks.values import UNLIMITED

if TYPE_CHECKING:
    from slurmhooks.job_submit.bounds import Range
    from slurmhooks.job_submit.model import Job
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Minutes


class Notice(Rule):
    """Users read a message when they submit a job, for example that a partition will close."""

    rule: Literal["notice"] = key("notice")
    left_to_slurm: ClassVar[str] = "what Slurm chooses for partition, account and QOS"
    message: str = key(..., "what the user reads", check=known_placeholders, min_length=1)

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

    The rule names start and end of the maintenance; without them, reservations with the flag MAINT count, each for jobs
    whose partitions do not have enough other nodes. Reservations by which a job names itself do not count, nor do those
    that are MAGNETIC, float (TIME_FLOAT), or take cores or licenses instead of whole nodes.

    The time limit is the shortest with which Slurm starts the job: that of --time-min, --time, or the DefaultTime of
    its partition. A job that may not begin before the end of the maintenance (--begin) is not concerned. If such jobs
    are refused, so are updates that make one of a job, or let one end later; others of such a job are accepted.
    """

    rule: Literal["maintenance"] = key("maintenance")
    left_to_slurm: ClassVar[str] = (
        "--time-min, or the DefaultTime of the first of its partitions; if that has none, the shortest DefaultTime (or"
        " else MaxTime) of them; without any limit, the job cannot end before"
    )
    start: datetime | None = key(None, "its start, such as 2027-05-01T08:00:00")
    end: datetime | None = key(None, "its end; afterwards the rule says nothing")
    ahead: Minutes | None = key(None, "how long before the start the rule applies; by default always")
    jobs: Literal["accept", "refuse"] = key(
        "accept", "what happens to jobs that cannot end before; Slurm starts accepted ones afterwards"
    )

    own_fields: ClassVar[tuple[str, ...]] = (*LIMITS, "begin_time", "exc_nodes", *resources.FIELDS)
    text: ClassVar[str] = "maintenance from {start} to {end}: the job can only start afterwards (time limit: {asked})"
    placeholders: ClassVar[dict[str, str]] = {
        "start": "the start",
        "end": "the end",
        "asked": "the time limit of the job",
    }
    code: ClassVar[str | None] = "ESLURM_ACCESS_DENIED"
    example: ClassVar[str] = 'start = 2027-05-01T08:00:00\nend = 2027-05-02T18:00:00\njobs = "refuse"'

    def settle(self) -> None:
        """Check that it begins before it ends."""
        super().settle()
        if (self.start is None) != (self.end is None):
            raise ValueError("needs both start and end, or neither")
        if self.start is not None and self.end is not None and self.start.timestamp() >= self.end.timestamp():
            raise ValueError("start must be before end")

    @property
    def informs(self) -> bool:
        """Whether it only informs users."""
        return self.jobs == "accept"

    def deciding(self) -> tuple[str, ...]:
        """Return no sizes if the rule names the times: they matter where reservations leave nodes."""
        return self.own_fields if self.start is None else (*LIMITS, "begin_time", "partition", "reservation")

    def active_hooks(self) -> tuple[str, ...]:
        """Return only job_submit if the rule just informs."""
        return tuple(hook for hook in super().active_hooks() if self.jobs == "refuse" or hook == "job_submit")

    def tables(self, hook: str) -> tuple[str, ...]:
        """Return the table of reservations if the rule names no times."""
        return () if self.start is not None else ("reservations",)

    def check(self, request: Request) -> None:
        """Tell the user, or refuse the job."""
        now = time.time()
        reached = self._reached(request, now)
        if reached is None or (request.modify and self._is_no_worse(request, now, reached[1])):
            return
        found, _ = reached
        limit = request.get("time_limit")
        asked = resources.time_limit(request, self.limiting(request)).most if limit is None else limit
        shown = "none" if limit is None and asked is UNLIMITED else shown_time(asked)
        words = {"start": shown_moment(found[0]), "end": shown_moment(found[1]), "asked": shown}
        if self.jobs == "refuse":
            self.refuse(request, **words)
        self.tell(request, **words)

    def _reached(self, request: Request, now: float) -> tuple[Window, float] | None:
        """Return the maintenance that a job reaches into, and when the job ends at the earliest; None: it does not."""
        begin = _begin(request, now)
        least = _least(resources.time_limit(request, self.limiting(request)))
        # Without a limit, a job never ends, however far the maintenance is.
        minutes = math.inf if least >= YEAR else least
        if self.start is not None and self.end is not None:
            window = self.start.timestamp(), self.end.timestamp()
            found = window if _reach(window, begin, minutes) else None
        else:
            found = _reserved(request, begin)
        if found is None or (self.ahead is not None and now < found[0] - 60 * self.ahead):
            return None
        return found, begin + 60 * minutes

    def _is_no_worse(self, request: Request, now: float, end: float) -> bool:
        """Tell whether the job of an update already is one that the rule refuses, and does not end later than it."""
        before = request.before()
        if request.record is None or not self._share.isdisjoint(("partitions", "accounts")):
            return False  # it is not known what the rule was for the job
        if not self.is_for(before) or self.exception(before) is not None:
            return False
        if any(self.is_exempt(each, before) for each in self.exemptions):
            return False
        before.job = cast("Job", Unchanged(request.job))
        reached = self._reached(before, now)
        return reached is not None and end <= reached[1]

    def effect(self) -> str:
        """Describe the rule."""
        when = "the next maintenance"
        if self.start is not None and self.end is not None:
            when = (
                f"the maintenance from {shown_moment(self.start.timestamp())} to {shown_moment(self.end.timestamp())}"
            )
        what = "are refused" if self.jobs == "refuse" else "start afterwards"
        return f"Jobs whose time limit reaches into {when} {what}."


Window = tuple[float, float]
"""Start and end of a maintenance, in seconds since 1970."""
NOT_FOR_ALL = (
    ReservationFlag.RESERVE_FLAG_MAGNETIC  # jobs may start in it without naming it
    | ReservationFlag.RESERVE_FLAG_TIME_FLOAT  # it never begins
)
"""Flags of reservations that do not count, because Slurm may start jobs in spite of them, or tells them another way."""


def _reach(window: Window, begin: float, minutes: float) -> bool:
    """Tell whether a job that begins at a time is in a maintenance before it ends."""
    return window[1] > begin and begin + 60 * minutes > window[0]


def _least(limit: Range) -> int:
    """Return the shortest time limit with which Slurm starts a job; a year if none is known."""
    return YEAR if limit.most is UNLIMITED and not limit.least else limit.least


def _reserved(request: Request, begin: float) -> Window | None:
    """Return the first maintenance that keeps Slurm from starting a job in any of its partitions; None if none does."""
    own = split_names(request.get("reservation"))
    rows = [
        (row, (float(row.start_time), float(row.end_time)))
        for row in request.tables["reservations"].values()
        if row.flags & ReservationFlag.RESERVE_FLAG_MAINT and not row.flags & NOT_FOR_ALL
        if row.full_nodes and row.node_list and row.name not in own
    ]
    partitions = computing.partitions_of(request.job, request.record, nodes=False)
    found = []
    for partition in partitions:
        least = _least(resources.time_limit(request, (partition.name or "",)))
        taking = [(row, window) for row, window in rows if _reach(window, begin, least)]
        has = nodes_of(None if request.job._cluster is None else request.job._cluster.node_list(partition.name))
        left = has.difference(nodes_of(request.get("exc_nodes")), *(nodes_of(row.node_list) for row, _ in taking))
        needed = resources.bounds(request).nodes.least
        if not taking or not has or (len(left) >= needed and left.issuperset(nodes_of(request.get("req_nodes")))):
            return None  # Slurm may start it here
        found += [window for row, window in taking if not has.isdisjoint(nodes_of(row.node_list))]
    return min(found, default=None)


@lru_cache(maxsize=32)
def nodes_of(text: str | None) -> frozenset[str]:
    """Return the names in a node list; none if it cannot be read."""
    try:
        return frozenset(expand_nodes(text))
    except NotationError:
        return frozenset()


def _begin(request: Request, now: float) -> float:
    """Return when a job starts at the earliest, or has started, in seconds since 1970."""
    record = request.record
    if record is not None and record.job_state in (JobState.JOB_RUNNING, JobState.JOB_SUSPENDED):
        return record.start_time or now
    return max(now, request.number("begin_time"))
