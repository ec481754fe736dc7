# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the manifest of this machine: `slurmhooks compile`."""

import time
from pathlib import Path

from slurmhooks.cli import build_record, configuration, manifests, whole_site
from slurmhooks.cli.checks import lines
from slurmhooks.cli.findings import Finding, Findings


def of_site(sysconfdir: Path, plugin_dir: Path | None) -> list[str]:
    """Write the manifest of this machine; return notes about it.

    Args:
        sysconfdir: where slurm.conf is.
        plugin_dir: where the plugins are; by default found by slurm.conf's PluginDir.

    Raises:
        Findings: the manifest was not written.
    """
    began = time.time_ns()
    folder = plugin_dir or configuration.installed_in(sysconfdir)
    record = build_record.BuildRecord.load(folder) if folder else None
    if folder is None or record is None:
        raise Finding(
            "no plugins found in slurm.conf's PluginDir: run 'slurmhooks install' first, or give --plugin-dir"
        )
    if misfits := build_record.misfits(record, folder):
        raise Findings([*misfits, "the manifest was not written"])
    loaded = whole_site.Loaded()
    loaded.load(sysconfdir)
    if loaded.findings:
        raise Findings([*loaded.findings, "the manifest was not written"])
    notes = [*loaded.notes, *loaded.disabled, *loaded.lacking]
    notes += [*lines.ignored_modes(loaded.lines, record), *lines.too_long(loaded.lines)]
    missing = lines.never_called(loaded.lines, folder / manifests.PLUGIN)
    if missing:
        raise Findings([*missing, "the manifest was not written"])
    text = manifests.text_of(loaded, record, folder)
    changed = manifests.changed_since(began, loaded)
    if changed:
        raise Findings([*changed, "the manifest was not written: run this command again"])
    path = manifests.manifest_path(sysconfdir)
    manifests.write_manifest(text, path)
    count = len({handler.label for registry in loaded.all_registries() for handler in registry.all_handlers()})
    return [*notes, f"{path}: handlers: {count}, lines of plugstack.conf: {len(loaded.lines)}"]
