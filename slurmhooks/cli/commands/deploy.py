# SPDX-License-Identifier: GPL-2.0-or-later
"""Put a set of hooks in force on this machine: a folder, or an archive of one."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import click

from slurmhooks.cli import configuration, controllers, output, parameters
from slurmhooks.cli.bundles import activation, archive, checkout, contents, history, prolog, signature
from slurmhooks.cli.bundles.archive import File
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.findings import Finding, Findings, shown
from slurmhooks.cli.progress import note
from slurmhooks.errors import LoadError
from slurmhooks.files import misplaced, regular, trusted
from slurmhooks.site import sources as site


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
@click.option("--prolog", "script", type=click.Path(path_type=Path), help="Then write a Prolog by which nodes get it.")
@output.json_option(Report)
def command(
    source: Path | None,
    sysconfdir: Path,
    plugin_dir: Path | None,
    message: str | None,
    dry_run: bool,
    script: Path | None,
) -> None:
    """Put a set of hooks in force on this machine, as root.

    SOURCE is a folder that has slurmhooks.toml, by default that of slurm.conf, or an archive that `slurmhooks bundle`
    has made. The command copies the files, checks the copy as `check` does, lets slurmctld load it if it runs here, and
    then puts all of it in force by one rename. If any of this fails, no process of Slurm has seen the set, and what was
    in force stays in force. If the same files are in force already, nothing changes, and the command ends with 0.
    """
    source = source or folder_of(sysconfdir)
    if source.is_dir():
        data, files, notes = of_folder(source, sysconfdir)
        signer, revision = None, checkout.revision(source)
    else:
        data, signer = read(source, sysconfdir)
        files, notes, revision = archive.unpack(data, str(source)), [], None
    if script is not None and (private := archive.private(files)):
        raise Finding(
            f"{script}: refused: every user can read a Prolog, and users may not read {private[0]}: change its mode"
            " and that of its folder, if they may, or deploy the archive on each node"
        )
    trusted.guard()
    store = Store(sysconfdir)
    with store.locked():
        try:
            notes += activation.complete(store, plugin_dir)
            before, about = activation.keep_present(store)
            report = Report(bundle=store.put(data, files), before=before, signer=signer, revision=revision)
            if store.deployed is None and before == report.bundle:
                report.before = before = None
            report.changes = contents.changes(contents.of_folder(store.place(before)) if before else {}, files)
            event = history.Event(
                bundle=report.bundle, verb="deploy", before=before, message=message, revision=revision
            )
            if dry_run:
                folder = plugin_dir or configuration.installed_in(sysconfdir)
                report.notes = notes + activation.prepare(store, event, folder)
            else:
                report.notes = notes + about + activation.activate(store, event, plugin_dir)
        except Findings as error:
            raise Findings([at_source(text, store, source) for text in error.findings]) from error
        finally:
            store.prune()
    report.notes = [at_source(text, store, source) for text in report.notes]
    report.asked = controllers.are_asked(sysconfdir)
    if script is not None and not dry_run:
        # Only now: a Prolog in use is in force on the nodes once it is written.
        signed = signature.beside(source)
        archive.write(script, prolog.render(report.bundle, data, signed if signed.exists() else None), 0o755)
        report.prolog = script
    report.notes += [] if dry_run else prolog.others(sysconfdir, report.bundle)
    output.result(report, show_dry if dry_run else show)


def at_source(text: str, store: Store, source: Path) -> str:
    """Return a text about a copy, which names the file that was copied, because that is what people edit."""
    if not source.is_dir():
        return text
    for folder in dict.fromkeys((store.place(""), store.place("").resolve())):
        text = re.sub(rf"{re.escape(str(folder))}/[0-9a-f]{{16}}/absolute/", "/", text)
        text = re.sub(
            rf"{re.escape(str(folder))}/[0-9a-f]{{16}}(?=/)", str(source.resolve()).replace("\\", r"\\"), text
        )
    return text


def folder_of(sysconfdir: Path) -> Path:
    """Return the folder of the sources that a machine has: that of slurm.conf, or the home.

    Raises:
        Finding: its slurmhooks.toml belongs to what an earlier release has deployed.
    """
    store = Store(sysconfdir)
    toml = store.home / site.FILE_NAME
    if misplaced.is_in_store(site.located(str(toml))):
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
    trusted.guard()
    for name in sorted(files):
        try:
            trusted.check(str(folder.resolve() / name))
        except LoadError as error:
            notes.append(f"{error.findings[0]}; whoever can write there decides what you deploy")
            break
        except OSError:
            continue  # it has an absolute name
    return archive.pack(files), files, notes


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
        raise Finding(f"{path}: not a bundle: {error.strerror}") from error
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
    click.echo(f"set {report.bundle}: could be put in force; in force now: {report.before or 'none'}")
    _show_changes(report)


def _show_changes(report: Report) -> None:
    for text in report.changes:
        click.echo(f"  {shown(text)}")
