# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts the decision log: what rules refused and warned of, by rule, day, account and user, and how long they took."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import MAXYEAR, MINYEAR, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks.cli import documents
from slurmhooks.cli.decisions import Decision
from slurmhooks.hooks.rollout import WARN
from slurmhooks.workshop.cli.counts import (
    KINDS,
    NO_USER,
    REQUESTS,
    Change,
    CountsReport,
    Difference,
    Handler,
    Hooks,
    Requests,
)
from slurmhooks.workshop.replay.report import NO_ACCOUNT

if TYPE_CHECKING:
    from slurmhooks.workshop.cli.anonymity import Name


class Ends(NamedTuple):
    """How a request ended, as numbers to add: see Requests."""

    requests: bool
    refused: bool
    failed: bool
    warned: bool
    observed: bool
    test: bool


class _Rule:
    """How often a handler ended in one way, and how long it took, in microseconds: together, and at most."""

    __slots__ = ("most", "runs", "took")

    def __init__(self) -> None:
        self.runs = self.took = self.most = 0


class _Names:
    """How many lines with the same Ends have each day, account, user and set."""

    __slots__ = ("accounts", "days", "hooks", "users")

    def __init__(self) -> None:
        self.days: dict[str, int] = {}
        self.accounts: dict[str, int] = {}
        self.users: dict[str, int] = {}
        self.hooks: dict[str, int] = {}


class Pattern(NamedTuple):
    """What lines have in common that differ in whose requests they are about, when they were and how long they took.

    Attributes:
        names: of the lines about requests that ended like this; None: only its handlers count, or how many lines are
            lost.
        requests: it is a request, not what handlers observed of one.
        steps: the counts of each handler that ran.
        refusals: the handlers that refused.
        drops: it says how many lines are lost.
    """

    names: _Names | None
    requests: bool
    steps: list[_Rule]
    refusals: tuple[str, ...]
    drops: bool


USED = ("time", "event", "hook", "verdict", "test_only", "count")
OF_A_STEP = ("handler", "outcome", "mode", "microseconds")
"""The keys of a line, and of a handler in it, that are counted or decide what is."""
MOST_PATTERNS = 10_000
"""Patterns that are remembered at once."""


class Tally:
    """Counts decisions; add all, in any order, then take the report.

    A log has millions of lines, of few patterns: each is checked once, and then counted by one look-up.
    """

    def __init__(self, change: datetime | None = None) -> None:
        """Start with counts of 0; ``change`` is when rules were changed, None: when the hooks of the log changed."""
        self._change = change
        self._lost = 0
        self._patterns: dict[Any, Pattern] = {}
        self._rules: dict[tuple[str, str, str | None], _Rule] = {}
        self._ends: dict[Ends, _Names] = {}
        self._spans: dict[str, list[datetime]] = {}
        self._refusals: dict[str | bool, Counter[str]] = {}
        self._sides = {False: 0, True: 0}

    def add(self, content: Any) -> None:
        """Count a line of the log, as JSON; one that is damaged is left out."""
        try:
            handlers = content.get("handlers", ())
            if type(handlers) not in (list, tuple):
                return
            steps = [(each["handler"], each["outcome"], each.get("mode")) for each in handlers]
            key = content["event"], content.get("hook"), content.get("verdict"), content.get("test_only", False), *steps
            if type(key[3]) is not bool:  # 1 is equal to True
                return
            pattern = self._patterns.get(key)
            if pattern is None:
                pattern = self._new_pattern(key, content)
            took = [each.get("microseconds") or 0 for each in handlers]
            time = content["time"]
            moment = datetime.fromisoformat(time) if type(time) is str else documents.moment(time, "time")
            lost = content.get("count") or 0 if pattern.drops else 0
            _checked(moment, sum(took), lost)
            whose = self._whose(content)
        except (AttributeError, KeyError, TypeError, ValueError):
            return
        for rule, microseconds in zip(pattern.steps, took, strict=False):
            rule.runs += 1
            rule.took += microseconds
            if microseconds > rule.most:
                rule.most = microseconds
        self._lost += lost
        if pattern.names is not None:
            self._count(pattern, pattern.names, moment, time, whose)

    def _new_pattern(self, key: Any, content: Any) -> Pattern:
        """Return the pattern of a line that is the first one of its pattern.

        Raises:
            ValueError: the line is damaged.
        """
        handlers = [{name: each[name] for name in OF_A_STEP if name in each} for each in content.get("handlers", ())]
        used = {name: content[name] for name in USED if name in content}
        decision = documents.build(Decision, {**used, "handlers": handlers})
        if len(self._patterns) >= MOST_PATTERNS:
            self._patterns.clear()
        verdict = decision.verdict or ""
        would = [step.mode == WARN for step in decision.handlers if step.outcome == "would refuse"]
        is_request = decision.event != "observed"
        ends = Ends(
            is_request,
            verdict == "refused",
            verdict == "failed" or verdict.startswith("unavailable"),
            any(would),
            False in would,
            decision.test_only and is_request,
        )
        drops = decision.event == "dropped"
        pattern = self._patterns[key] = Pattern(
            self._ends.setdefault(ends, _Names()) if decision.hook in REQUESTS and not drops else None,
            is_request,
            [] if drops else [self._rules.setdefault(step, _Rule()) for step in key[4:]],
            tuple(step.handler for step in decision.handlers if step.outcome == "refused"),
            drops,
        )
        return pattern

    @staticmethod
    def _whose(content: Any) -> tuple[str, str, str]:
        """Return account, user and hooks of a line.

        Raises:
            ValueError: one of them is none.
        """
        account, user, hooks = content.get("account"), content.get("user"), content.get("hooks")
        number = content.get("user_id")
        if number is not None and (type(number) is not int or abs(number) >= documents.MOST):
            raise ValueError("not a user id")
        if user is None:
            user = NO_USER if number is None else str(number)
        for name in (account, user, hooks):
            if name is not None and type(name) is not str:
                raise ValueError("not a name")
        return account or NO_ACCOUNT, user or NO_USER, hooks or ""

    def _count(self, pattern: Pattern, names: _Names, moment: datetime, time: Any, whose: tuple[str, str, str]) -> None:
        """Count a request, or what handlers observed of it."""
        account, user, hooks = whose
        usual = type(time) is str and time[4:5] == time[7:8] == "-"
        day = time[:10] if usual else f"{moment:%Y-%m-%d}"
        names.days[day] = names.days.get(day, 0) + 1
        names.accounts[account] = names.accounts.get(account, 0) + 1
        names.users[user] = names.users.get(user, 0) + 1
        names.hooks[hooks] = names.hooks.get(hooks, 0) + 1
        span = self._spans.get(hooks)
        if span is None:
            self._spans[hooks] = [moment, moment]
        elif moment < span[0]:
            span[0] = moment
        elif moment > span[1]:
            span[1] = moment
        if self._change is not None:
            self._sides[moment >= self._change] += pattern.requests
        if pattern.refusals:
            side = hooks if self._change is None else moment >= self._change
            self._refusals.setdefault(side, Counter()).update(pattern.refusals)

    def report(self, top: int, name: Name) -> CountsReport:
        """Return the counts."""
        hooks = [
            Hooks(**vars(each), first=self._spans[each.name][0], last=self._spans[each.name][1])
            for each in self._requests("hooks").values()
            if each.name
        ]
        hooks.sort(key=lambda each: (each.first, each.last, each.name))
        days = self._requests("days")
        total = Requests(name="all")
        for kind in ("requests", *KINDS):
            setattr(total, kind, sum(getattr(day, kind) for day in days.values()))
        return CountsReport(
            first=min((span[0] for span in self._spans.values()), default=None),
            last=max((span[1] for span in self._spans.values()), default=None),
            total=total,
            tests=sum(sum(names.days.values()) for ends, names in self._ends.items() if ends.test),
            lost=self._lost,
            rules=sorted(
                self._handlers(),
                key=lambda each: (-each.refused, -each.failed, -each.warned, -each.observed, each.rule),
            ),
            days=[day for _, day in sorted(days.items())],
            accounts=_most(self._requests("accounts"), "account", top, name),
            users=_most(self._requests("users"), "user", top, name),
            hooks=hooks,
            change=self._compared(hooks),
        )

    def _requests(self, kind: str) -> dict[str, Requests]:
        """Return how the requests of each day, account, user or set ended."""
        found: dict[str, Requests] = {}
        for ends, names in self._ends.items():
            for name, count in getattr(names, kind).items():
                each = found.setdefault(name, Requests(name=name))
                for end in ("requests", *KINDS):
                    setattr(each, end, getattr(each, end) + count * getattr(ends, end))
        return found

    def _handlers(self) -> list[Handler]:
        """Return what each handler did."""
        handlers: dict[str, Handler] = {}
        times: Counter[str] = Counter()
        for (label, outcome, mode), rule in self._rules.items():
            if not rule.runs:  # the line was damaged in another place
                continue
            handler = handlers.setdefault(label, Handler(rule=label))
            handler.runs += rule.runs
            handler.most = max(handler.most, rule.most)
            times[label] += rule.took
            handler.refused += rule.runs if outcome == "refused" else 0
            handler.failed += rule.runs if outcome in ("failed", "accepted on error", "would fail") else 0
            if outcome == "would refuse":
                handler.warned += rule.runs if mode == WARN else 0
                handler.observed += rule.runs if mode != WARN else 0
        for label, handler in handlers.items():
            handler.mean = round(times[label] / handler.runs)
        return list(handlers.values())

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


def _checked(moment: datetime, *numbers: Any) -> None:
    """Raise ValueError if a time exists only in some time zones, or if a value is no number that is possible."""
    if moment.tzinfo is None or not MINYEAR < moment.year < MAXYEAR:
        raise ValueError("no time")
    for number in numbers:
        if type(number) is not int or not -documents.MOST <= number < documents.MOST:
            raise ValueError("no number")


def _most(counts: dict[str, Requests], kind: str, top: int, name: Name) -> list[Requests]:
    """Return those with the most refusals, bugs and warnings, under the names to show."""

    def rank(each: Requests) -> tuple[int, int, str]:
        return -(each.refused + each.failed + each.warned + each.observed), -each.requests, each.name

    chosen = sorted(counts.values(), key=rank)[:top]
    return [replace(each, name=name(kind, each.name)) for each in chosen]
