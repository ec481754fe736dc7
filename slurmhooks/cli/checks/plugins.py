# SPDX-License-Identifier: GPL-2.0-or-later
"""Find handlers that slurmctld never calls because it does not load their plugin; calls.py has job_submit."""

from pathlib import Path
from typing import NamedTuple

from slurmhooks.cli import configuration
from slurmhooks.files import slurm_conf
from slurmhooks.handlers.registry import Registry
from slurmhooks.hooks.points import POINTS


class Plugin(NamedTuple):
    """A plugin of slurmctld.

    Attributes:
        point: the plugin point.
        key: the key of slurm.conf that must name it.
        default: the default of the key, if it takes several names; None if it takes one name.
    """

    point: str
    key: str
    default: str | None = None

    @property
    def hooks(self) -> tuple[str, ...]:
        """The hooks that it calls."""
        return POINTS[self.point].called

    @property
    def file(self) -> str:
        """Its file name in the PluginDir."""
        return f"{self.point}_python.so"

    @property
    def name(self) -> str:
        """Its name as a value of the key."""
        return f"{self.point}/python"


PLUGINS = tuple(Plugin(point.name, point.key, point.default) for point in POINTS.values() if point.key is not None)


def never_called(registry: Registry, sysconfdir: Path, folder: Path | None) -> list[str]:
    """Return a finding for each reason why slurmctld would not call handlers, with the remedy.

    Args:
        registry: the handlers of the site.
        sysconfdir: the folder of slurm.conf.
        folder: the folder of the plugins; None if they are not installed.
    """
    conf = configuration.file_in(sysconfdir)
    findings = []
    for plugin in PLUGINS:
        labels = [f"{handler.label} of hook.{name}" for name in plugin.hooks for handler in registry.handlers(name)]
        if not labels:
            continue
        line = _line(plugin, slurm_conf.value(str(conf), plugin.key))
        if line is not None:
            findings.append(f"{conf}: Slurm never calls handler {labels[0]}: it needs the line {line}")
        if folder is not None and not (folder / plugin.file).exists():
            findings.append(
                f"{folder / plugin.file}: not there, so Slurm never calls handler {labels[0]}: run 'slurmhooks install'"
                " again"
            )
        if plugin.point == "site_factor" and slurm_conf.value(str(conf), "PriorityType") == "priority/basic":
            findings.append(
                f"{conf}: Slurm never calls handler {labels[0]}: it needs the line PriorityType=priority/multifactor"
            )
    return findings


def names(plugin: Plugin, value: str) -> bool:
    """Tell whether a value of slurm.conf names a plugin."""
    kind, _, short = plugin.name.partition("/")
    return any(name.removeprefix(f"{kind}/") == short for name in _split(value))


def _split(value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]


def _line(plugin: Plugin, value: str | None) -> str | None:
    """Return the line that slurm.conf lacks; None if it has the line."""
    if names(plugin, value or plugin.default or ""):
        return None
    present = _split(value or plugin.default or "")
    return f"{plugin.key}={','.join([*present, plugin.name]) if plugin.default is not None else plugin.name}"
