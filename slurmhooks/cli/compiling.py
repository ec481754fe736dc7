# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the manifest of this machine, and chooses the variant of the SPANK plugin: `slurmhooks compile`."""

import time
from pathlib import Path

from slurmhooks.cli import build_record, configuration, manifests, whole_site
from slurmhooks.cli.checks import lines
from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.site import variants


def of_site(sysconfdir: Path, plugin_dir: Path | None, only_manifest: bool = False) -> list[str]:
    """Write the manifest of this machine, and choose the variant of the SPANK plugin; return notes about both.

    Args:
        sysconfdir: where slurm.conf is.
        plugin_dir: where the plugins are; by default found by slurm.conf's PluginDir.
        only_manifest: leave the plugin as it is.

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
    notes = [*loaded.notes, *loaded.disabled]
    notes += [*lines.ignored_modes(loaded.lines, record), *lines.too_long(loaded.lines)]
    if only_manifest:
        missing = lines.never_called(loaded.lines, folder / manifests.PLUGIN)
        if missing:
            raise Findings([*missing, "the manifest was not written"])
    else:
        # First, because the machine may be one of several that share a folder of slurm.conf which it cannot write.
        chosen = manifests.choose_variant(folder, variants.of(line.registry for line in loaded.lines))
        notes.append(f"{folder / manifests.PLUGIN}: {chosen}")
    text = manifests.text_of(loaded, record, folder)
    changed = manifests.changed_since(began, loaded)
    if changed:
        raise Findings([*changed, "the manifest was not written: run this command again"])
    path = manifests.manifest_path(sysconfdir)
    manifests.write_manifest(text, path)
    count = len({handler.label for registry in loaded.all_registries() for handler in registry.all_handlers()})
    return [*notes, f"{path}: handlers: {count}, lines of plugstack.conf: {len(loaded.lines)}"]
