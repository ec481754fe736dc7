# SPDX-License-Identifier: GPL-2.0-or-later
"""Put a bundle in force on this machine."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import click

from slurmhooks.cli import output, parameters
from slurmhooks.cli.bundles import activation, archive, history, prolog, signature
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.cli.progress import note
from slurmhooks.errors import LoadError
from slurmhooks.files import regular, trusted


@dataclass(kw_only=True)
class Report:
    """The output of `deploy` and `rollback` with --json.

    Attributes:
        bundle: the id of the bundle that is in force.
        before: the id of the bundle that was in force before.
        prolog: path of the Prolog that was written.
        signer: who has signed the bundle; None if this machine requires no signatures.
        notes: what may be a mistake.
    """

    bundle: str
    before: str | None
    prolog: Path | None = None
    signer: str | None = None
    notes: list[str] = field(default_factory=list)


@click.command("deploy")
@click.argument("bundle", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@parameters.sysconfdir_option
@click.option("--plugin-dir", type=click.Path(path_type=Path), help="Default: found by slurm.conf's PluginDir.")
@click.option(
    "--prolog", "script", type=click.Path(path_type=Path), help="Then write a Prolog by which nodes get the bundle."
)
@output.json_option(Report)
def command(bundle: Path, sysconfdir: Path, plugin_dir: Path | None, script: Path | None) -> None:
    """Put a bundle in force on this machine, as root.

    The command checks the bundle as `check` does, puts it in force by one rename, writes the manifest, and waits until
    slurmctld, if it runs here, has loaded it. If any of this fails, what was in force before stays in force. The last
    five bundles are kept for `rollback`.
    """
    trusted.guard()
    data, signer = read(bundle, sysconfdir)
    files = archive.unpack(data, str(bundle))
    store = Store(sysconfdir)
    with store.locked():
        try:
            notes = activation.complete(store, plugin_dir)
            before = activation.keep_present(store)
            report = Report(bundle=store.put(data, files), before=before, signer=signer)
            event = history.Event(bundle=report.bundle, verb="deploy", before=before)
            report.notes = notes + activation.activate(store, event, plugin_dir)
        finally:
            store.prune()
    if script is not None:
        # Only now: a Prolog in use is in force on the nodes once it is written.
        signed = signature.beside(bundle)
        archive.write(script, prolog.render(report.bundle, data, signed if signed.exists() else None), 0o755)
        report.prolog = script
    report.notes += prolog.others(sysconfdir, report.bundle)
    output.result(report, show)


def read(bundle: Path, sysconfdir: Path) -> tuple[bytes, str | None]:
    """Return a bundle, and who has signed it.

    Raises:
        Findings: a signature is required and missing; or none is required, and another user could have written the
            file.
    """
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
        click.echo(f"bundle {report.bundle}{signed}: it was in force already")
    else:
        click.echo(f"bundle {report.bundle}{signed}: in force; before: {report.before or 'none'}")
