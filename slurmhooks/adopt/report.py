# SPDX-License-Identifier: GPL-2.0-or-later
"""The report on a script, as ``--json`` prints it."""

from __future__ import annotations

from pydantic import BaseModel, Field

from slurmhooks.adopt.setup import Setup
from slurmhooks.adopt.values import Level


class Used(BaseModel):
    """Something that the script uses."""

    name: str = Field(description="field, function, constant, option or module; empty: computed at run time")
    lines: list[int]
    written: bool = Field(description="the script assigns to it")


class Found(BaseModel):
    """Something dangerous or wrong in the script."""

    line: int
    kind: str = Field(description="the rule, see docs/adopt.md")
    level: Level
    what: str
    why: str
    instead: str


class Differs(BaseModel):
    """A request whose answers differ."""

    request: str
    difference: str


class Compared(BaseModel):
    """The comparison of answers."""

    oracle: str = Field(description="what slurmhooks was compared with")
    requests: int
    same: int
    different: int
    not_compared: dict[str, int] = Field(description="number of requests by what cannot be tried out")
    refused: int = Field(description="number of requests that the script refused under slurmhooks")
    errors: dict[str, int] = Field(description="number of requests on which the script failed, by Lua's message")
    examples: list[Differs]


class Report(BaseModel):
    """What `slurmhooks adopt` says about a script."""

    file: str
    family: str = Field(description="job_submit, cli_filter or spank")
    release: str = Field(description="the release of Slurm that the script was read for")
    lua: str
    functions: dict[str, int] = Field(description="the functions that Slurm calls, with their lines")
    not_read: list[int] = Field(description="lines that the parser does not understand")
    uses: dict[str, list[Used]]
    found: list[Found]
    differences: list[str]
    comparisons: list[Compared]
    why_not_compared: str | None
    changes: Setup
