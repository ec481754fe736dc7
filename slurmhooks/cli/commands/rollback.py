# SPDX-License-Identifier: GPL-2.0-or-later
"""Put the previously deployed bundle back in force."""

from pathlib import Path

import click

from slurmhooks.cli import output, parameters
from slurmhooks.cli.bundles import activation
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
    """Put the previously deployed bundle back in force, as root.

    BUNDLE is the id of another kept bundle; `slurmhooks status` shows them. As `deploy` does, the command checks the
    bundle, and changes nothing if the check fails.
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
            what = "no bundle was deployed before this one" if bundle is None else f"there is no bundle {bundle}"
            raise Finding(f"{store.folder}: {what}; kept: {kept}")
        report = deploy.Report(bundle=target, before=before)
        report.notes = notes + activation.activate(store, target, before, plugin_dir)
    output.result(report, deploy.show)
