# SPDX-License-Identifier: GPL-2.0-or-later
"""Put back in force what was in force before."""

from pathlib import Path

import click

from slurmhooks.cli import output, parameters
from slurmhooks.cli.bundles import activation, history, prolog
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.commands import deploy
from slurmhooks.cli.findings import Finding
from slurmhooks.files import trusted


@click.command("rollback")
@click.argument("bundle", required=False)
@parameters.sysconfdir_option
@click.option("--plugin-dir", type=click.Path(path_type=Path), help="Default: found by slurm.conf's PluginDir.")
@output.json_option(deploy.Report)
def command(bundle: str | None, sysconfdir: Path, plugin_dir: Path | None) -> None:
    """Put back in force what was in force before the present bundle, as root.

    Called again, the command goes back further. BUNDLE is the id of any kept bundle; `slurmhooks status` shows them. As
    `deploy` does, the command checks the bundle, and changes nothing if the check fails. Without BUNDLE it refuses a
    bundle that has no handlers.
    """
    trusted.guard()
    store = Store(sysconfdir)
    if not store.folder.exists():
        raise Finding(f"{store.folder} does not exist: nothing was deployed on this machine")
    with store.locked():
        notes = activation.complete(store, plugin_dir)
        if store.deployed is None and bundle is None:
            raise Finding(f"{store.toml} is not a bundle's: name the bundle; kept: {', '.join(store.kept()) or 'none'}")
        before = activation.keep_present(store)
        target = bundle or store.before()
        if target is None or target not in store.kept():
            kept = ", ".join(store.kept()) or "none"
            what = (
                f"there is no bundle {bundle}"
                if bundle is not None
                else "nothing was in force before this bundle"
                if target is None
                else f"{target} was in force before, and is no longer kept: name another one"
            )
            raise Finding(f"{store.folder}: {what}; kept: {kept}")
        report = deploy.Report(bundle=target, before=before)
        event = history.Event(bundle=target, verb="rollback", before=before, undo=bundle is None)
        report.notes = notes + activation.activate(store, event, plugin_dir)
    report.notes += prolog.others(sysconfdir, target)
    output.result(report, deploy.show)
