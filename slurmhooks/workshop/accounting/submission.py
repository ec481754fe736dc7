# SPDX-License-Identifier: GPL-2.0-or-later
"""Computes the request of a job from what accounting knows: its members, and which of them are unknown.

A member is known if every option that has an influence on it is known: those of the command line, those of the script
if accounting has it, and those of variables such as SBATCH_ACCOUNT if it has the environment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from slurmhooks.cli_filter.command_options import NAMES
from slurmhooks.cli_filter.model import EARLY
from slurmhooks.fields import COUNTERS
from slurmhooks.fields.rows import release_of, stored
from slurmhooks.job_submit.strings import NotationError
from slurmhooks.testing import FakeJob
from slurmhooks.workshop.accounting import script_options, words
from slurmhooks.workshop.accounting.assumed import (
    ASSUMABLE,
    OPTIONS_ASSUMED,
    VARIABLES_ASSUMED,
    WORDS_ASSUMED,
    assumed,
    taken,
)
from slurmhooks.workshop.accounting.known import ONLY_OF_SBATCH, OWN, SHOWN, by_options, is_exact
from slurmhooks.workshop.accounting.saved import COMPONENT
from slurmhooks.workshop.testing import sbatch
from slurmhooks.workshop.testing.job_submit import missing_fields, raw_value, struct_of
from slurmhooks.workshop.testing.options import command_lines
from slurmhooks.workshop.testing.options.variables import NAMELESS, VARIABLES
from slurmhooks.workshop.testing.sbatch import SbatchError
from slurmhooks.workshop.testing.sbatch.options import OPTIONS
from slurmhooks.workshop.testing.tables import tables_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmhooks.fields.rows import Release
    from slurmhooks.wire.message import Raw
    from slurmhooks.workshop.testing.options.command_lines import Given

ELSEWHERE = frozenset({"bbf", "begin", "deadline", "export-file", "gid", "nodefile", "uid"})
"""Options whose effect depends on files, clocks or names of the machine where the command ran."""
MERGED = frozenset(
    {"cpu-freq", "distribution", "extra-node-info", "gres-flags", "hint", "mail-type", "mem-bind", "signal", "switches"}
)
"""Options that keep a part of what the same option has set before, in script or variables."""
OF_COMPONENT = re.compile(r"(#[^\n]*\n)*exit 0\n?")
"""The script that older releases make for a component of a heterogeneous job other than the first."""
OF_ARRAYS = "SLURM_ARRAY_TASK_COUNT="
_EXPORT = ("export", "export-file")
_SETS, _REQUESTS = 1 << 12, 1 << 6
"""Numbers of results that are kept for the next jobs: of short requests, and of others; a script may have 4 MiB."""
_SHORT = 500
"""Characters of the options of a command whose fields are kept, and of what accounting has of a short request."""


@dataclass(frozen=True, slots=True)
class AccountedRequest:
    """The request of a job.

    ``raws`` are raw values by member, of those that are set; ``unknown`` are the members whose values are not known. A
    ``batch`` job has a script and an environment.
    """

    raws: Mapping[str, Raw]
    unknown: frozenset[str]
    batch: bool = False
    sender_is_root: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """What accounting has of a job besides columns.

    Attributes:
        script: the batch script; None: not kept.
        variables: the environment; None: not kept, or not certain.
        of_options: the variables of it that may give options of sbatch; None: not kept.
    """

    script: str | None = None
    variables: tuple[str, ...] | None = None
    of_options: tuple[tuple[str, str], ...] | None = None


def kept(script: str | None, environment: str | None) -> Kept:
    """Return what is certain about a script and an environment as accounting has them.

    Without ``script`` or ``environment``, it is not kept. In the environment, a line is a variable; a value with line
    breaks looks like several.
    """
    if environment is None:
        return Kept(script)
    lines = environment.removesuffix("\n").split("\n")
    whole = all(_VARIABLE.match(line) for line in lines)
    # slurmctld adds variables to an array's, and accounting has one environment for all jobs that sent the same one.
    added = any(line.startswith(OF_ARRAYS) for line in lines)
    names = {name for name, _ in VARIABLES["sbatch"]} | {"SLURM_EXPORT_ENV"}
    given = [(name, value) for name, equals, value in (line.partition("=") for line in lines) if name in names]
    sure = [(name, value if whole and words.LOST not in value else words.LOST) for name, value in given]
    certain = whole and not added and words.LOST not in environment
    return Kept(script, tuple(lines) if certain else None, tuple(sure))


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class Computing:
    """Computes requests for a release of Slurm; ``slots`` are the numbers of members that are not set."""

    def __init__(self, release: str, assume: frozenset[str] = frozenset()) -> None:
        """Prepare for a release such as "24.11"; ``assume`` are words of slurmhooks.workshop.accounting.assumed."""
        self._release = release
        self._assume = assume
        self._table = tables_of(release)["job"]
        self._members = frozenset(self._table.places)
        self._missing = missing_fields(release)
        empty = struct_of(FakeJob(release=release, user_id=0, group_id=0))
        self._empty = dict(empty.raws)
        self.slots = tuple(empty.slots)
        pairs = stored(FakeJob, release_of(release), self._table.places)
        self._rows = {row.name: (row, member) for row, member in pairs}
        self._known_of = lru_cache(_SETS)(self._known)
        self._of_short = lru_cache(_SETS)(self._compute)
        self._of_long = lru_cache(_REQUESTS)(self._compute)
        self._of_options = lru_cache(_SETS)(self._of_sbatch)

    def request(self, columns: Mapping[str, str], kept: Kept) -> AccountedRequest:
        """Return the request of a job, from the columns of sacct and what else accounting has."""
        evidence = tuple(columns.get(column, "") for column in _EVIDENCE)
        heterogeneous = "+" in columns["JobID"] or (kept.script is None and COMPONENT in columns)
        line = columns.get("SubmitLine", "")
        short = kept.script is None and kept.variables is None and sum(map(len, (line, *evidence))) < _SHORT
        computed = (self._of_short if short else self._of_long)(line, evidence, kept, heterogeneous)
        raws = {**computed.raws, "user_id": int(columns["UID"]), "group_id": int(columns["GID"])}
        unknown = computed.unknown
        if kept.variables is not None and computed.batch and "environment" in unknown:
            raws["environment"] = [each.encode("utf-8", "surrogateescape") for each in kept.variables]
            raws["env_size"] = len(kept.variables)
            unknown -= {"environment", "env_size"}
        for name in taken(self._assume):
            member, column = ASSUMABLE[name]
            if member in unknown and column in columns:
                raws[member] = assumed(name, columns[column])
                unknown -= {member}
        return AccountedRequest(raws, unknown, computed.batch, computed.sender_is_root)

    def _compute(self, text: str, evidence: tuple[str, ...], kept: Kept, heterogeneous: bool) -> AccountedRequest:
        columns = dict(zip(_EVIDENCE, evidence, strict=True))
        if (command := script_options.wrapped(kept.script)) is not None:
            columns[words.WRAP] = command
        line = words.read(text, columns, plain=WORDS_ASSUMED in self._assume)
        nothing = AccountedRequest({}, self._members - {"user_id", "group_id"})
        if not line.program or heterogeneous or line.components:
            return nothing
        options = _Options(line, kept, self._assume, release_of(self._release))
        if options.components or "external" in options.given:  # it has no script
            return nothing
        fields: dict[str, Any] = {}
        try:
            if line.program == "sbatch":
                given = [each for each in options.in_force() if each.name != "job-name"]
                short = sum(len(each.text or "") for each in given) < _SHORT
                fields |= (self._of_options if short else self._of_sbatch)(*given)
            else:
                self._of_others(fields, options.in_force())
        except (SbatchError, NotationError, ValueError, OverflowError):
            return nothing  # sbatch has read something else
        known_members = set(
            self._known_of(
                line.program,
                frozenset(options.unknown),
                frozenset(options.of_line),
                frozenset(line.possible),
                is_exact(options.given.keys(), release_of(self._release)),
            )
        )
        if "priority" in options.given or "priority" in options.unknown:
            known_members.discard("priority")  # slurmctld ignores it unless it comes from an operator
        if words.LOST not in text:
            fields["submit_line"] = text
            known_members |= {"submit_line"}
        if line.program == "sbatch":
            known_members |= self._name_and_words(fields, line, options, columns)
            known_members |= self._files(options)
            known_members.add("alloc_resp_port")  # sbatch waits on no port
            if kept.script is not None:
                fields["script"] = kept.script
                known_members |= {"script", "het_job_offset"}
        else:
            known_members |= {"script", "environment", "env_size", "het_job_offset", "alloc_resp_port"}
            fields["alloc_resp_port"] = 1  # it has one; the number matters to nobody
        raws = self._raws(fields, known_members)
        return AccountedRequest(raws, self._members - known_members, line.program == "sbatch", options.of_root)

    def _of_sbatch(self, *given: Given) -> Mapping[str, Any]:
        """Return the fields that options of sbatch decide, except the name."""
        fields: dict[str, Any] = {"script": "#!/bin/sh\n", "argv": []}
        sbatch.compute(fields, given, [], environment={}, work_dir="/", release=self._release, options={})
        for name in ("environment", "spank_job_env", "script", "argv", "name"):
            fields.pop(name, None)
        return fields

    def _of_others(self, fields: dict[str, Any], given: Sequence[Given]) -> None:
        simple = {option for member, options in OWN.items() if member not in ONLY_OF_SBATCH for option in options}
        words_of = [
            f"--{each.name}" + ("" if each.text is None else f"={each.text}") for each in given if each.name in simple
        ]
        sbatch.apply(words_of, fields, [])

    def _known(
        self, program: str, unknown: frozenset[str], of_line: frozenset[str], possible: frozenset[str], exact: bool
    ) -> set[str]:
        """Return the members that the options decide, except those that need more than options."""
        if program == "sbatch":
            known_members = by_options(unknown, of_line, possible, exact=exact)
        else:
            known_members = {member for member, options in OWN.items() if unknown.isdisjoint(options)} - ONLY_OF_SBATCH
        if OPTIONS_ASSUMED in self._assume and unknown <= SHOWN:
            known_members.add("bitflags")  # whether the defaults of what accounting shows were used matters to no rule
        return (known_members | {"user_id", "group_id"}) & self._members

    def _name_and_words(
        self, fields: dict[str, Any], line: words.SubmitLine, options: _Options, columns: Mapping[str, str]
    ) -> set[str]:
        """Set the name and the words of the script; return which of them are known."""
        known_members: set[str] = set()
        rest = line.rest
        if not options.unknown & {"wrap"} and ("wrap" in options.given or rest == []):
            known_members |= {"argv", "argc"}
            fields["argv"] = []
        elif rest is not None and len(rest) == 1 and rest[0].startswith(("/", ".")) and words.LOST not in rest[0]:
            known_members |= {"argv", "argc"}
            fields["argv"] = rest
        if "job-name" in options.unknown:
            return known_members
        name = options.given.get("job-name")
        if name is None and "wrap" in options.given:
            name = "wrap"
        elif name is None and rest is not None and "wrap" not in options.unknown:
            name = rest[0].rpartition("/")[2] if rest else "sbatch"
            if rest and (len(rest) > 1 or words.LOST in name) and columns.get("JobName") != name:
                name = None
        if name is None:
            return known_members
        fields["name"] = name
        return known_members | {"name"}

    def _files(self, options: _Options) -> set[str]:
        """Return which of the working directory and the files are known; a relative path needs the directory."""
        known_members: set[str] = set()
        folder = None if "chdir" in options.unknown else options.given.get("chdir")
        absolute = folder is not None and folder.startswith("/")
        if absolute:
            known_members.add("work_dir")
        for option, member in (("input", "std_in"), ("output", "std_out"), ("error", "std_err")):
            path = options.given.get(option)
            if option not in options.unknown and (absolute or path is None or path.startswith("/")):
                known_members.add(member)
        return known_members

    def _raws(self, fields: dict[str, Any], known_members: set[str]) -> dict[str, Raw]:
        """Return the raw values of the known members that are set."""
        raws: dict[str, Raw] = {}
        for name, value in fields.items():
            if name in COUNTERS:
                raws[name] = [each.encode("utf-8", "surrogateescape") for each in value]
                raws[COUNTERS[name]] = len(value)
            elif name not in self._missing:
                row, member = self._rows[name]
                if value is not None and member in known_members:
                    raws[member] = raw_value(row, raws.get(member, self._empty[member]), value, self._release)
        return raws


@dataclass
class _Options:
    """The options of a job.

    Attributes:
        given: the arguments of those that are known, by name; None: it has none.
        of_line: those that the command line gives.
        overriding: those of them for which it does not matter what script and variables say.
        unknown: names of those that may be given, or have another value, or whose effect is left to Slurm.
        components: the job is heterogeneous.
        of_root: root submitted the job for its user, as only root may.
    """

    line: words.SubmitLine
    kept: Kept
    assume: frozenset[str]
    release: Release
    given: dict[str, str | None] = field(default_factory=dict)
    of_line: set[str] = field(default_factory=set)
    overriding: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    components: bool = False
    of_root: bool = False

    def __post_init__(self) -> None:
        line, program = self.line, self.line.program
        self._variables: list[Given] = []
        self._script: list[Given] = []
        self.of_line = {each.name for each in line.given} - line.possible
        self.overriding = self.of_line - MERGED
        unknown = set(line.possible)
        if program == "sbatch":
            unknown |= self._of_script()
        unknown |= self._of_variables()
        if OPTIONS_ASSUMED in self.assume:
            unknown &= SHOWN | line.possible
        all_given = [*self._script, *self._variables, *line.given]
        unknown |= {each.name for each in all_given} & ELSEWHERE
        self.of_root = any(each.name == "uid" for each in all_given)
        unknown |= {each.name for each in all_given if _is_lost(each) or each.name not in OPTIONS}
        names = [each.name for each in all_given]
        unknown |= {name for name in MERGED if names.count(name) > 1}
        self.unknown = unknown
        self.given = {
            name: text for name, text in command_lines.texts(all_given, plugin=False).items() if name not in unknown
        }

    def in_force(self) -> list[Given]:
        """Return the known options in the order of their setting."""
        given = command_lines.in_force("sbatch", [self._script], self._variables, [self.line.given], 0)
        return [each for each in given if each.name not in self.unknown]

    def _of_script(self) -> set[str]:
        """Read the options of the script; return the names of the unknown ones."""
        if self.kept.script is None:
            return _OF_SCRIPTS - self.overriding
        notes: list[str] = []
        try:
            parts, unsure = script_options.options(self.kept.script, self.line, notes, self.release)
        except SbatchError:
            return _OF_SCRIPTS - self.overriding
        if notes:  # an option of a plugin, which may take the next word, or lines for other batch systems
            return _OF_SCRIPTS - self.overriding
        self.components = len(parts) > 1 or OF_COMPONENT.fullmatch(self.kept.script) is not None
        self._script = parts[0]
        return unsure - self.overriding

    def _sure_variables(self, of_script: Sequence[Given]) -> dict[str, str] | None:
        """Return the variables that may give sbatch options; None: they are not those of the job that are kept."""
        kept = self.kept.of_options
        export = {each.name for each in (*of_script, *self.line.given)}.union(self.line.possible).intersection(_EXPORT)
        if kept is None or self.line.program != "sbatch" or export or "SLURM_EXPORT_ENV" in dict(kept):
            return None
        return dict(kept)

    def _of_variables(self) -> set[str]:
        """Read the options of variables; return the names of the unknown ones."""
        program, kept = self.line.program, self._sure_variables(self._script)
        if kept is None:
            return set() if VARIABLES_ASSUMED in self.assume else _OF_VARIABLES[program] - self.overriding
        self._variables = command_lines.of_environment(program, kept, ())
        return set()


def _is_lost(given: Given) -> bool:
    """Tell whether the value of an option is not certain: the database has replaced a character, or it has blanks."""
    text = given.text or ""
    strict = given.name in words.FOLLOWED or given.name in words.IGNORING
    return words.LOST in text or (strict and re.search(r"\s", text) is not None)


_OF_SCRIPTS = {*NAMES["sbatch"]} - {*EARLY["sbatch"]}
"""The options that a script may give."""
_OF_VARIABLES = {program: {NAMELESS.get(name, name) for _, name in own} for program, own in VARIABLES.items()}
"""The options that variables may give, by program."""
_EVIDENCE = tuple(sorted(set(words.COLUMNS.values())))
