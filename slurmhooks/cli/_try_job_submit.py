# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a submission, or an update, through handlers without Slurm; for `try job_submit`."""

import grp
import json
import os
import pwd
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import _sbatch, _trial
from slurmhooks.cli._findings import shown
from slurmhooks.registry import Registry
from slurmhooks.testing import FakeJob, FakeRecord, Result, run
from slurmhooks.testing.job_submit import MAKERS, FakeTable
from slurmhooks.values import UNLIMITED

ENVIRONMENTS = ("environment", "spank_job_env")


@dataclass
class Request:
    """What is tried.

    Attributes:
        fields: of the job.
        release: of Slurm: decides which fields there are.
        uid: who submits or updates.
        record: fields of the job as slurmctld knows it, for an update; else None.
        tables: of slurmctld, by their names as arguments of handlers.
        notes: what was left out.
    """

    fields: dict[str, Any]
    release: str
    uid: int
    record: dict[str, Any] | None = None
    tables: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def run(self, registry: Registry) -> tuple[Result, dict[str, Any]]:
        """Run the handlers.

        Returns:
            what happened, and the changed fields, each with its value before and after.

        Raises:
            click.UsageError: there is no such field, or it cannot have such a value.
        """
        update = self.record is not None
        job, before = self._job(), self._job()
        given: dict[str, Any] = {name: self._table(name, table) for name, table in self.tables.items()}
        if update:
            given["record"] = self._fake(FakeRecord, self.record or {})
        hook = "job_modify" if update else "job_submit"
        given["modify_uid" if update else "submit_uid"] = self.uid
        _say_what_lacks(registry, hook, given, self.notes)
        result = run(registry, hook, job=job, **given)
        return result, {name: _pair(before, name, value) for name, value in result.changes.items()}

    def _job(self) -> FakeJob:
        made: FakeJob = self._fake(FakeJob, self.fields)
        return made

    def _table(self, name: str, values: Any) -> FakeTable:
        if name not in MAKERS:
            raise click.UsageError(f"--tables: no table {name!r}; there are: {', '.join(MAKERS)}")
        try:
            if name == "jobs":
                values = [FakeRecord(release=self.release, **fields) for fields in values]
            return MAKERS[name](values, release=self.release)
        except (AttributeError, TypeError, ValueError) as error:
            raise click.UsageError(f"--tables: {name}: {error}") from error

    def _fake(self, kind: Any, values: dict[str, Any]) -> Any:
        try:
            return kind(release=self.release, **values)
        except (AttributeError, TypeError, ValueError) as error:
            raise click.UsageError(str(error)) from error


def _pair(before: FakeJob, name: str, value: Any) -> tuple[Any, Any]:
    if name in ENVIRONMENTS:
        old = getattr(before, name)
        return {key: old.get(key) for key in value}, value
    old = getattr(before, name)
    return (list(old) if name == "argv" else old), value


def _say_what_lacks(registry: Registry, hook: str, given: dict[str, Any], notes: list[str]) -> None:
    """Say what handlers ask for and only slurmctld has."""
    if not registry.handlers(hook):
        notes.append(f"no handler of hook.{hook}: Slurm takes it as it is")
    for name in MAKERS:
        asking = [handler.label for handler in registry.handlers(hook) if name in handler.names]
        if asking and name not in given:
            notes.append(f"{', '.join(asking)} takes {name}, which is empty here: give some with --tables")


def read_source(name: str, text: str, words: Sequence[str], release: str, notes: list[str]) -> dict[str, Any]:
    """Return the fields that a source means.

    Args:
        name: of the file.
        text: a batch script, or a JSON object of fields.
        words: sbatch's options.
        release: of Slurm: fields that it lacks are left out of what options set.
        notes: are added to.

    Raises:
        click.UsageError: it is neither.
    """
    try:
        if not text.lstrip().startswith("{"):
            fields = _sbatch.submission(name, text, words, notes)
        else:
            fields = read_json(name, text)
            _sbatch.apply(words, fields, notes)
            return fields
    except _sbatch.SbatchError as error:
        raise click.UsageError(str(error)) from error
    kind = type(FakeJob(release=release))
    for missing in [key for key in fields if key in kind._missing]:
        notes.append(f"Slurm {release} has no {missing}: left out")
        del fields[missing]
    return fields


def read_json(name: str, text: str) -> dict[str, Any]:
    """Return a JSON object; the word UNLIMITED stands for that value.

    Raises:
        click.UsageError: it is none.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{name}: not JSON: {error}") from error
    if not isinstance(found, dict):
        raise click.UsageError(f"{name}: should be a JSON object")
    return {key: UNLIMITED if value == "UNLIMITED" else value for key, value in found.items()}


def read_file(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; see :func:`read_json`."""
    return read_json(str(path), path.read_text())


def user(uid: int | None, name: str | None) -> tuple[int, dict[str, Any]]:
    """Return the number of a user, and the fields of a job that follow from it.

    Raises:
        click.UsageError: there is no such user.
    """
    try:
        known = pwd.getpwnam(name) if name is not None else pwd.getpwuid(os.getuid() if uid is None else uid)
    except KeyError:
        if uid is None:
            raise click.UsageError(f"there is no user {name!r} here: give a number with --uid") from None
        return uid, {"user_id": uid, "group_id": uid}
    groups: dict[str, int] = {}
    for gid in os.getgrouplist(known.pw_name, known.pw_gid):
        groups[_group_name(gid)] = gid
    return known.pw_uid, {
        "user_id": known.pw_uid,
        "group_id": known.pw_gid,
        "user_name": known.pw_name,
        "group_name": _group_name(known.pw_gid),
        "groups": groups,
    }


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def show(result: Result, changes: dict[str, Any], notes: Sequence[str]) -> None:
    """Print what happened."""
    if result.accepted:
        click.echo(click.style("accepted", fg="green", bold=True))
    else:
        code = f" ({result.code})" if result.code is not None else ""
        click.echo(f"{click.style('refused', fg='red', bold=True)}{code}: {shown(result.text or '')}")
    _trial.show("to the user", result.user_messages)
    cells = []
    for name, (old, new) in changes.items():
        if name in ENVIRONMENTS:
            cells += [(f"{name}[{key}]", _word(old[key]), _word(new[key])) for key in new]
        else:
            cells.append((name, _word(old), _word(new)))
    if cells:
        _trial.table(("field", "before", "after"), cells)
    elif result.accepted:
        click.echo("no field changed")
    _trial.show("log", result.log)
    for note in notes:
        click.echo(f"{click.style('note:', bold=True)} {shown(note)}", err=True)


def _word(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else repr(_trial.plain(value))


def as_json(result: Result, changes: dict[str, Any], notes: Sequence[str]) -> str:
    """Return what happened, for programs."""
    content = {
        "accepted": result.accepted,
        "code": result.code,
        "text": result.text,
        "error_id": result.error_id,
        "user_messages": result.user_messages,
        "changes": {name: {"before": old, "after": new} for name, (old, new) in changes.items()},
        "log": result.log,
        "notes": list(notes),
    }
    return json.dumps(_trial.plain(content), indent=2)
