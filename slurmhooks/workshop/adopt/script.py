# SPDX-License-Identifier: GPL-2.0-or-later
"""A Lua script of Slurm: what it uses, what is dangerous in it, and what differs under slurmhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.lua.source import ENTRIES
from slurmhooks.workshop.adopt.definitions import FAMILIES
from slurmhooks.workshop.adopt.flow import Flow
from slurmhooks.workshop.adopt.parser import parse
from slurmhooks.workshop.adopt.values import LEVELS, Remark, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmhooks.workshop.adopt.values import Use


REQUIRED = {
    family: tuple(name for name in ENTRIES if name.startswith(f"slurm_{start}"))
    for family, start in FAMILIES
    if family in ("job_submit", "cli_filter")
}
"""Functions without which Slurm does not load a script."""


class Script:
    """A script that has been read.

    Attributes:
        family: ``job_submit``, ``cli_filter``, ``spank`` or ``scrun``; empty if it is none of these.
        entries: lines of the functions that Slurm calls, by name.
        remarks: what is dangerous or wrong in it, by line.
        uses: what it uses.
        damaged: lines that the parser does not understand.
        lines: its text.
    """

    def __init__(self, source: bytes, settings: Settings | None = None) -> None:
        """Read the source of a script, without running it.

        Raises:
            NoParserError: the parser is not installed.
        """
        self.settings = settings or Settings()
        parsed = parse(source)
        self.lines = source.decode("utf-8", "surrogateescape").split("\n")
        self.damaged = parsed.damaged
        self._flow = flow = Flow(parsed, self.settings)
        self.family = flow.family
        self.entries = {name: function.line for name, function in flow.entries.items()}
        self.uses: list[Use] = list(flow.uses)
        remarks = {*flow.remarks, *flow.unset.remarks(), *self._missing(), *self._results()}
        self.remarks = sorted(remarks, key=lambda remark: (remark.line, LEVELS.index(remark.level), remark.what))

    @property
    def constants(self) -> list[object]:
        """The texts and numbers in the script, each once."""
        return self._flow.script.constants()

    @property
    def keeps(self) -> dict[str, int]:
        """Variables that outlive a call and are changed by it, with the line."""
        return self._flow.kept

    @property
    def keeps_request(self) -> int:
        """Line on which job_desc is kept in a variable that outlives the call; 0 if it is not."""
        return self._flow.keeps_request

    @property
    def option_tables(self) -> dict[str, dict[str, str | None]]:
        """The tables of options of a spank-lua script by name: members as texts, None for those that it computes."""
        return self._flow.script.option_tables()

    def takes(self, entry: str) -> set[str]:
        """Return which arguments a function that Slurm calls uses, as ENTRIES names them."""
        parameters = self._flow.entries[entry].parameters
        mentioned = self._flow.script.mentioned
        return {role for each, role in zip(parameters, ENTRIES[entry], strict=False) if each in mentioned}

    def uses_in(self, entry: str) -> list[Use]:
        """Return the uses in a function that Slurm calls, and in the functions that it calls."""
        lines = [(function.line, function.end) for function in self._flow.reachable([self._flow.entries[entry]])]
        return [use for use in self.uses if any(first <= use.line <= last for first, last in lines)]

    def _missing(self) -> Iterator[Remark]:
        wanted = REQUIRED.get(self.family, ())
        for name in wanted:
            if name not in self.entries:
                yield Remark(
                    1, "missing", "danger", f"lacks the function {name}",
                    "Slurm does not load the script: slurmctld does not start with it, and a running one keeps the old"
                    if self.family == "job_submit" else "Slurm does not load the script, and each command fails",
                    f"function {name}(...) return slurm.SUCCESS end",
                )  # fmt: skip

    def _results(self) -> Iterator[Remark]:
        """Report results that are not numbers."""
        if self.family not in ("job_submit", "cli_filter"):
            return
        returned = self._flow.returned
        with_result = {name for name, _, _ in returned}
        without = [(name, line, None) for name, line in self.entries.items() if name not in with_result]
        for name, line, value in [*returned, *without]:
            if name.endswith(("post_submit", "setup_defaults")):
                continue
            passes = "the job is accepted, and the log has 'non-numeric return code'"
            if value is None:
                yield Remark(line, "result", "note", f"{name} returns nothing", passes, "return slurm.SUCCESS")
            elif value.kind in ("boolean", "text", "table", "function", "nil"):
                shown = repr(value.constant) if isinstance(value.constant, str) else value.kind
                if isinstance(value.constant, bool):
                    shown = str(value.constant).lower()
                level = "note" if value.constant is True else "danger"
                yield Remark(
                    line, "result", level, f"{name} returns {shown}", passes, "return slurm.SUCCESS or slurm.ERROR"  # type: ignore[arg-type]
                )  # fmt: skip
