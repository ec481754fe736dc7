# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts the decision log: what rules refused and warned of, by rule, day, account and user, and how long they took."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from slurmhooks.hooks.rollout import WARN
from slurmhooks.replay.report import NO_ACCOUNT

if TYPE_CHECKING:
    from slurmhooks.cli.decisions import Decision
    from slurmhooks.cli.names import Name

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
        name: of the day, as in 2027-05-01, the user, the account, or the hash of the hooks.
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
class Report:
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


class Tally:
    """Counts decisions; add all, in any order, then take the report."""

    def __init__(self, change: datetime | None = None) -> None:
        """Start with counts of 0; ``change`` is when rules were changed, None: when the hooks of the log changed."""
        self._change = change
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._total = Requests(name="all")
        self._tests = self._lost = 0
        self._rules: dict[str, Handler] = {}
        self._times: Counter[str] = Counter()
        self._days: dict[str, Requests] = {}
        self._accounts: dict[str, Requests] = {}
        self._users: dict[str, Requests] = {}
        self._hooks: dict[str, Hooks] = {}
        self._refusals: dict[str | bool, Counter[str]] = {}
        self._sides = {False: 0, True: 0}

    def add(self, decision: Decision) -> None:
        """Count a line of the log."""
        if decision.event == "dropped":
            self._lost += decision.count or 0
            return
        for step in decision.handlers:
            rule = self._rules.setdefault(step.handler, Handler(rule=step.handler))
            rule.runs += 1
            rule.most = max(rule.most, step.microseconds or 0)
            self._times[step.handler] += step.microseconds or 0
            rule.refused += step.outcome == "refused"
            rule.failed += step.outcome in ("failed", "accepted on error", "would fail")
            would = step.outcome == "would refuse"
            rule.warned += would and step.mode == WARN
            rule.observed += would and step.mode != WARN
        if decision.hook in REQUESTS:
            self._count(decision)

    def _count(self, decision: Decision) -> None:
        """Count a request, or what handlers observed of it."""
        time = decision.time
        self._first = time if self._first is None else min(self._first, time)
        self._last = time if self._last is None else max(self._last, time)
        verdict = decision.verdict or ""
        day, account = f"{time:%Y-%m-%d}", decision.account or NO_ACCOUNT
        user = decision.user or (NO_USER if decision.user_id is None else str(decision.user_id))
        hooks = decision.hooks or ""
        counted = [
            self._total,
            self._days.setdefault(day, Requests(name=day)),
            self._accounts.setdefault(account, Requests(name=account)),
            self._users.setdefault(user, Requests(name=user)),
        ]
        if hooks:
            entry = self._hooks.setdefault(hooks, Hooks(name=hooks, first=time, last=time))
            entry.first, entry.last = min(entry.first, time), max(entry.last, time)
            counted.append(entry)
        would = [step.mode == WARN for step in decision.handlers if step.outcome == "would refuse"]
        is_request = decision.event != "observed"
        for each in counted:
            each.requests += is_request
            each.refused += verdict == "refused"
            each.failed += verdict == "failed" or verdict.startswith("unavailable")
            each.warned += any(would)
            each.observed += False in would
        self._tests += decision.test_only and is_request
        side: str | bool = hooks
        if self._change is not None:
            side = time >= self._change
            self._sides[side] += is_request
        refusals = self._refusals.setdefault(side, Counter())
        refusals.update(step.handler for step in decision.handlers if step.outcome == "refused")

    def report(self, top: int, name: Name) -> Report:
        """Return the counts.

        Args:
            top: number of users and accounts.
            name: what is shown for a user or an account.
        """
        for label, rule in self._rules.items():
            rule.mean = round(self._times[label] / rule.runs)
        hooks = sorted(self._hooks.values(), key=lambda each: (each.first, each.last, each.name))
        return Report(
            first=self._first,
            last=self._last,
            total=self._total,
            tests=self._tests,
            lost=self._lost,
            rules=sorted(
                self._rules.values(),
                key=lambda each: (-each.refused, -each.failed, -each.warned, -each.observed, each.rule),
            ),
            days=[day for _, day in sorted(self._days.items())],
            accounts=_most(self._accounts, "account", top, name),
            users=_most(self._users, "user", top, name),
            hooks=hooks,
            change=self._compared(hooks),
        )

    def _compared(self, hooks: list[Hooks]) -> Change | None:
        """Return what changed with the last set of hooks, or at the given time."""
        if self._change is not None:
            return self._differences(self._change, (False, self._sides[False]), (True, self._sides[True]))
        by_end = sorted(hooks, key=lambda each: (each.last, each.first, each.name))
        if len(by_end) < 2:
            return None
        before, after = by_end[-2:]
        return self._differences(after.first, (before.name, before.requests), (after.name, after.requests))

    def _differences(self, time: datetime, before: tuple[str | bool, int], after: tuple[str | bool, int]) -> Change:
        counts = [self._refusals.get(side, Counter()) for side, _ in (before, after)]
        rules = [
            Difference(rule=rule, before=counts[0][rule], after=counts[1][rule])
            for rule in dict.fromkeys([*counts[1], *counts[0]])
        ]
        rules.sort(key=lambda each: (-each.after - each.before, each.rule))
        return Change(time=time, before=before[1], after=after[1], rules=rules)


def _most(counts: dict[str, Requests], kind: str, top: int, name: Name) -> list[Requests]:
    """Return those with the most refusals, bugs and warnings, under the names to show."""

    def rank(each: Requests) -> tuple[int, int, str]:
        return -(each.refused + each.failed + each.warned + each.observed), -each.requests, each.name

    chosen = sorted(counts.values(), key=rank)[:top]
    return [replace(each, name=name(kind, each.name)) for each in chosen]
