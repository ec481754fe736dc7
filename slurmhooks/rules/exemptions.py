# SPDX-License-Identifier: GPL-2.0-or-later
"""Exemptions from rules until a day or a time: for whom, from which rules, and why."""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slurmhooks.handlers.dispatch import UNTIL
from slurmhooks.job_submit.users import split_names
from slurmhooks.rules.conditions import end_of
from slurmhooks.rules.kinds import listed, matches, matches_any_case
from slurmhooks.rules.table import Table, key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Count, Line, Moment, Word, Words

WHO = ("users", "groups", "accounts", "partitions", "qos", "names", "jobs")
"""The keys that say whose jobs are exempt."""


class Exemption(Table):
    """One of ``[[rules.exemptions]]``: a job is exempt if it matches all of its lists."""

    rules: tuple[Word, ...] = key(
        ...,
        'names of the rules from which jobs are exempt; shell patterns, such as ["*"] for all rules',
        strict=False,
        min_length=1,
    )
    until: Moment = key(
        ..., "the last day, such as 2027-01-31, or a time, such as 2027-01-31T18:00:00, in the time zone of slurmctld"
    )
    reason: Line | None = key(None, "why, such as a ticket; shown to administrators only", min_length=1, max_length=200)
    users: Words = key((), "jobs of these users")
    groups: Words = key((), "jobs of members of these Unix groups")
    accounts: Words = key((), "jobs that are charged to one of these; shell patterns")
    partitions: Words = key((), "jobs that can run nowhere but in these; shell patterns")
    qos: Words = key((), "jobs that can have no QOS but these; shell patterns")
    names: Words = key((), "jobs with one of these names (--job-name); shell patterns")
    jobs: tuple[Count, ...] = key(
        (), "updates of the jobs with these ids, and of all tasks and components of them", strict=False
    )

    def settle(self) -> None:
        """Check that it is for somebody."""
        keys = [key for key in WHO if key != "names"]  # anybody can give a job a name
        if not any(getattr(self, key) for key in keys):
            raise ValueError(f"needs {listed(keys)}")

    @cached_property
    def end(self) -> float:
        """The first moment at which it is over, in seconds since the epoch."""
        return end_of(self.until)

    @property
    def is_over(self) -> bool:
        """Whether its last day, or its time, has passed."""
        return time.time() >= self.end

    @property
    def only_users(self) -> bool:
        """Whether it depends on nothing but the job's user, which no update changes."""
        return not (self.accounts or self.partitions or self.qos or self.names or self.jobs)

    @property
    def shown(self) -> str:
        """Its end and its reason, for the decision log."""
        return f"{UNTIL}{self.until}{f': {self.reason}' if self.reason else ''}"

    @property
    def who(self) -> str:
        """Whose jobs are exempt, in words."""
        return "; ".join(f"{key} {', '.join(map(str, names))}" for key in WHO if (names := getattr(self, key)))

    def is_for(self, rule: str) -> bool:
        """Tell whether it exempts from a rule of this name."""
        return matches(rule, self.rules)

    def covers(self, request: Request) -> bool:
        """Tell whether the job of a request is exempt now."""
        return (
            not self.is_over
            and (not self.users or request.user in self.users)
            and (not self.groups or not request.groups.isdisjoint(self.groups))
            and (not self.accounts or matches_any_case(request.account, self.accounts))
            and (not self.partitions or _all(request.partitions, self.partitions, matches))
            and (not self.qos or _all(split_names(request.qos), self.qos, matches_any_case))
            and (not self.names or matches(request.get("name"), self.names))
            and (not self.jobs or not request.ids.isdisjoint(self.jobs))
        )


def _all(names: Sequence[str], patterns: tuple[str, ...], match: Any) -> bool:
    """Tell whether all names match; without names, what Slurm will choose is not known."""
    return bool(names) and all(match(name, patterns) for name in names)
