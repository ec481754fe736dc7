# SPDX-License-Identifier: GPL-2.0-or-later
"""Switch handlers off, as they are in force, without their sources."""

from pathlib import Path

import click

from slurmhooks.cli import output, parameters
from slurmhooks.cli.bundles import activation, contents, switches
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.commands import deploy
from slurmhooks.cli.findings import Finding
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
        notes = activation.complete(store)
        before = store.deployed
        if before is None:
            raise Finding(f"{store.home}: nothing is in force that could be switched off")
        if not everything:
            store.verify(before)  # or what its files have lost would be gone from a valid set
        files = contents.of_folder(store.place(before))
        rows = [] if everything else activation.handlers_of(store, before)
        if everything:
            left = switches.without_all(files)
        else:
            left = files
            for label in labels:
                left = switches.without(left, rows, label, str(store.place(before).resolve()))

        def check(target: str) -> None:
            if not everything:
                switches.refuse_others(rows, activation.handlers_of(store, target), labels)

        said = message or " ".join(labels) or "--all"
        report = deploy.derived(store, before, files, left, "off", said, plugin_dir, check)
    report.notes[:0] = notes
    deploy.say(report, sysconfdir)
