# SPDX-License-Identifier: GPL-2.0-or-later
"""A Lua script of Slurm: what it uses, what is dangerous in it, and what differs under slurmhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.adopt import names
from slurmhooks.adopt.definitions import FAMILIES
from slurmhooks.adopt.flow import Flow
from slurmhooks.adopt.parser import parse
from slurmhooks.adopt.values import LEVELS, Remark, Settings
from slurmhooks.lua.source import ENTRIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmhooks.lua.source import Use


REQUIRED = {
    family: tuple(name for name in ENTRIES if name.startswith(f"slurm_{start}"))
    for family, start in FAMILIES
    if family in ("job_submit", "cli_filter")
}
"""Functions without which Slurm does not load a script."""
MOST_LINES = 6
"""Number of lines that a remark on several lines names."""


class Script:
    """A script that has been read.

    Attributes:
        family: ``job_submit``, ``cli_filter``, ``spank`` or ``scrun``; empty if it is none of these.
        entries: lines of the functions that Slurm calls, by name.
        remarks: what is dangerous or wrong in it, by line.
        uses: what it uses.
        damaged: lines that the parser does not understand.
    """

    def __init__(self, source: bytes, settings: Settings | None = None) -> None:
        """Read the source of a script, without running it.

        Raises:
            NoParserError: the parser is not installed.
        """
        self.settings = settings or Settings()
        parsed = parse(source)
        self.damaged = parsed.damaged
        self._flow = flow = Flow(parsed, self.settings)
        self.family = flow.family
        self.entries = {name: function.line for name, function in flow.entries.items()}
        self.uses: list[Use] = list(flow.uses)
        remarks = {
            *flow.remarks,
            *self._missing(),
            *self._globals(),
            *self._results(),
            *self._undefined(),
            *self._never_nil(),
        }
        checks = {remark.line for remark in remarks if remark.kind == "unset" and remark.what.startswith("checks ")}
        # One remark is enough where a number is taken for nil and then compared.
        remarks = {
            remark
            for remark in remarks
            if remark.kind != "unset" or remark.line not in checks or remark.what.startswith("checks ")
        }
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

    def _globals(self) -> Iterator[Remark]:
        """Report global variables that functions assign while Slurm calls them."""
        if self.family != "job_submit":  # all others have a process for each command or step
            return
        harmless: dict[str, int] = {}
        for name, places in sorted(self._flow.global_writes.items()):
            lines = sorted(line for line, in_call in places.items() if in_call)
            if not lines or self._flow.script.defined.get(f"G.{name}") is not None or name == "_":
                continue
            read = self._flow.early_reads.get(name)
            if read is None:
                harmless[name] = lines[0]
                continue
            why = f"a call that does not assign it first reads what the previous request left in it (line {read})"
            instead = f"local {name} = ..."
            if name in self._flow.script.top:
                why = (
                    f"it keeps its value from request to request (line {read}), in slurmhooks separately in each worker"
                )
                instead = "a local variable, unless requests are meant to influence each other"
            where = f", also in {_listed(lines[1:])}" if len(lines) > 1 else ""
            yield Remark(lines[0], "global", "warning", f"assigns the global variable {name}{where}", why, instead)
        if harmless:
            line = min(harmless.values())
            shown = ", ".join(
                f"{name} ({number})" for name, number in sorted(harmless.items(), key=lambda item: item[1])
            )
            why = "they live on after the call; each call assigns them before it reads them, so nothing leaks today"
            yield Remark(line, "global", "note", f"assigns global variables in functions: {shown}", why, "local")

    def _results(self) -> Iterator[Remark]:
        """Report results that are not numbers."""
        if self.family not in ("job_submit", "cli_filter"):
            return
        for name, line, value in self._flow.returned:
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

    def _never_nil(self) -> Iterator[Remark]:
        """Report numbers that the script only compares with nil, although unset is NO_VAL."""
        for key, line in self._flow.nil_checks.items():
            if key not in self._flow.unset_checks:
                name = key.removeprefix("job_desc.")
                number = names.number_of_unset(name)
                yield Remark(
                    line, "unset", "warning", f"checks {key} for nil, and nowhere for NO_VAL",
                    f"it is never nil, so the check has no effect: if it is not given it is {number}",
                    f"{key} == {names.unset_name(name)}",
                )  # fmt: skip

    def _undefined(self) -> Iterator[Remark]:
        """Report global variables that nothing defines, if the script cannot have them from another file."""
        if self.damaged or not self.family:
            return
        if any(use.of == "require" for use in self.uses) or any(
            use.of == "system" and use.name in ("dofile", "loadfile") for use in self.uses
        ):
            return
        for name, line in sorted(self._flow.undefined.items()):
            if name in self._flow.tested:
                continue
            everything = frozenset(names.globals_of(self.settings.version) | self._flow.script.all_names())
            hint = names.similar(name, everything)
            why = f"nothing in the script or in Lua {self.settings.version} defines it: it is nil{hint}"
            yield Remark(line, "undefined", "warning", f"uses the global variable {name}", why)


def _listed(lines: list[int]) -> str:
    """Return line numbers in words."""
    shown = ", ".join(map(str, lines[:MOST_LINES])) + (", ..." if len(lines) > MOST_LINES else "")
    return f"line{'s' if len(lines) > 1 else ''} {shown}"
