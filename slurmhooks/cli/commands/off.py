# SPDX-License-Identifier: GPL-2.0-or-later
"""Switch handlers off, as they are in force, without their sources."""

from pathlib import Path

import click

from slurmhooks.cli import controllers, output, parameters
from slurmhooks.cli.bundles import activation, archive, contents, history, prolog, switches
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.commands import deploy
from slurmhooks.cli.findings import Findings
from slurmhooks.files import trusted


@click.command("off")
@click.argument("labels", metavar="[LABEL]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All handlers.")
@parameters.sysconfdir_option
@click.option("--plugin-dir", type=click.Path(path_type=Path), help="Default: found by slurm.conf's PluginDir.")
@click.option("--message", help="Words about the reason, which `status` shows.")
@output.json_option(deploy.Report)
def command(
    labels: tuple[str, ...], everything: bool, sysconfdir: Path, plugin_dir: Path | None, message: str | None
) -> None:
    """Switch handlers off, as root: put a set in force that is the present one without them.

    LABEL is that of messages and of `slurmhooks check`, such as limits:require_account. Sources are neither read nor
    changed, and Slurm's configuration is not judged. `slurmhooks on` switches them on again, and so does the next
    deployment.
    """
    if bool(labels) == everything:
        raise click.UsageError("name handlers, or give --all")
    trusted.guard()
    store = Store(sysconfdir)
    with store.locked():
        notes = activation.complete(store, plugin_dir)
        before, about = activation.keep_present(store)
        if before is None:
            raise Findings([*about, f"{store.home}: nothing is in force that could be switched off"])
        files = contents.of_folder(store.place(before))
        rows = [] if everything else activation.handlers_of(store, before)
        if everything:
            left = switches.without_all(files)
        else:
            left = files
            for label in labels:
                left = switches.without(left, rows, label, str(store.place(before).resolve()))
        target = store.put(archive.pack(left), left)
        report = deploy.Report(bundle=target, before=before, changes=contents.changes(files, left))
        event = history.Event(bundle=target, verb="off", before=before, message=message or " ".join(labels) or "--all")
        try:
            if not everything:
                switches.refuse_others(rows, activation.handlers_of(store, target), labels)
            report.notes = notes + activation.activate(store, event, plugin_dir)
        finally:
            store.prune()
    report.asked = controllers.are_asked(sysconfdir)
    report.notes += prolog.others(sysconfdir, target)
    output.result(report, deploy.show)
