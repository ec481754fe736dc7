# SPDX-License-Identifier: GPL-2.0-or-later
"""The report on a script, as ``--json`` prints it."""

from __future__ import annotations

from dataclasses import dataclass

from slurmhooks.workshop.adopt.setup import Setup
from slurmhooks.workshop.adopt.values import Remark


@dataclass(kw_only=True)
class Used:
    """Something that the script uses.

    Attributes:
        name: field, function, constant, option or module; empty: computed at run time.
        written: the script assigns to it.
    """

    name: str
    lines: list[int]
    written: bool


@dataclass(kw_only=True)
class Differs:
    """A request whose answers differ."""

    request: str
    difference: str


@dataclass(kw_only=True)
class Compared:
    """The comparison of answers.

    Attributes:
        oracle: what slurmhooks was compared with.
        not_compared: number of requests by what cannot be tried out.
        refused: number of requests that the script refused under slurmhooks.
        errors: number of requests on which the script failed, by Lua's message.
    """

    oracle: str
    requests: int
    same: int
    different: int
    not_compared: dict[str, int]
    refused: int
    errors: dict[str, int]
    examples: list[Differs]


@dataclass(kw_only=True)
class AdoptReport:
    """What `slurmhooks adopt` says about a script.

    Attributes:
        family: job_submit, cli_filter or spank.
        release: the release of Slurm that the script was read for.
        functions: the functions that Slurm calls, with their lines.
        not_read: lines that the parser does not understand.
    """

    file: str
    family: str
    release: str
    lua: str
    functions: dict[str, int]
    not_read: list[int]
    uses: dict[str, list[Used]]
    found: list[Remark]
    differences: list[str]
    comparisons: list[Compared]
    why_not_compared: str | None
    changes: Setup
