# SPDX-License-Identifier: GPL-2.0-or-later
"""Switch on again what `slurmhooks off` has switched off."""

from pathlib import Path

import click

from slurmhooks.cli import output, parameters
from slurmhooks.cli.bundles import activation, contents, history, overrides
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.commands import deploy
from slurmhooks.cli.findings import Finding
from slurmhooks.files import trusted


@click.command("on")
@parameters.sysconfdir_option
@click.option("--plugin-dir", type=click.Path(path_type=Path), help="Default: found by slurm.conf's PluginDir.")
@output.json_option(deploy.Report)
def command(sysconfdir: Path, plugin_dir: Path | None) -> None:
    """Switch on again, as root, all that `slurmhooks off` has switched off.

    The set comes back into force that was in force before.
    """
    trusted.guard()
    store = Store(sysconfdir)
    if not store.folder.exists():
        raise Finding(f"{store.folder} does not exist: nothing was deployed on this machine")
    with store.locked():
        notes = activation.complete(store)
        before, events = store.deployed, store.events()
        target = history.before_off(events)
        if target is None or before != events[-1].bundle:
            raise Finding("nothing is switched off")
        if target not in store.kept():
            raise Finding(f"{target} is no longer kept: deploy your files")
        event = history.Event(bundle=target, verb="on", before=before)
        was = contents.of_folder(store.place(events[-1].bundle))
        report = deploy.Report(bundle=target, before=before)
        files = contents.of_folder(store.place(target))
        report.changes = contents.changes(was, files)
        report.notes = notes + activation.activate(store, event, plugin_dir) + overrides.ended(was, files)
    deploy.say(report, sysconfdir)
