# SPDX-License-Identifier: GPL-2.0-or-later
"""`try job_submit`: run a submission, or an update, through handlers without Slurm."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import configuration, output
from slurmhooks.cli.findings import shown
from slurmhooks.fields import JobFields
from slurmhooks.fields.rows import NEWEST, release_of, rows
from slurmhooks.handlers.registry import Registry
from slurmhooks.job_submit.users import split_names
from slurmhooks.site import sources as site
from slurmhooks.testing import FakeJob, FakeRecord, Observed, Result, run
from slurmhooks.workshop.cli.commands.try_ import choices, site_handlers
from slurmhooks.workshop.cli.commands.try_.site_handlers import (
    FILE,
    as_read,
    common,
    load,
    options_of,
    show_verdict,
    spank_lines,
)
from slurmhooks.workshop.cli.commands.try_.submission import (
    Source,
    numbered,
    read_file,
    read_source,
    restrict,
    submitter,
    unlimited,
)
from slurmhooks.workshop.testing import allocations, sbatch
from slurmhooks.workshop.testing.job_submit import RELEASE
from slurmhooks.workshop.testing.job_tables import MAKERS, FakeTable
from slurmhooks.workshop.testing.real_commands import UnavailableError
from slurmhooks.workshop.testing.slurmctld import texts_of


@dataclass(kw_only=True)
class Change:
    """A field that handlers changed.

    Attributes:
        before: its value before; null if it was unset.
        after: its value after; null if it is unset.
    """

    before: Any
    after: Any


@dataclass(kw_only=True)
class Tried:
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


ADMINISTRATOR = "administrator"
"""Why rules are not for root and SlurmUser."""
ENVIRONMENTS = ("environment", "spank_job_env")
FIELDS = rows(JobFields)


@click.command("job_submit", context_settings={"ignore_unknown_options": False})
@click.argument("source", type=click.Path(dir_okay=False, allow_dash=True))
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[-- SBATCH_OPTION... [ARGUMENT...]]")
@click.option("--uid", type=click.IntRange(0), help="User id of the submitter. Default: yours, also with sudo.")
@click.option("--user", help="Name of the submitter.")
@click.option("--command", "program", type=click.Choice(("sbatch", *allocations.COMMANDS)), default="sbatch",
              help="The command that submits; the command line of srun or salloc follows.")  # fmt: skip
@click.option("--modify", type=FILE, metavar="RECORD", help="Try an update; this JSON file has the fields of the job.")
@click.option("--tables", type=FILE, help='JSON: {"partitions": {NAME: {...}}, "jobs": [{...}], ...}.')
@site_handlers.release_option
@common(Tried | list[Tried])
def command(
    source: str,
    options: tuple[str, ...],
    uid: int | None,
    user: str | None,
    program: str,
    modify: Path | None,
    tables: Path | None,
    release: str | None,
    sysconfdir: Path,
    files: tuple[Path, ...],
) -> None:
    """Run a submission through the handlers of job_submit.

    SOURCE is a batch script, whose #SBATCH lines are read as sbatch reads them, or a JSON object of fields by name; "-"
    is standard input. Options of sbatch follow "--", with ":" between those of components, then arguments of the
    script. Instead of SOURCE, the command line of sbatch may follow "--", if it begins with an option, such as --wrap,
    and with --command that of srun or salloc. On a machine with the plugins, the installed command makes the request,
    and does not send it; elsewhere, options are read as in the newest release.
    Variables such as SBATCH_ACCOUNT give options, too. The default partition is that of slurm.conf, the default account
    is what the running slurmctld says, and the default QOS what slurmdbd says; if handlers ask for what is not known
    here, a note says so, and the exit code is 1. Each component of a heterogeneous job is run; --json then prints a
    list. With --modify, the handlers of job_modify run.
    """
    if uid is not None and user is not None:
        raise click.UsageError("--uid and --user exclude each other")
    asked = release
    own = None if asked else configuration.installed_in(sysconfdir)
    release = asked or site_handlers.release(sysconfdir)
    number, identity = submitter(uid, user)
    registry = load(sysconfdir, files, scripts=True)
    if not files:
        rules = site.located_config(site.source_path())[1].rules
        click.get_current_context().with_resource(texts_of(rules))
    submitted = read_source(source, options, options_of(spank_lines(sysconfdir, files, (), registry)), program)
    record, given = (read_file(path) if path else None for path in (modify, tables))
    documents = []
    accepted = sure = True
    # The commands of this machine know the options of its plugstack.conf, not those of --hooks.
    own = None if submitted.has_fields or (files and submitted.options) else own
    components, all_notes = requests_of(submitted, release, own)
    if asked and release_of(asked) < NEWEST and submitted.has_options:
        all_notes[0].append(f"options are read as in Slurm {RELEASE}: {asked} may lack some, or read them otherwise")
    sbatch.exclude_nodes(components)
    for component, (fields, notes) in enumerate(zip(components, all_notes, strict=True)):
        if number and not submitted.has_fields:
            restrict(fields, notes)
        request = TriedRequest(
            fields=fields if modify else {**identity, **fields},
            release=release,
            uid=number,
            record=record,
            tables=given or {},
            notes=notes,
            sysconfdir=sysconfdir,
        )
        changes: dict[str, Any] = {}
        result = submitted.checked(component)
        if result.accepted:
            result, changes = request.run(registry)
            sure = sure and not request.unknown
        accepted = accepted and result.accepted
        if output.wants_json():
            documents.append(tried(result, changes, notes))
            continue
        if "het_job_offset" in fields:
            click.echo(click.style(f"component {component}:", bold=True))
        show(result, changes, notes)
    if output.wants_json():
        output.document(documents[0] if len(documents) == 1 else documents)
    sys.exit(0 if accepted and sure else 1)


def requests_of(submitted: Source, release: str, own: Path | None) -> tuple[list[dict[str, Any]], list[list[str]]]:
    """Return the fields of each component, and notes about each.

    ``own`` is the folder of the plugins, if this machine's commands make the request; None: the stand-ins do.
    """
    count = submitted.components
    all_notes: list[list[str]] = [[] for _ in range(count)]
    if own is not None and all(submitted.checked(component).accepted for component in range(count)):
        try:
            components = submitted.requests(own / "slurmhooks")
            return components, [[] for _ in components]
        except UnavailableError as error:
            all_notes[0].append(f"the fields are approximate, because the command of this machine gives none: {error}")
    return [submitted.fields(release, notes, component) for component, notes in enumerate(all_notes)], all_notes


@dataclass
class TriedRequest:
    """The submission or update to try.

    Attributes:
        fields: the fields of the job.
        release: release of Slurm: decides which fields exist.
        uid: user id of the submitter.
        record: fields of the job as slurmctld knows it, for an update; None for a submission.
        tables: tables of slurmctld, by the names of the arguments of handlers.
        notes: what was ignored, for the user.
        sysconfdir: the folder of slurm.conf.
        unknown: what handlers asked of what slurmctld would choose, and nothing here says.
    """

    fields: dict[str, Any]
    release: str
    uid: int
    record: dict[str, Any] | None = None
    tables: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    sysconfdir: Path = Path("/etc/slurm")
    unknown: list[str] = field(default_factory=list)

    def run(self, registry: Registry) -> tuple[Result, dict[str, Any]]:
        """Run the handlers; return the result, and the changed fields, each with its value before and after.

        Raises:
            click.UsageError: a field does not exist, or cannot have this value.
        """
        named = self.record or self.fields
        if "partitions" not in self.tables and not named.get("partition") and not named.get("reservation"):
            self._choose("default_partition", choices.partition(self.sysconfdir))
        if "associations" not in self.tables and not named.get("account"):
            self._choose("default_account", choices.account(named.get("user_name")))
        if "associations" not in self.tables and not named.get("qos"):
            charged = named.get("account") or self.fields.get("default_account")
            there = split_names(named.get("partition") or self.fields.get("default_partition"))
            self._choose("default_qos", choices.qos(named.get("user_name"), charged, there))
        result, changes = self._run(registry)
        self.unknown = result.unknown
        for label, why in result.exempt.items():
            hint = "; --user NAME tries it as a user" if why == ADMINISTRATOR else ""
            self.notes.append(f"{label} did not look at this request: exempt ({why}){hint}")
        if self.unknown:
            what = ", ".join(name.replace("_", " ") for name in self.unknown)
            self.notes.append(
                f"handlers asked for what slurmctld would choose, which is not known here ({what}): there, they may"
                " decide otherwise; name it, or give --tables"
            )
        return result, changes

    def _choose(self, name: str, value: str | None) -> None:
        """Set what slurmctld would choose, if it is known."""
        if value is not None and self.fields.get(name) is None:
            self.fields[name] = value

    def _run(self, registry: Registry) -> tuple[Result, dict[str, Any]]:
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
            if isinstance(values, dict):
                values = {key: unlimited(row) if isinstance(row, dict) else row for key, row in values.items()}
            elif isinstance(values, list):
                values = [unlimited(row) if isinstance(row, dict) else row for row in values]
            if name == "jobs":
                values = [FakeRecord(release=self.release, **numbered(FakeRecord, fields)) for fields in values]
            return MAKERS[name](values, release=self.release)
        except (AttributeError, TypeError, ValueError) as error:
            raise click.UsageError(f"--tables: {name}: {error}") from error

    def _fake(self, kind: Any, values: dict[str, Any]) -> Any:
        try:
            return kind(release=self.release, **numbered(kind, values))
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


def show(result: Result, changes: dict[str, Any], notes: Sequence[str]) -> None:
    """Print the result for people."""
    show_verdict(result)
    cells = []
    for name, (old, new) in changes.items():
        if name in ENVIRONMENTS:
            cells += [(f"{name}[{key}]", _word(old[key]), _word(new[key])) for key in new]
        else:
            cells.append((name, _word(old, name), _word(new, name)))
    if cells:
        output.table(("field", "before", "after"), cells)
    elif result.accepted:
        click.echo("no field changed")
    for each in result.observed:
        click.echo(f"{click.style(each.handler, bold=True)} ({each.mode}): {_observed(each)}")
    output.show("log", result.log)
    for note in notes:
        output.note(note)


def _observed(observed: Observed) -> str:
    """Return what a handler that only warns or observes would have done."""
    if observed.error_id is not None:
        return f"has a bug (error {observed.error_id})"
    if not observed.accepted:
        code = f" ({observed.code})" if observed.code is not None else ""
        return f"would refuse{code}: {shown(observed.text or '')}"
    changes = ", ".join(f"{name} to {shown(_word(value, name))}" for name, value in observed.changes.items())
    return f"would change {changes}" if changes else "would pass"


def _word(value: Any, field: str = "") -> str:
    """Return a value for people; that of a field with its unit, if it has one."""
    unit = FIELDS[field].unit if isinstance(value, int) and field in FIELDS else ""
    word = "-" if value is None else value if isinstance(value, str) else repr(output.plain(value))
    return f"{word} {unit}" if unit else word


def tried(result: Result, changes: dict[str, Any], notes: Sequence[str]) -> Tried:
    """Return the document for ``--json``."""
    return Tried(
        accepted=result.accepted,
        code=result.code,
        text=as_read(result),
        error_id=result.error_id,
        user_messages=result.user_messages,
        changes={
            name: Change(before=output.plain(old), after=output.plain(new)) for name, (old, new) in changes.items()
        },
        observed=output.plain([asdict(each) for each in result.observed]),
        log=result.log,
        notes=list(notes),
    )
