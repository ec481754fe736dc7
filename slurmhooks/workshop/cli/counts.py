# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report about the decision log says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from slurmhooks.workshop.replay.report import NO_ACCOUNT

REQUESTS = ("job_submit", "job_modify")
"""The hooks whose requests are counted; of others, only the time of handlers is."""
KINDS = ("refused", "failed", "warned", "observed")
"""How requests end: the attributes that count them. A request may be warned of and refused."""
NO_USER = "(not known)"
KEPT = (NO_ACCOUNT, NO_USER)
"""Names of nobody."""


@dataclass(kw_only=True)
class Requests:
    """How the requests of a day, a user, an account or a set of hooks ended.

    Attributes:
        name: of the day, as in 2027-05-01, the user, the account, or the id of the set.
        requests: their number.
        refused: those that a rule refused.
        failed: those that failed because of a bug, or that no worker could serve.
        warned: those whose user read a warning of a rule with mode "warn".
        observed: those that a rule with mode "observe" would have refused.
    """

    name: str
    requests: int = 0
    refused: int = 0
    failed: int = 0
    warned: int = 0
    observed: int = 0


@dataclass(kw_only=True)
class Hooks(Requests):
    """A set of hook files, and the requests that it decided.

    Attributes:
        first: time of the first of these requests.
        last: time of the last one.
    """

    first: datetime
    last: datetime


@dataclass(kw_only=True)
class Handler:
    """What one rule or handler did.

    Attributes:
        rule: its label.
        refused: requests that it refused, or would have refused if another rule had not done so before.
        failed: bugs.
        warned: requests that it would have refused, if it were enforced; their users read a warning.
        observed: the same in mode "observe"; users noticed nothing.
        runs: how often it ran.
        mean: time that it took on average, in microseconds.
        most: longest time, in microseconds.
    """

    rule: str
    refused: int = 0
    failed: int = 0
    warned: int = 0
    observed: int = 0
    runs: int = 0
    mean: int = 0
    most: int = 0


@dataclass(kw_only=True)
class Difference:
    """How often a rule refused before and after a change of the rules.

    Attributes:
        rule: its label.
        before: number of requests that it refused before.
        after: number of requests that it refused afterwards.
    """

    rule: str
    before: int
    after: int


@dataclass(kw_only=True)
class Change:
    """Requests before and after a change of the rules.

    Attributes:
        time: of the change.
        before: number of requests before.
        after: number of requests afterwards.
        rules: the rules that refused any of them.
    """

    time: datetime
    before: int
    after: int
    rules: list[Difference]


@dataclass(kw_only=True)
class CountsReport:
    """What the decision log says about a time.

    Attributes:
        first: time of the first line; None: there is none.
        last: time of the last line.
        total: all requests.
        tests: requests of commands with --test-only; they count like others.
        lost: lines that the log lacks.
        rules: by the number of refusals, bugs and warnings.
        days: in order.
        accounts: those with the most refusals and warnings.
        users: those with the most refusals and warnings.
        hooks: the sets of hook files, in order.
        change: the requests before and after the last change, or the given time; None: there was no change.
    """

    first: datetime | None
    last: datetime | None
    total: Requests
    tests: int
    lost: int
    rules: list[Handler]
    days: list[Requests]
    accounts: list[Requests]
    users: list[Requests]
    hooks: list[Hooks]
    change: Change | None
