# SPDX-License-Identifier: GPL-2.0-or-later
"""Put a set of hooks in force on this machine: a folder, or an archive of one."""

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

import click

from slurmhooks.cli import cases, configuration, controllers, output, parameters
from slurmhooks.cli.bundles import activation, archive, checkout, contents, history, overrides, prolog, signature
from slurmhooks.cli.bundles.archive import File
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.checks.report import Row
from slurmhooks.cli.findings import Finding, Findings, shown
from slurmhooks.cli.progress import note
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import home, regular, trusted
from slurmhooks.processes.backoff import Backoff
from slurmhooks.processes.renewal import Release
from slurmhooks.site import sources as site

LOOK = 1.0
"""Seconds between two looks at a folder that is watched."""


@dataclass(kw_only=True)
class Report:
    """The output of `deploy` and `rollback` with --json.

    Attributes:
        bundle: the id of the set that is in force, or would be.
        before: the id of what was in force before.
        changes: the files that differ from those in force before.
        revision: of the checkout that the folder belongs to, if it is one.
        asked: whether a slurmctld of this machine has loaded the set.
        prolog: path of the Prolog that was written.
        signer: who has signed the archive; None if this machine requires no signatures.
        notes: what may be a mistake.
    """

    bundle: str
    before: str | None
    changes: list[str] = field(default_factory=list)
    revision: str | None = None
    asked: bool = False
    prolog: Path | None = None
    signer: str | None = None
    notes: list[str] = field(default_factory=list)


@click.command("deploy")
@click.argument("source", type=click.Path(path_type=Path, exists=True), required=False)
@parameters.sysconfdir_option
@click.option("--plugin-dir", type=click.Path(path_type=Path), help="Default: found by slurm.conf's PluginDir.")
@click.option("--message", help="Words about the change, which `status` shows.")
@click.option("--dry-run", is_flag=True, help="Do everything except putting the set in force.")
@click.option("--watch", is_flag=True, help="Keep running, and deploy the folder whenever its files have changed.")
@click.option("--prolog", "script", type=click.Path(path_type=Path), help="Then write a Prolog by which nodes get it.")
@output.json_option(Report)
def command(
    source: Path | None,
    sysconfdir: Path,
    plugin_dir: Path | None,
    message: str | None,
    dry_run: bool,
    watch: bool,
    script: Path | None,
) -> None:
    """Put a set of hooks in force on this machine, as root.

    SOURCE is a folder that has slurmhooks.toml, by default that of slurm.conf, or an archive that `slurmhooks bundle`
    has made. The command copies the files, checks the copy as `check` does, lets slurmctld load it if it runs here, and
    then puts all of it in force by one rename. If any of this fails, no process of Slurm has seen the set, and what was
    in force stays in force. If the same files are in force already, nothing changes, and the command ends with 0.
    """
    source = source or folder_of(sysconfdir)
    if watch:
        if dry_run or script is not None or not source.is_dir():
            raise click.UsageError("--watch deploys a folder, without --dry-run and --prolog")
        follow(source, sysconfdir, plugin_dir)
    report = of_source(source, sysconfdir, plugin_dir, message, dry_run, script)
    output.result(report, show_dry if dry_run else show)


def follow(source: Path, sysconfdir: Path, plugin_dir: Path | None) -> NoReturn:
    """Deploy a folder, and again whenever its files have changed and stay the same for a second; arguments as above.

    A folder that is as it was deployed last is left alone, also after a restart: what was put in force meanwhile, such
    as by `rollback`, stays. What fails is said once, what was in force stays, and it is tried again after a pause:
    slurmctld may answer by then, or a disk have room.
    """
    release = Release()

    def put_in_force() -> None:
        release.renew(click.echo)
        show(of_source(source, sysconfdir, plugin_dir, verb=history.WATCH))

    done = _deployed_last(sysconfdir)
    pause = Backoff()
    before: str | None = None
    said: list[str] = []
    while True:
        content = _content(source, sysconfdir)
        if content != before:
            pause = Backoff()
        elif content not in done and pause.is_over:
            if faults := _attempt(put_in_force):
                pause.failed()
            else:
                done = {content}
            for text in faults if faults != said else []:
                with suppress(OSError):  # a full disk
                    click.echo(f"error: {shown(text)}", err=True)
            said = faults
        before = content
        time.sleep(LOOK)


def _attempt(body: Callable[[], object]) -> list[str]:
    """Run a part of what must go on for good; return why it has failed."""
    try:
        body()
    except (Findings, ConfigError, LoadError) as error:
        return error.findings
    except Exception as error:  # noqa: BLE001 - as of a module that is being replaced
        return [f"{type(error).__name__}: {error}"]
    return []


def _content(source: Path, sysconfdir: Path) -> str:
    """Return the id of what is in a folder, or what is wrong with it."""
    ids: list[str] = []
    faults = _attempt(lambda: ids.append(archive.identity(of_folder(source, sysconfdir)[0])))
    return "\n".join(faults or ids)


def _deployed_last(sysconfdir: Path) -> set[str]:
    """Return the ids of the last set that --watch has deployed, and of the last one that any command has deployed."""
    try:
        store = Store(sysconfdir)
        events = [event for event in store.events() if event.is_new] if store.deployed else []
    except (Findings, OSError):
        return set()
    followed = [event for event in events if event.verb == history.WATCH]
    return {event.bundle for event in (*followed[-1:], *events[-1:])}


def of_source(
    source: Path,
    sysconfdir: Path,
    plugin_dir: Path | None,
    message: str | None = None,
    dry_run: bool = False,
    script: Path | None = None,
    *,
    asks: bool = True,
    verb: str = "deploy",
) -> Report:
    """Put the set of a folder or an archive in force; arguments as for the command.

    See slurmhooks.cli.bundles.activation.activate for ``asks``, and history.Event for ``verb``.

    Raises:
        Findings: it cannot be in force, and what was in force stays in force.
    """
    data, files, notes, signer, revision = of_any(source, sysconfdir)
    if script is not None and (private := archive.private(files)):
        raise Finding(
            f"{script}: refused: every user can read a Prolog, and users may not read {private[0]}: change its mode"
            " and that of its folder, if they may, or deploy the archive on each node"
        )
    trusted.guard()
    store = Store(sysconfdir)
    with store.locked():
        try:
            notes += activation.complete(store)
            before = store.deployed
            report = Report(bundle=store.put(data, files), before=before, signer=signer, revision=revision)
            was = contents.of_folder(store.place(before), damaged=True) if before else {}
            report.changes = contents.changes(was, files)
            failed, tried = cases.tried(store.place(report.bundle) / site.FILE_NAME)
            if failed:
                raise Findings(failed)
            notes += tried + overrides.ended(was, files)
            event = history.Event(bundle=report.bundle, verb=verb, before=before, message=message, revision=revision)
            if dry_run:
                folder = plugin_dir or configuration.installed_in(sysconfdir)
                report.notes = notes + activation.prepare(store, event, folder)
            else:
                report.notes = notes + activation.activate(store, event, plugin_dir, asks=asks)
        except Findings as error:
            raise Findings(_for_editors(error, store, source, files)) from error
        finally:
            store.prune()
    report.notes = list(dict.fromkeys(at_source(text, store, source) for text in report.notes))
    report.asked = asks and controllers.are_asked(sysconfdir)
    if script is not None and not dry_run:
        # Only now: a Prolog in use is in force on the nodes once it is written.
        signed = signature.beside(source)
        archive.write(script, prolog.render(report.bundle, data, signed if signed.exists() else None), 0o755)
        report.prolog = script
    report.notes += [] if dry_run else prolog.others(sysconfdir, report.bundle)
    return report


def derived(
    store: Store, before: str, files: dict[str, File], left: dict[str, File], verb: str, message: str,
    plugin_dir: Path | None, check: Callable[[str], object] = str,
) -> Report:  # fmt: skip
    """Put a set in force, without sources, that was made of the one in force; the store is locked.

    ``left`` are the files of the set to put in force. ``check``, called with its id before it is in force, raises what
    is wrong with it.
    """
    target = store.put(archive.pack(left), left)
    report = Report(bundle=target, before=before, changes=contents.changes(files, left))
    event = history.Event(bundle=target, verb=verb, before=before, message=message)
    try:
        check(target)
        report.notes = activation.activate(store, event, plugin_dir)
    finally:
        store.prune()
    return report


def say(report: Report, sysconfdir: Path) -> None:
    """Print what a command has put in force, with whether slurmctld has loaded it, and which Prolog would undo it."""
    report.asked = controllers.are_asked(sysconfdir)
    report.notes += prolog.others(sysconfdir, report.bundle)
    output.result(report, show)


def of_any(source: Path, sysconfdir: Path) -> tuple[bytes, dict[str, File], list[str], str | None, str | None]:
    """Return the archive of a folder, or an archive, its files, notes, who has signed it, and the folder's revision.

    Raises:
        Findings: as of_folder() and read().
    """
    if source.is_dir():
        return (*of_folder(source, sysconfdir), None, checkout.revision(source))
    data, signer = read(source, sysconfdir)
    return data, archive.unpack(data, str(source)), [], signer, None


def loads(source: Path, sysconfdir: Path) -> list[Row]:
    """Load a folder or an archive as the daemons would, without putting it in force; return its handlers.

    Raises:
        Findings: it does not load.
    """
    data, files, *_ = of_any(source, sysconfdir)
    trusted.guard()
    store = Store(sysconfdir)
    with store.locked():
        try:
            rows = activation.handlers_of(store, store.put(data, files))
            return [replace(row, where=at_source(row.where, store, source)) for row in rows]
        except Findings as error:
            raise Findings(_for_editors(error, store, source, files)) from error
        finally:
            store.prune()


def at_source(text: str, store: Store, source: Path) -> str:
    """Return a text about a copy, which names what people edit: the file that was copied, or that in the archive."""
    origin = f"{source.resolve()}/" if source.is_dir() else ""
    for folder in dict.fromkeys((store.place(""), store.place("").resolve())):
        text = re.sub(rf"{re.escape(str(folder))}/[0-9a-f]{{16}}/absolute/", "/", text)
        text = re.sub(rf"{re.escape(str(folder))}/[0-9a-f]{{16}}/", origin.replace("\\", r"\\"), text)
    return text


def _for_editors(error: Findings, store: Store, source: Path, files: dict[str, File]) -> list[str]:
    """Return findings about a copy, as at_source(), after those that name files which only the folder has."""
    texts = [at_source(text, store, source) for text in error.findings]
    named = re.findall(rf"['\"]{re.escape(str(source.resolve()))}/([^'\"\n]+)", "\n".join(texts))
    lacked = [name for name in dict.fromkeys(named) if name not in files and os.path.isfile(source / name)]
    return [*(f"{source / name}: not in the set: name it in [hooks] data" for name in lacked), *texts]


def folder_of(sysconfdir: Path) -> Path:
    """Return the folder of the sources that a machine has: that of slurm.conf.

    Raises:
        Finding: its slurmhooks.toml belongs to what an earlier release has deployed.
    """
    toml = home.source_in(str(sysconfdir))
    if home.is_deployed(site.located(toml)):
        raise Finding(
            f"{toml}: an earlier release has made it a link to what it has deployed: put your own file in its place,"
            " or name the folder that has your files"
        )
    return sysconfdir


def of_folder(folder: Path, sysconfdir: Path) -> tuple[bytes, dict[str, File], list[str]]:
    """Return the archive of a folder, its files, and notes. Who runs the command answers for who could write them.

    Raises:
        Findings: files cannot be copied, or this machine requires signatures.
    """
    if signature.is_required(sysconfdir):
        raise Finding(
            f"{folder}: refused: {sysconfdir / signature.ALLOWED} exists, so only signed archives are accepted"
        )
    own = folder.resolve() != sysconfdir.resolve() and (folder / contents.PLUGSTACK).exists()
    files, notes = contents.collect(folder, None if own else contents.spank_lines(sysconfdir))
    return archive.pack(files), files, notes + contents.exposed(folder, files)


def read(bundle: Path, sysconfdir: Path) -> tuple[bytes, str | None]:
    """Return an archive, and who has signed it.

    Raises:
        Findings: a signature is required and missing; or none is required, and another user could have written the
            file.
    """
    trusted.guard()
    path = Path(os.path.abspath(bundle))
    try:
        data = regular.read(path, archive.LARGEST)  # a signed one may be anywhere
    except OSError as error:
        raise Finding(f"{path}: {error.strerror}") from error
    signer = signature.signer(path, data, sysconfdir)
    if signer is None:
        try:
            data = trusted.rest_of(trusted.open_file(str(path)))  # which may be large
        except LoadError as error:
            raise Findings(error.findings) from error
    return data, signer


def show(report: Report) -> None:
    """Print the report; notes go to standard error."""
    for text in report.notes:
        note(text)
    signed = f", signed by {report.signer}" if report.signer else ""
    if report.before == report.bundle:
        click.echo(f"set {report.bundle}{signed}: unchanged, it was in force already")
        return
    click.echo(f"set {report.bundle}{signed}: in force; before: {report.before or 'none'}")
    _show_changes(report)
    if not report.asked:
        click.echo("  no slurmctld with a plugin of slurmhooks runs here, so none was asked whether it loads the set")


def show_dry(report: Report) -> None:
    """Print what would change."""
    for text in report.notes:
        note(text)
    if report.before == report.bundle:
        click.echo(f"set {report.bundle}: unchanged, it is in force already")
        return
    click.echo(f"set {report.bundle}: could be put in force; in force now: {report.before or 'none'}")
    _show_changes(report)


def _show_changes(report: Report) -> None:
    for text in report.changes:
        click.echo(f"  {shown(text)}")
