# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests with their expected outcomes, which `check --cases` and `deploy` try."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from slurmhooks.config import model as config
from slurmhooks.rules.typed import typed
from slurmhooks.rules.value_types import Moment, Value, Word, Words, Writable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Self


def _shell(value: str) -> str:
    try:
        shlex.split(value)
    except ValueError as error:
        raise ValueError(f"is no command line: {error}") from None
    return value


class Expected(BaseModel):
    """One of ``[[rules.cases]]``: a submission, or with record an update, and what becomes of it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    options: Annotated[str, AfterValidator(_shell)] = Field(
        default="", description="the options of the command, as in a shell"
    )
    command: Literal["sbatch", "srun", "salloc"] = Field(default="sbatch", description="the command that submits")
    script: str | None = Field(default=None, description="the batch script; unset: one that does nothing")
    user: Word = Field(default="user", description="the user; need not exist")
    groups: Words = Field(default=(), description="the Unix groups of the user")
    fields: dict[str, Any] = Field(
        default={}, description="fields of job besides the options, such as default_account; what an update sets"
    )
    record: dict[str, Any] | None = Field(
        default=None, description="the fields of a job as it is, by default a batch job: the case is an update of it"
    )
    at: Moment | None = Field(
        default=None, description="when it is sent, such as 2027-02-01T09:30:00; unset: at the time of the trial"
    )
    outcome: Literal["accepted", "refused"] = Field(description="what becomes of it")
    rule: Word | None = Field(
        default=None, description="the name of the rule, or label of the handler, that refuses it"
    )
    text: Word | None = Field(default=None, description="a part of what the user reads")
    changes: dict[Writable, Value] = Field(default={}, description="fields of an accepted job, as they are afterwards")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.outcome == "accepted" and self.rule is not None:
            raise ValueError('rule says what refuses: it needs outcome = "refused"')
        if self.outcome == "refused" and self.changes:
            raise ValueError('nothing changes a refused request: changes need outcome = "accepted"')
        if self.record is not None and self.options:
            raise ValueError("an update has no options: write what it sets in fields")
        for name, value in self.changes.items():
            typed(name, value)
        return self

    @property
    def shown(self) -> str:
        """What is tried, in a few words."""
        words = f"{self.command} {self.options}".strip() if self.record is None else "update"
        return f"{words} of {self.user}"


def of_config(path: Path, tables: Sequence[dict[str, Any]]) -> tuple[list[Expected], list[str]]:
    """Return the cases (``[[rules.cases]]``) of a configuration, and a finding for each error."""
    cases: list[Expected] = []
    findings: list[str] = []
    for number, table in enumerate(tables, 1):
        try:
            cases.append(Expected.model_validate(table))
        except ValidationError as error:
            findings += config.findings(f"{path}: rules.cases, number {number}", error, Expected)
    return cases, findings
