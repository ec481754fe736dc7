# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares two decisions on each request of a recording, and counts what differs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slurmhooks.fields import COUNTERS
from slurmhooks.fields.rows import release_of, stored
from slurmhooks.handlers.similar import present
from slurmhooks.job_submit.views import Views
from slurmhooks.slurmctld.asking import Struct
from slurmhooks.values import text_from_c
from slurmhooks.wire.message import MessageError, decode
from slurmhooks.wire.protocol import DEFERRED
from slurmhooks.workshop.recorded import ACCOUNTING
from slurmhooks.workshop.replay.answers import advice, remedy
from slurmhooks.workshop.replay.report import (
    NO_ACCOUNT,
    Bug,
    Change,
    Example,
    FieldChange,
    Need,
    ReplayReport,
    Rule,
    Share,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.recording.request import Recorded
    from slurmhooks.wire.message import Message
    from slurmhooks.wire.tables import Tables
    from slurmhooks.workshop.replay.engine import Decision

MOST_VALUES = 1000
"""Maximum number of pairs of values of a field that are counted separately."""
NOBODY = "(no rule)"
NOT_RECORDED = "(not recorded)"


@dataclass
class _Rule:
    """Counts of a rule: requests that it newly refuses, or no longer refuses."""

    more: int = 0
    fewer: int = 0
    users: Counter[str] = field(default_factory=Counter)
    accounts: Counter[str] = field(default_factory=Counter)
    examples: list[Example] = field(default_factory=list)


@dataclass
class _Field:
    """Counts of a field."""

    requests: int = 0
    values: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: list[Example] = field(default_factory=list)


@dataclass
class _Group:
    """Counts of a bug, or of something that was not recorded."""

    requests: int = 0
    traceback: str = ""
    examples: list[Example] = field(default_factory=list)


class Comparison:
    """Counts differences; add all requests, then take the report."""

    def __init__(self, tables: Tables, users: Mapping[int, Mapping[str, Any]], top: int, examples: int) -> None:
        """Start with counts of 0.

        ``users`` are the answers of the name service. For each difference, ``top`` users, accounts and values are
        reported, and ``examples`` requests.
        """
        self._tables = tables
        self._users = users
        self._top = top
        self._examples = examples
        self._view = Views(tables).job
        self._fields_by_member: dict[str, list[str]] = {}
        for row, member in stored(self._view, release_of(tables.release), tables["job"].places):
            self._fields_by_member.setdefault(member, []).append(row.name)
        self._members = {name: member for member, names in self._fields_by_member.items() for name in names}
        self._requests = self._different = self._texts = 0
        self._of_users: set[str] = set()
        self._of_accounts: set[str] = set()
        self._first: float | None = None
        self._last: float | None = None
        self._verdicts: Counter[str] = Counter()
        self._changes: Counter[tuple[str, str]] = Counter()
        self._rules: dict[str, _Rule] = {}
        self._fields: dict[str, _Field] = {}
        self._bugs: dict[tuple[str, str, str], _Group] = {}
        self._needs: dict[tuple[str, str], _Group] = {}

    def add(self, request: Recorded, old: Decision, new: Decision) -> None:
        """Compare two decisions on a request.

        Raises:
            MessageError: the request is damaged.
        """
        self._requests += 1
        self._first = request.time if self._first is None else min(self._first, request.time)
        self._last = request.time if self._last is None else max(self._last, request.time)
        self._verdicts[new.verdict] += 1
        job = _Job(request, self._tables, self._users)
        if not (old.needs or new.needs):
            self._of_users.add(job.user)
            self._of_accounts.add(job.account)
        if not (old.bugs or new.bugs or old.needs or new.needs) and _key(old) == _key(new) and old.writes == new.writes:
            return
        for side, decision in (("old", old), ("new", new)):
            self._note_faults(job, side, decision)
        if old.needs or new.needs:
            return
        changed = self._changed(job, old, new)
        if _key(old) == _key(new) and not changed:
            return
        self._different += 1
        if old.verdict != new.verdict:
            self._changes[old.verdict, new.verdict] += 1
            self._note_rules(job, old, new)
        elif old.verdict != "failed" and _key(old) != _key(new):
            self._texts += 1
            self._note_rules(job, old, new)
        for name, values in changed.items():
            entry = self._fields.setdefault(name, _Field())
            entry.requests += 1
            if values in entry.values or len(entry.values) < MOST_VALUES:
                entry.values[values] += 1
            self._example(entry.examples, job)

    def _example(self, examples: list[Example], job: _Job) -> None:
        if len(examples) < self._examples:
            examples.append(job.example())

    def _note_faults(self, job: _Job, side: str, decision: Decision) -> None:
        """Count bugs, and what was not recorded."""
        for label, line in decision.bugs if not decision.needs else ():
            group = self._bugs.setdefault((side, label, line.partition(":")[0]), _Group())
            group.requests += 1
            if not group.traceback:
                group.traceback = next((text for text in decision.tracebacks if text.endswith(line)), line)
            self._example(group.examples, job)
        for need in decision.needs:
            group = self._needs.setdefault((side, need), _Group())
            group.requests += 1
            self._example(group.examples, job)

    def _note_rules(self, job: _Job, old: Decision, new: Decision) -> None:
        """Count which rules refuse the request, or no longer refuse it."""
        is_same = present(old.decided) == present(new.decided) and old.verdict != "accepted"
        for decision, more in ((old, False), (new, True)):
            if decision.verdict == "accepted" or is_same:
                continue
            rule = self._rules.setdefault(decision.decided or NOBODY, _Rule())
            rule.more += more
            rule.fewer += not more
            rule.users[job.user] += 1
            rule.accounts[job.account] += 1
            self._example(rule.examples, job)

    def _changed(self, job: _Job, old: Decision, new: Decision) -> dict[str, tuple[str, str]]:
        """Return the fields whose values differ, for requests that both accept."""
        if old.code or new.code:
            return {}
        changed: dict[str, tuple[str, str]] = {}
        views = [self._view(job.struct) for _ in range(2)]
        for view, writes in zip(views, (old.writes, new.writes), strict=True):
            view._writes.update({name: raw for name, raw in writes.items() if name not in COUNTERS})
        for member in dict.fromkeys((*old.writes, *new.writes)):
            if old.writes.get(member) == new.writes.get(member) and (member in old.writes) == (member in new.writes):
                continue
            if member in COUNTERS:
                changed |= self._array(job, member, old, new)
                continue
            for name in self._fields_by_member.get(member, ()):
                pair = (
                    _value(views[0], name) if job.knows(member) or member in old.writes else NOT_RECORDED,
                    _value(views[1], name) if job.knows(member) or member in new.writes else NOT_RECORDED,
                )
                if pair[0] != pair[1]:
                    changed[name] = pair
        return changed

    def _array(self, job: _Job, member: str, old: Decision, new: Decision) -> dict[str, tuple[str, str]]:
        """Return the variables or words that differ."""
        if not job.knows(member) or job.struct.slots[job.struct.table.places[member]] == DEFERRED:
            return {}  # not recorded, so the difference is unknown
        before, after = (
            [text_from_c(item) for item in decision.writes.get(member, job.struct.array(member)) or []]  # type: ignore[union-attr, arg-type]
            for decision in (old, new)
        )
        if member == "argv":
            return {} if before == after else {"argv": (_shown(before), _shown(after))}
        variables = [dict(item.partition("=")[::2] for item in items) for items in (before, after)]
        return {
            f"{member}[{name}]": (_shown(variables[0].get(name)), _shown(variables[1].get(name)))
            for name in dict.fromkeys((*variables[0], *variables[1]))
            if variables[0].get(name) != variables[1].get(name)
        }

    def report(self, recorded: dict[str, Any], notes: list[str]) -> ReplayReport:
        """Return the counts, with data about the recording."""
        rules = sorted(self._rules.items(), key=lambda item: -(item[1].more + item[1].fewer))
        fields = sorted(self._fields.items(), key=lambda item: -item[1].requests)
        imported = recorded.get("source") == ACCOUNTING
        return ReplayReport(
            recorded=recorded,
            requests=self._requests,
            first=self._first,
            last=self._last,
            different=self._different,
            users=len(self._of_users),
            accounts=len(self._of_accounts),
            unknown=self._verdicts["unknown"],
            accepted=self._verdicts["accepted"],
            refused=self._verdicts["refused"],
            failed=self._verdicts["failed"],
            more_refused=sum(number for (before, _), number in self._changes.items() if before == "accepted"),
            fewer_refused=sum(number for (_, after), number in self._changes.items() if after == "accepted"),
            other_texts=self._texts,
            changes=[Change(old=a, new=b, requests=number) for (a, b), number in self._changes.most_common()],
            rules=[
                Rule(
                    rule=name,
                    more=rule.more,
                    fewer=rule.fewer,
                    of_users=len(rule.users),
                    of_accounts=len(rule.accounts),
                    users=_shares(rule.users, self._top),
                    accounts=_shares(rule.accounts, self._top),
                    examples=rule.examples,
                )
                for name, rule in rules
            ],
            fields=[
                FieldChange(
                    field=name,
                    requests=entry.requests,
                    values=[
                        Change(old=a, new=b, requests=number) for (a, b), number in entry.values.most_common(self._top)
                    ],
                    examples=entry.examples,
                )
                for name, entry in fields
            ],
            bugs=[
                Bug(
                    hooks=side,
                    rule=label,
                    error=error,
                    requests=group.requests,
                    traceback=group.traceback,
                    examples=group.examples,
                )
                for (side, label, error), group in self._bugs.items()
            ],
            needs=[
                Need(
                    hooks=side,
                    what=need,
                    requests=group.requests,
                    record_with="" if imported else remedy(need),
                    advice=advice(need, self._members.get(need, ""), recorded.get("assumed", ()) if imported else None),
                    examples=group.examples,
                )
                for (side, need), group in self._needs.items()
            ],
            notes=notes,
        )


class _Job:
    """The request behind a difference."""

    def __init__(self, request: Recorded, tables: Tables, users: Mapping[int, Mapping[str, Any]]) -> None:
        self._request = request
        self._message: Message = decode(request.request, tables)
        self._users = users
        tag, value = self._message.items[0]
        self.struct = Struct(tables.tables[tag], value, None)

    @property
    def user(self) -> str:
        """The owner's name, or else the user id."""
        name = self._users.get(self._message.owner, {}).get("name")
        return str(self._message.owner) if name is None else str(name)

    @property
    def account(self) -> str:
        """The account that the request names."""
        return (self._text("account") or NO_ACCOUNT) if self.knows("account") else NOT_RECORDED

    def knows(self, member: str) -> bool:
        """Tell whether the value of a member is known."""
        return member not in self._request.unknown

    def _text(self, member: str) -> str | None:
        place = self.struct.table.places.get(member)
        if place is None or not self.knows(member) or self.struct.slots[place] == DEFERRED:
            return None
        raw = self.struct.text(place)
        return None if raw is None else text_from_c(raw)

    def example(self) -> Example:
        """Return what distinguishes the request from others."""
        return Example(
            id=self._request.id,
            time=self._request.time,
            hook=self._request.hook,
            user=self.user,
            account=self._text("account"),
            name=self._text("name"),
        )


def _value(view: Any, name: str) -> str:
    """Return a field of a view as text."""
    try:
        return _shown(getattr(view, name))
    except MessageError:  # it was too long to be sent, and no handler asked for it
        return NOT_RECORDED


def _key(decision: Decision) -> tuple[object, ...]:
    """Return what a user notices of a decision, apart from the changes of fields."""
    if decision.verdict == "failed":
        return ("failed",)
    return decision.verdict, decision.code, decision.text


def _shares(counter: Counter[str], top: int) -> list[Share]:
    return [Share(name=name, requests=number) for name, number in counter.most_common(top)]


def _shown(value: object) -> str:
    """Return a value of a field as text."""
    if isinstance(value, str):
        return value
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else str(value)
