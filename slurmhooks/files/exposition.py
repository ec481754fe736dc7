# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of Prometheus' text format, for files that node_exporter reads. The collector has a library for it."""

from __future__ import annotations

from slurmhooks.log import visible


def sample(name: str, value: float | str, **labels: str) -> str:
    """Return the line of one value of a metric; labels may have any texts."""
    pairs = ",".join(f'{label}="{_label(text)}"' for label, text in labels.items())
    return f"{name}{{{pairs}}} {value}" if pairs else f"{name} {value}"


def _label(text: str) -> str:
    """Return a text for between the quotes of a label: as a line for people, in whose dashboards it is."""
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')
