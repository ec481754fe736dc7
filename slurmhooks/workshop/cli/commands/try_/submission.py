# SPDX-License-Identifier: GPL-2.0-or-later
"""What `try job_submit` submits: the words of its command line, scripts, files with fields, and users."""

import json
import os
import pwd
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import click

from slurmhooks.fields.flag_rows import Enumerated
from slurmhooks.fields.rows import rows
from slurmhooks.handlers.similar import nearest
from slurmhooks.hooks.option import Option
from slurmhooks.testing import Result
from slurmhooks.values import UNLIMITED
from slurmhooks.workshop.testing import allocations, invocation, real_commands, sbatch
from slurmhooks.workshop.testing.environments import group_name
from slurmhooks.workshop.testing.job_submit import missing_fields
from slurmhooks.workshop.testing.options import command_lines
from slurmhooks.workshop.testing.runner import check_options


@dataclass
class Source:
    """What is submitted.

    Attributes:
        name: of the file with the script or fields; None: it is standard input, or the script of ``--wrap``.
        text: a batch script, or a JSON object of fields.
        words: options of sbatch.
        arguments: of the script.
        options: of SPANK plugins.
        line: the command line of sbatch; None: that of the other attributes.
        program: the command that submits: ``sbatch``, ``srun`` or ``salloc``.
    """

    name: str | None
    text: str
    words: list[str]
    arguments: list[str]
    options: Sequence[Option]
    line: str | None = None
    program: str = "sbatch"

    @property
    def components(self) -> int:
        """How many components the job has.

        Raises:
            click.UsageError: sbatch would refuse the options.
        """
        try:
            if self.program != "sbatch":
                return len(command_lines.read_components(self.program, self.words, self.options, []))
            return 1 if self.has_fields else sbatch.components(self.text, self.words, self.options)
        except ValueError as error:
            raise click.UsageError(str(error)) from error

    @property
    def has_fields(self) -> bool:
        """Whether the text is a JSON object of fields."""
        return self.text.lstrip().startswith("{")

    @property
    def has_options(self) -> bool:
        """Whether options of a command are to be read."""
        return not self.has_fields and bool(self.words or any(sbatch.script_options(self.text)))

    def fields(self, release: str, notes: list[str], component: int = 0) -> dict[str, Any]:
        """Return the fields of the submission.

        Fields that the release lacks are ignored if options set them. Notes for the user are added to ``notes``.

        Raises:
            click.UsageError: the text is invalid, or sbatch would refuse it.
        """
        try:
            if self.has_fields:
                fields = read_json(self.name or "standard input", self.text)
                sbatch.apply(self.words, fields, notes, self.options)
                return fields
            if self.program != "sbatch":
                fields = allocations.request(
                    self.program, self.words, notes, release=release, component=component, options=self.options
                )
            else:
                fields = sbatch.submission(
                    self.name,
                    self.text,
                    self.words,
                    notes,
                    arguments=self.arguments,
                    release=release,
                    component=component,
                    options=self.options,
                    submit_line=self.line,
                )
        except sbatch.SbatchError as error:
            raise click.UsageError(str(error)) from error
        for missing in sorted(missing_fields(release).intersection(fields)):
            notes.append(f"Slurm {release} has no {missing}: ignored")
            del fields[missing]
        return fields

    def requests(self, folder: Path) -> list[dict[str, Any]]:
        """Return the fields of each component, as the command of this machine sends them.

        Raises:
            UnavailableError: the command cannot be asked.
            click.UsageError: the command refuses the options or the script.
        """
        words, script = self.words, None
        if self.program == "sbatch" and self.name is not None:
            words = [*self.words, self.name, *self.arguments]
        elif self.program == "sbatch" and self.line is None:
            script = self.text
        try:
            return real_commands.requests(folder, self.program, words, script)
        except sbatch.SbatchError as error:
            raise click.UsageError(str(error)) from error

    def checked(self, component: int = 0) -> Result:
        """Convert and check options of SPANK plugins, as the command does before it submits anything."""
        parts = [line.given for line in command_lines.read_components(self.program, self.words, self.options, [])]
        text = "" if self.has_fields else sbatch.text_with_options(self.text, parts)
        lines = sbatch.options_in(text, [], self.options)
        variables = [] if self.has_fields else command_lines.of_environment(self.program, os.environ, self.options)
        given = command_lines.in_force(self.program, lines, variables, parts, component)
        return check_options(self.options, command_lines.texts(given, plugin=True))


def restrict(fields: dict[str, Any], notes: list[str]) -> None:
    """Change fields as slurmctld does before its plugins run if the submitter is an ordinary user.

    Raises:
        click.UsageError: slurmctld refuses the submission before its plugins run.
    """
    if fields.get("reboot"):
        raise click.UsageError("--reboot: slurmctld refuses it to ordinary users before its plugins run")
    if (fields.get("nice") or 0) < 0:
        raise click.UsageError("--nice: slurmctld refuses a negative value to ordinary users before its plugins run")
    if fields.get("priority"):
        notes.append("--priority: slurmctld ignores it if it is not from an operator")
        del fields["priority"]


def read_source(source: str, words: Sequence[str], options: Sequence[Option], program: str = "sbatch") -> Source:
    """Return what a command line submits.

    ``source`` is the name of a file, "-" for standard input, or the first option of a command line as sbatch takes it;
    ``words`` are those after it: of a file, options of sbatch and arguments of the script. Other commands than sbatch
    take their whole command line.

    Raises:
        click.UsageError: the command would refuse the words, or the file cannot be read.
    """
    if program != "sbatch":
        return Source(None, "", [source, *words], [], options, program=program)
    is_option = source == command_lines.SEPARATOR or (source.startswith("-") and source != "-")
    words = [source, *words] if is_option else list(words)
    try:
        lines = command_lines.read_components("sbatch", words, options, [])
        wrapped = invocation.wrapped_in(lines) if is_option else None
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    rest = lines[-1].rest
    own = _before(words, rest)
    if not is_option:
        return Source(None if source == "-" else source, _text(source), own, rest, options)
    if wrapped is not None:
        return Source(None, wrapped, own, [], options, " ".join(["sbatch", *words]))
    if not rest:
        raise click.UsageError("there is no script: name one, - for standard input, or give --wrap")
    path = command_lines.path_in_argv(rest[0], [line.given for line in lines], os.environ, os.getcwd())
    return Source(rest[0], _text(path), own, rest[1:], options, " ".join(["sbatch", *words]))


def _before(words: list[str], rest: Sequence[str]) -> list[str]:
    """Return the words before others at the end, in which separators of components may be missing."""
    count, left = len(words), len(rest)
    while left:
        count -= 1
        left -= words[count] != command_lines.SEPARATOR
    return words[: count - 1] if count and words[count - 1] == "--" else words[:count]


def _text(source: str) -> str:
    try:
        with click.open_file(source, "rb") as file:  # as text, DOS line breaks would not be seen
            raw: bytes = file.read()
    except OSError as error:
        raise click.UsageError(f"{source}: {error.strerror}") from error
    return raw.decode("utf-8", "surrogateescape")


def read_json(name: str, text: str) -> dict[str, Any]:
    """Return a JSON object; the text "UNLIMITED" becomes that value.

    Raises:
        click.UsageError: the text is not a JSON object.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:  # RecursionError: it is nested too deeply
        raise click.UsageError(f"{name}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise click.UsageError(f"{name}: should be a JSON object")
    return unlimited(value)


def numbered(kind: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields in which numbers replace the names of choices and flags, such as JOB_FAILED, or A|B.

    Raises:
        ValueError: a field has no such name.
    """
    known = rows(kind)
    made = dict(fields)
    for name, value in fields.items():
        row = known.get(name)
        if isinstance(value, str) and isinstance(row, Enumerated):
            members = row.kind.__members__
            wrong = [word for word in value.split("|") if word not in members]
            if wrong:
                raise ValueError(f"{name} takes {row.kind.__name__}, not {wrong[0]!r}{nearest(wrong[0], members)}")
            made[name] = reduce(or_, (int(members[word]) for word in value.split("|")))
    return made


def unlimited(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields in which UNLIMITED replaces the text "UNLIMITED"."""
    return {key: UNLIMITED if item == "UNLIMITED" else item for key, item in fields.items()}


def read_file(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; see :func:`read_json`."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{path}: not JSON: {error}") from error
    return read_json(str(path), text)


def submitter(uid: int | None, name: str | None) -> tuple[int, dict[str, Any]]:
    """Return the user id of the submitter, and the fields of a job that follow from it.

    Without both, it is the user of this process, or of whom sudo runs it as root, who is exempt from many rules.

    Raises:
        click.UsageError: the user does not exist.
    """
    if uid is None and name is None:
        behind = os.environ.get("SUDO_UID", "")
        uid = int(behind) if os.getuid() == 0 and behind.isdecimal() else os.getuid()
    try:
        entry = pwd.getpwnam(name) if name is not None else pwd.getpwuid(uid or 0)
    except KeyError:
        if uid is None:
            raise click.UsageError(f"user {name!r} does not exist here: give a user id with --uid") from None
        return uid, {"user_id": uid, "group_id": uid}
    groups: dict[str, int] = {}
    for gid in os.getgrouplist(entry.pw_name, entry.pw_gid):
        groups[group_name(gid)] = gid
    return entry.pw_uid, {
        "user_id": entry.pw_uid,
        "group_id": entry.pw_gid,
        "user_name": entry.pw_name,
        "group_name": group_name(entry.pw_gid),
        "groups": groups,
    }
