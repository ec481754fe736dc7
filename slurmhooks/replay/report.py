# SPDX-License-Identifier: GPL-2.0-or-later
"""What a replay found out; with --json, the output is this model."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class Example(BaseModel):
    """One request.

    Attributes:
        id: as in the decision log.
        time: when it came, in seconds since the epoch.
        hook: name of the hook.
        user: name of the job's owner, or the user id.
        account: that the request names.
        name: of the job.
    """

    id: str
    time: float
    hook: str
    user: str
    account: str | None
    name: str | None


class Share(BaseModel):
    """How many requests somebody has."""

    name: str
    requests: int


class Change(BaseModel):
    """How many requests have another verdict, or another value of a field."""

    old: str
    new: str
    requests: int


class Rule(BaseModel):
    """What a handler refuses more or less often, and whose requests."""

    rule: str
    more: int
    fewer: int
    users: list[Share]
    accounts: list[Share]
    examples: list[Example]


class FieldChange(BaseModel):
    """A field that has other values; requests that one side refuses do not count."""

    field: str
    requests: int
    values: list[Change]
    examples: list[Example]


class Bug(BaseModel):
    """An exception in a handler of the old or the new hooks."""

    hooks: str
    rule: str
    error: str
    requests: int
    traceback: str
    examples: list[Example]


class Need(BaseModel):
    """What handlers read that was not recorded.

    Attributes:
        hooks: old or new.
        what: the table, field or fact.
        requests: that are not compared for it.
        record_with: option of ``slurmhooks record`` that records it; empty: none does.
        examples: some of these requests.
    """

    hooks: str
    what: str
    requests: int
    record_with: str
    examples: list[Example]


class Report(BaseModel):
    """The result of a replay.

    Attributes:
        recorded: by which releases of slurmhooks, Python and Slurm, and what besides requests.
        requests: that were replayed.
        first: time of the first one, in seconds since the epoch.
        last: time of the last one.
        different: requests that differ in anything that users notice.
        unknown: requests for which handlers read what was not recorded, so nobody knows.
        accepted: by the new hooks.
        refused: by the new hooks.
        failed: by a bug of the new hooks.
        more_refused: requests that only the new hooks refuse, or fail.
        fewer_refused: requests that only the old hooks refuse, or fail.
        other_texts: requests with the same verdict and another text or code.
        changes: of verdicts.
        rules: handlers that refuse more or fewer.
        fields: that have other values.
        bugs: of handlers.
        needs: what was not recorded.
        notes: on the recording.
    """

    recorded: dict[str, Any]
    requests: int
    first: float | None
    last: float | None
    different: int
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

    @property
    def same(self) -> bool:
        """Whether every request was compared and none differs."""
        return not self.different and not self.unknown
