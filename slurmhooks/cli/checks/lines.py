# SPDX-License-Identifier: GPL-2.0-or-later
"""Find what the lines of plugstack.conf and the installed build do not do together."""

from pathlib import Path

from slurmhooks import loader, manifest, site
from slurmhooks.cli import build_record, compiled
from slurmhooks.manifest import MOST_ARGUMENTS, Line
from slurmhooks.registry import Registry
from slurmhooks.slurmctld import PRIVATE_ARGUMENTS


def never_called(lines: list[Line], plugin: Path) -> list[str]:
    """Return the handlers that Slurm would never call, as the plugin in place leaves their callbacks out.

    Args:
        lines: of plugstack.conf.
        plugin: spank_python.so in the PluginDir.
    """
    present = manifest.exported(compiled.variant_of(plugin))
    missing = [name for name in manifest.COSTLY_CALLBACKS if name not in present]
    return [finding for line in lines for finding in manifest.never_called(line.registry, missing)]


def ignored_modes(lines: list[Line], record: build_record.BuildRecord) -> list[str]:
    """Return a note if a line chooses whose fault a failure is, and Slurm has no such choice."""
    if tuple(map(int, record.slurm.split(".")[:2])) >= (25, 5):
        return []
    return [
        f"plugstack.conf: {word} is ignored: it takes Slurm 25.05 or later"
        for line in lines
        for word in line.args[: len(line.args) - len(line.rest)]
        if word.startswith(site.MODE)
    ]


def too_long(lines: list[Line]) -> list[str]:
    """Return a note for each line of plugstack.conf with more arguments than the stub reads from a manifest."""
    return [
        f"plugstack.conf: a line has {len(line.args)} arguments, and the manifest holds for lines of at most"
        f" {MOST_ARGUMENTS} only: Python starts in every process; give handlers their values in a file instead"
        for line in lines
        if len(line.args) > MOST_ARGUMENTS
    ]


def needs_sources(registry: Registry, record: build_record.BuildRecord | None) -> list[str]:
    """Return the handlers that the installed build cannot serve, each with the way to mend it."""
    if record is None or record.tiers.private:
        return []
    return [
        f"{handler.where}: handler {handler.label} takes"
        f" {', '.join(sorted(PRIVATE_ARGUMENTS.intersection(handler.names)))}: "
        "the installed plugin was built with Slurm's public headers only; run 'slurmhooks build --slurm-source DIR' "
        "with the sources of exactly the installed release, and install the result"
        for handler in registry.all_handlers()
        # A script is loaded all the same; what it asks for in vain is refused, and slurmctld's log says so.
        if PRIVATE_ARGUMENTS.intersection(handler.names) and not handler.path.endswith(loader.LUA)
    ]
