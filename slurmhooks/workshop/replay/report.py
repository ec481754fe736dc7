# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of a replay; with --json, the output is this model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NO_ACCOUNT = "(none named)"
"""Stands for the account of requests that name none."""


@dataclass(kw_only=True)
class Example:
    """One request.

    Attributes:
        id: as in the decision log.
        time: when it was received, in seconds since the epoch.
        hook: name of the hook.
        user: name of the job's owner, or the user id.
        account: the account that the request names.
        name: of the job.
    """

    id: str
    time: float
    hook: str
    user: str
    account: str | None
    name: str | None


@dataclass(kw_only=True)
class Share:
    """How many requests a user or account has."""

    name: str
    requests: int


@dataclass(kw_only=True)
class Change:
    """How many requests have another verdict, or another value of a field."""

    old: str
    new: str
    requests: int


@dataclass(kw_only=True)
class Rule:
    """A handler that refuses more or fewer requests, and whose requests these are.

    Attributes:
        rule: its label.
        more: requests that only the new hooks refuse.
        fewer: requests that only the old hooks refuse.
        of_users: number of users whose requests these are.
        of_accounts: number of accounts.
        users: those with the most requests.
        accounts: the same.
        examples: some of the requests.
    """

    rule: str
    more: int
    fewer: int
    of_users: int
    of_accounts: int
    users: list[Share]
    accounts: list[Share]
    examples: list[Example]


@dataclass(kw_only=True)
class FieldChange:
    """A field whose values differ; only requests that both sides accept count."""

    field: str
    requests: int
    values: list[Change]
    examples: list[Example]


@dataclass(kw_only=True)
class Bug:
    """An exception in a handler of the old or the new hooks."""

    hooks: str
    rule: str
    error: str
    requests: int
    traceback: str
    examples: list[Example]


@dataclass(kw_only=True)
class Need:
    """What handlers read that was not recorded.

    Attributes:
        hooks: old or new.
        what: the table, field or fact.
        requests: number of requests that are not compared because of it.
        record_with: option of ``slurmhooks record`` that records it; empty if none does.
        advice: what to do so that it is known next time; empty if nothing helps.
        examples: some of these requests.
    """

    hooks: str
    what: str
    requests: int
    record_with: str
    advice: str = ""
    examples: list[Example]


@dataclass(kw_only=True)
class ReplayReport:
    """The result of a replay.

    Attributes:
        recorded: the releases of slurmhooks, Python and Slurm, and what was recorded in addition to requests.
        requests: number of replayed requests.
        first: time of the first one, in seconds since the epoch.
        last: time of the last one.
        different: requests that differ in anything that users notice.
        users: number of users with requests that were compared.
        accounts: number of accounts with such requests.
        unknown: requests for which handlers read what was not recorded, so the decision is unknown.
        accepted: number of requests that the new hooks accept.
        refused: number of requests that the new hooks refuse.
        failed: number of requests that fail because of a bug in the new hooks.
        more_refused: requests that only the new hooks refuse, or fail.
        fewer_refused: requests that only the old hooks refuse, or fail.
        other_texts: requests with the same verdict and another text or code.
        changes: changed verdicts.
        rules: handlers that refuse more or fewer requests.
        fields: fields whose values differ.
        bugs: bugs in handlers.
        needs: what was not recorded.
        notes: notes about the recording and the hooks; no names and no paths are in them.
    """

    recorded: dict[str, Any]
    requests: int
    first: float | None
    last: float | None
    different: int
    users: int
    accounts: int
    unknown: int
    accepted: int
    refused: int
    failed: int
    more_refused: int
    fewer_refused: int
    other_texts: int
    changes: list[Change]
    rules: list[Rule]
    fields: list[FieldChange]
    bugs: list[Bug]
    needs: list[Need]
    notes: list[str]

    def share(self, requests: int) -> str:
        """Return what part of the requests that were compared these are, such as " (28 %)"; empty for none."""
        return percent(requests, self.requests - self.unknown)

    def of_users(self, rule: Rule) -> str:
        """Return how many users a rule concerns, such as "3 of 12 (25 %)"."""
        return f"{rule.of_users} of {self.users}{percent(rule.of_users, self.users)}"

    def of_accounts(self, rule: Rule) -> str:
        """Return the same of accounts."""
        return f"{rule.of_accounts} of {self.accounts}{percent(rule.of_accounts, self.accounts)}"

    @property
    def same(self) -> bool:
        """Whether every request was compared and none differs."""
        return not self.different and not self.unknown


def percent(part: int, whole: int) -> str:
    """Return what part of a whole something is, such as " (28 %)"; empty for nothing."""
    return f" ({100 * part // whole} %)" if part and whole else ""
