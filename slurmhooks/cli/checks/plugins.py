# SPDX-License-Identifier: GPL-2.0-or-later
"""Find handlers that slurmctld never calls because it does not load their plugin."""

from pathlib import Path

from slurmhooks.cli import configuration
from slurmhooks.files import slurm_conf
from slurmhooks.handlers.registry import Registry
from slurmhooks.hooks.points import POINTS, Point

PLUGINS = {point.key: point for point in POINTS.values() if point.key is not None}
"""The plugin points whose plugin a key of slurm.conf must name; calls.py has job_submit and cli_filter."""


def never_called(registry: Registry, sysconfdir: Path, folder: Path | None) -> list[str]:
    """Return a finding for each reason why slurmctld would not call handlers, with the remedy."""
    conf = configuration.file_in(sysconfdir)
    findings = []
    for key, point in PLUGINS.items():
        labels = [f"{handler.label} of hook.{name}" for name in point.called for handler in registry.handlers(name)]
        if not labels:
            continue
        line = _line(key, point, slurm_conf.value(str(conf), key))
        if line is not None:
            findings.append(f"{conf}: Slurm never calls handler {labels[0]}: it needs the line {line}")
        if folder is not None and not (folder / point.plugin).exists():
            findings.append(
                f"{folder / point.plugin}: not there, so Slurm never calls handler {labels[0]}:"
                " run 'slurmhooks install' again"
            )
        if point.name == "site_factor" and slurm_conf.value(str(conf), "PriorityType") == "priority/basic":
            findings.append(
                f"{conf}: Slurm never calls handler {labels[0]}: it needs the line PriorityType=priority/multifactor"
            )
    return findings


def _line(key: str, point: Point, value: str | None) -> str | None:
    """Return the line that slurm.conf lacks; None if it has the line."""
    value = value or point.default or ""
    if configuration.has_plugin(value, point.name):
        return None
    others = value if point.default is not None else ""
    return f"{key}={configuration.with_plugin(others, point.name, f'{point.name}/python')}"
