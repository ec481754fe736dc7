# SPDX-License-Identifier: GPL-2.0-or-later
"""`try job_submit`: run a submission, or an update, through handlers without Slurm."""

import grp
import json
import os
import pwd
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

from slurmhooks.cli import output
from slurmhooks.cli.commands.try_.site_handlers import FILE, common, load, options_of, spank_lines
from slurmhooks.cli.commands.try_.site_handlers import release as release_here
from slurmhooks.cli.findings import shown
from slurmhooks.option import Option
from slurmhooks.registry import Registry
from slurmhooks.testing import FakeJob, FakeRecord, Observed, Result, run, sbatch
from slurmhooks.testing.job_submit import missing_fields
from slurmhooks.testing.job_tables import MAKERS, FakeTable
from slurmhooks.values import UNLIMITED


class Change(BaseModel):
    """A field that handlers changed.

    Attributes:
        before: its value before; null if it was unset.
        after: its value after; null if it is unset.
    """

    before: Any
    after: Any


class Tried(BaseModel):
    """The result of a request.

    Attributes:
        accepted: every handler passed.
        code: the error code of a refusal, a name or a number; null: the general error of the hook.
        text: what the user reads about a refusal or a bug; null if all handlers passed.
        error_id: the id of the first bug in a handler; null: no bug.
        user_messages: what handlers tell the user.
        changes: the changed fields by name.
        observed: what handlers that only warn or observe would have done.
        log: lines of Slurm's log, each as "level: text".
        notes: what was ignored, or may be a mistake.
    """

    accepted: bool
    code: str | int | None
    text: str | None
    error_id: str | None
    user_messages: list[str]
    changes: dict[str, Change]
    observed: list[Observed]
    log: list[str]
    notes: list[str]


ENVIRONMENTS = ("environment", "spank_job_env")


def release_of(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Return a release without its third part: micro releases have the same fields."""
    del context, option
    match = re.fullmatch(r"(\d+\.\d+)(\.\d+)?(-\d+)?", value) if value is not None else None
    if value is not None and match is None:
        raise click.BadParameter(f"{value} is not a release such as 24.11 or 24.11.5")
    return match and match[1]


@click.command("job_submit", context_settings={"ignore_unknown_options": False})
@click.argument("source", type=click.Path(dir_okay=False, allow_dash=True))
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[-- SBATCH_OPTION... [-- ARGUMENT...]]")
@click.option("--uid", type=click.IntRange(0), help="User id of the submitter. Default: yours.")
@click.option("--user", help="Name of the submitter.")
@click.option("--modify", type=FILE, metavar="RECORD", help="Try an update; this JSON file has the fields of the job.")
@click.option("--tables", type=FILE, help='JSON: {"partitions": {NAME: {...}}, "jobs": [{...}], ...}.')
@click.option(
    "--release",
    callback=release_of,
    help="Release of Slurm, such as 24.11: decides which fields exist. Default: that of the plugins, or the newest.",
)
@common(Tried | list[Tried])
def command(
    source: str,
    options: tuple[str, ...],
    uid: int | None,
    user: str | None,
    modify: Path | None,
    tables: Path | None,
    release: str | None,
    sysconfdir: Path,
    files: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Run a submission through the handlers of job_submit.

    SOURCE is a batch script, whose #SBATCH lines are read as sbatch reads them, or a JSON object of fields by name; "-"
    is standard input. Options of sbatch follow "--", with ":" between those of components, and arguments of the script
    another "--". Each component of a
    heterogeneous job is run; --json then prints a list. With --modify, the handlers of job_modify run.
    """
    if uid is not None and user is not None:
        raise click.UsageError("--uid and --user exclude each other")
    release = release or release_here(sysconfdir)
    number, identity = submitter(uid, user)
    text = _text(source)
    registry = load(sysconfdir, files, scripts=True)
    of_spank = options_of(spank_lines(sysconfdir, files, (), registry))
    record, given = (read_file(path) if path else None for path in (modify, tables))
    documents = []
    accepted = True
    count = 1 if text.lstrip().startswith("{") else sbatch.components(text, own_options(options))
    for component in range(count):
        notes: list[str] = []
        fields = read_source(source, text, options, release, notes, component, of_spank)
        request = Request(
            fields=fields if modify else {**identity, **fields},
            release=release,
            uid=number,
            record=record,
            tables=given or {},
            notes=notes,
        )
        result, changes = request.run(registry)
        accepted = accepted and result.accepted
        if as_json:
            documents.append(tried(result, changes, notes))
            continue
        if "het_job_offset" in fields:
            click.echo(click.style(f"component {component}:", bold=True))
        show(result, changes, notes)
    if as_json:
        output.document(documents[0] if len(documents) == 1 else [each.model_dump() for each in documents])
    sys.exit(0 if accepted else 1)


def _text(source: str) -> str:
    try:
        with click.open_file(source, "rb") as file:  # as text, DOS line breaks would not be seen
            raw: bytes = file.read()
    except OSError as error:
        raise click.UsageError(f"{source}: {error.strerror}") from error
    return raw.decode("utf-8", "surrogateescape")


@dataclass
class Request:
    """The submission or update to try.

    Attributes:
        fields: the fields of the job.
        release: release of Slurm: decides which fields exist.
        uid: user id of the submitter.
        record: fields of the job as slurmctld knows it, for an update; None for a submission.
        tables: tables of slurmctld, by the names of the arguments of handlers.
        notes: what was ignored, for the user.
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
            the result, and the changed fields, each with its value before and after.

        Raises:
            click.UsageError: a field does not exist, or cannot have this value.
        """
        update = self.record is not None
        job, before = self._job(), self._job()
        given: dict[str, Any] = {name: self._table(name, table) for name, table in self.tables.items()}
        if update:
            given["record"] = self._fake(FakeRecord, self.record or {})
        hook = "job_modify" if update else "job_submit"
        given["modify_uid" if update else "submit_uid"] = self.uid
        _note_missing_data(registry, hook, given, self.notes)
        result = run(registry, hook, job=job, **given)
        return result, {name: _pair(before, name, value) for name, value in result.changes.items()}

    def _job(self) -> FakeJob:
        job: FakeJob = self._fake(FakeJob, self.fields)
        return job

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


def _note_missing_data(registry: Registry, hook: str, given: dict[str, Any], notes: list[str]) -> None:
    """Add notes about handlers that do not run, or get no data."""
    if not registry.handlers(hook):
        notes.append(f"no handler of hook.{hook}: Slurm accepts the request unchanged")
    for name in MAKERS:
        asking = [handler.label for handler in registry.handlers(hook) if name in handler.names]
        if asking and name not in given:
            notes.append(f"{', '.join(asking)} takes {name}, which is empty here: fill it with --tables")


def own_options(words: Sequence[str]) -> Sequence[str]:
    """Return the options of sbatch: the words before the arguments of the script."""
    return words[: words.index("--")] if "--" in words else words


def read_source(
    name: str,
    text: str,
    words: Sequence[str],
    release: str,
    notes: list[str],
    component: int = 0,
    options: Sequence[Option] = (),
) -> dict[str, Any]:
    """Return the fields of a submission.

    Args:
        name: name of the source file.
        text: a batch script, or a JSON object of fields.
        words: options of sbatch; after "--", arguments of the script.
        release: release of Slurm; fields that it lacks are ignored if options set them.
        notes: list to which notes for the user are added.
        component: of a heterogeneous job.
        options: of SPANK plugins.

    Raises:
        click.UsageError: the text is invalid.
    """
    own = own_options(words)
    words, arguments = own, words[len(own) + 1 :]
    try:
        if not text.lstrip().startswith("{"):
            fields = sbatch.submission(
                name,
                text,
                words,
                notes,
                arguments=arguments,
                release=release,
                component=component,
                options=options,
            )
        else:
            fields = read_json(name, text)
            sbatch.apply(words, fields, notes, options)
            return fields
    except sbatch.SbatchError as error:
        raise click.UsageError(str(error)) from error
    for missing in sorted(missing_fields(release).intersection(fields)):
        notes.append(f"Slurm {release} has no {missing}: ignored")
        del fields[missing]
    return fields


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
    return {key: UNLIMITED if item == "UNLIMITED" else item for key, item in value.items()}


def read_file(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; see :func:`read_json`."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{path}: not JSON: {error}") from error
    return read_json(str(path), text)


def submitter(uid: int | None, name: str | None) -> tuple[int, dict[str, Any]]:
    """Return the user id of the submitter, and the fields of a job that follow from it.

    Args:
        uid: the user id, or None.
        name: the user name, or None; without both, the user of this process.

    Raises:
        click.UsageError: the user does not exist.
    """
    try:
        entry = pwd.getpwnam(name) if name is not None else pwd.getpwuid(os.getuid() if uid is None else uid)
    except KeyError:
        if uid is None:
            raise click.UsageError(f"user {name!r} does not exist here: give a user id with --uid") from None
        return uid, {"user_id": uid, "group_id": uid}
    groups: dict[str, int] = {}
    for gid in os.getgrouplist(entry.pw_name, entry.pw_gid):
        groups[_group_name(gid)] = gid
    return entry.pw_uid, {
        "user_id": entry.pw_uid,
        "group_id": entry.pw_gid,
        "user_name": entry.pw_name,
        "group_name": _group_name(entry.pw_gid),
        "groups": groups,
    }


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def show(result: Result, changes: dict[str, Any], notes: Sequence[str]) -> None:
    """Print the result for people."""
    if result.accepted:
        click.echo(click.style("accepted", fg="green", bold=True))
    else:
        code = f" ({result.code})" if result.code is not None else ""
        click.echo(f"{click.style('refused', fg='red', bold=True)}{code}: {shown(result.text or '')}")
    output.show("to the user", result.user_messages)
    cells = []
    for name, (old, new) in changes.items():
        if name in ENVIRONMENTS:
            cells += [(f"{name}[{key}]", _word(old[key]), _word(new[key])) for key in new]
        else:
            cells.append((name, _word(old), _word(new)))
    if cells:
        output.table(("field", "before", "after"), cells)
    elif result.accepted:
        click.echo("no field changed")
    for each in result.observed:
        click.echo(f"{click.style(each.handler, bold=True)} ({each.mode}): {_observed(each)}")
    output.show("log", result.log)
    for note in notes:
        click.echo(f"{click.style('note:', bold=True)} {shown(note)}", err=True)


def _observed(observed: Observed) -> str:
    """Return what a handler that only warns or observes would have done."""
    if observed.error_id is not None:
        return f"has a bug (error {observed.error_id})"
    if not observed.accepted:
        code = f" ({observed.code})" if observed.code is not None else ""
        return f"would refuse{code}: {shown(observed.text or '')}"
    changes = ", ".join(f"{name} to {shown(_word(value))}" for name, value in observed.changes.items())
    return f"would change {changes}" if changes else "would pass"


def _word(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else repr(output.plain(value))


def tried(result: Result, changes: dict[str, Any], notes: Sequence[str]) -> Tried:
    """Return the document for ``--json``."""
    return Tried(
        accepted=result.accepted,
        code=result.code,
        text=result.text,
        error_id=result.error_id,
        user_messages=result.user_messages,
        changes={
            name: Change(before=output.plain(old), after=output.plain(new)) for name, (old, new) in changes.items()
        },
        observed=output.plain([asdict(each) for each in result.observed]),
        log=result.log,
        notes=list(notes),
    )
