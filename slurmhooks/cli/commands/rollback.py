# SPDX-License-Identifier: GPL-2.0-or-later
"""Put back in force what was in force before."""

from pathlib import Path

import click

from slurmhooks.cli import output, parameters
from slurmhooks.cli.bundles import activation, contents, history
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.commands import deploy
from slurmhooks.cli.findings import Finding
from slurmhooks.files import trusted


@click.command("rollback")
@click.argument("bundle", metavar="[ID]", required=False)
@parameters.sysconfdir_option
@click.option("--plugin-dir", type=click.Path(path_type=Path), help="Default: found by slurm.conf's PluginDir.")
@output.json_option(deploy.Report)
def command(bundle: str | None, sysconfdir: Path, plugin_dir: Path | None) -> None:
    """Put back in force what was in force before the present set, as root.

    Called again, the command goes back further. ID names any kept set; `slurmhooks status` shows them. As `deploy`
    does, the command loads the set first, and changes nothing if that fails. Without ID it refuses a set that has no
    handlers.
    """
    trusted.guard()
    store = Store(sysconfdir)
    if not store.folder.exists():
        raise Finding(f"{store.folder} does not exist: nothing was deployed on this machine")
    with store.locked():
        notes = activation.complete(store)
        before = store.deployed
        target = store.before() if bundle is None else bundle
        if target is None or target not in store.kept():
            kept = ", ".join(store.kept()) or "none"
            what = (
                f"there is no set {bundle}"
                if bundle is not None
                else "nothing was in force before this set"
                if target is None
                else f"{target} was in force before, and is no longer kept: name another one"
            )
            raise Finding(f"{store.folder}: {what}; kept: {kept}")
        report = deploy.Report(bundle=target, before=before)
        event = history.Event(bundle=target, verb="rollback", before=before, undo=bundle is None)
        was = contents.of_folder(store.place(before), damaged=True) if before else {}
        report.changes = contents.changes(was, contents.of_folder(store.place(target)))
        report.notes = notes + activation.activate(store, event, plugin_dir)
    deploy.say(report, sysconfdir)
