# SPDX-License-Identifier: GPL-2.0-or-later
"""Exemptions from rules until a day or a time: for whom, from which rules, and why."""

from __future__ import annotations

import time
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from slurmhooks.config import model as config
from slurmhooks.handlers.exempted import UNTIL
from slurmhooks.job_submit.users import split_names
from slurmhooks.rules.conditions import end_of
from slurmhooks.rules.kinds import Count, Moment, Word, Words, listed, matches, matches_any_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Self

    from slurmhooks.rules.request import Request

WHO = ("users", "groups", "accounts", "partitions", "qos", "names", "jobs")
"""The keys that say whose jobs are exempt."""


def _line(value: str) -> str:
    if not value.isprintable():
        raise ValueError("must be one line")
    return value


class Exemption(BaseModel):
    """One of ``[[rules.exemptions]]``: a job is exempt if it matches all of its lists."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    rules: Annotated[tuple[Word, ...], Field(strict=False, min_length=1)] = Field(
        description='names of the rules from which jobs are exempt; shell patterns, such as ["*"] for all rules'
    )
    until: Moment = Field(
        description="the last day, such as 2027-01-31, or a time, such as 2027-01-31T18:00:00, in the time zone of"
        " slurmctld"
    )
    reason: Annotated[str, AfterValidator(_line)] | None = Field(
        default=None, min_length=1, max_length=200, description="why, such as a ticket; shown to administrators only"
    )
    users: Words = Field(default=(), description="jobs of these users")
    groups: Words = Field(default=(), description="jobs of members of these Unix groups")
    accounts: Words = Field(default=(), description="jobs that are charged to one of these; shell patterns")
    partitions: Words = Field(default=(), description="jobs that can run nowhere but in these; shell patterns")
    qos: Words = Field(default=(), description="jobs that can have no QOS but these; shell patterns")
    names: Words = Field(default=(), description="jobs with one of these names (--job-name); shell patterns")
    jobs: Annotated[tuple[Count, ...], Field(strict=False)] = Field(
        default=(), description="updates of the jobs with these ids, and of all tasks and components of them"
    )

    @model_validator(mode="after")
    def _has_somebody(self) -> Self:
        keys = [key for key in WHO if key != "names"]  # anybody can give a job a name
        if not any(getattr(self, key) for key in keys):
            raise ValueError(f"needs {listed(keys)}")
        return self

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


def of_config(path: Path, tables: Sequence[dict[str, Any]], titles: Sequence[str]) -> tuple[list[Exemption], list[str]]:
    """Return the exemptions of a configuration, and a finding for each error.

    Args:
        path: path of the configuration, for messages.
        tables: ``[[rules.exemptions]]``.
        titles: the names of the rules that are switched on.
    """
    exemptions: list[Exemption] = []
    findings: list[str] = []
    for where, exemption in _read(path, tables):
        if isinstance(exemption, ValidationError):
            findings += config.findings(where, exemption, Exemption)
            continue
        exemptions.append(exemption)
        findings += [
            f"{where}: rules: no [[rule]] has the name {pattern}; there are {listed(titles, 'and')}"
            for pattern in exemption.rules
            if not any(matches(title, (pattern,)) for title in titles)
        ]
    return exemptions, findings


def ended(path: Path, tables: Sequence[dict[str, Any]]) -> list[str]:
    """Return a note for each exemption that is over; those that are invalid are findings elsewhere."""
    return [
        f"{where} ({each.who}): {'it ended at' if isinstance(each.until, datetime) else 'its last day was'}"
        f" {each.until}, so it has no effect: remove it, or correct the date"
        for where, each in _read(path, tables)
        if isinstance(each, Exemption) and each.is_over
    ]


def _read(path: Path, tables: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Exemption | ValidationError]]:
    """Yield where each exemption is, and the exemption, or what is wrong with it."""
    for number, table in enumerate(tables, 1):
        where = f"{path}: rules.exemptions, number {number}"
        try:
            yield where, Exemption.model_validate(table)
        except ValidationError as error:
            yield where, error
