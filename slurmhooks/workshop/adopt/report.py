# SPDX-License-Identifier: GPL-2.0-or-later
"""The report on a script, as ``--json`` prints it."""

from __future__ import annotations

from dataclasses import dataclass

from slurmhooks.workshop.adopt.setup import Setup
from slurmhooks.workshop.adopt.trial import Compared, Tried
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
class AdoptReport:
    """What `slurmhooks adopt` says about a script.

    Attributes:
        family: job_submit, cli_filter or spank.
        release: the release of Slurm that the script was read for.
        functions: the functions that Slurm calls, with their lines.
        not_read: lines that the parser does not understand.
        liblua: the library of this machine in which the script was tried; empty: it has none for Slurm, so lupa's Lua.
        tried: what the script did on requests under slurmhooks.
        compared: how that compares with Slurm's own plugin.
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
    changes: Setup
    liblua: str = ""
    tried: Tried | None = None
    why_not_tried: str | None = None
    compared: Compared | None = None
    why_not_compared: str | None = None
