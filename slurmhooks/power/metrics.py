# SPDX-License-Identifier: GPL-2.0-or-later
"""Metrics of power calls, as a file for node_exporter's textfile collector. docs/metrics.md lists them.

The process that delivers ends when nothing waits, so what it has counted is in a file of the spool.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from slurmhooks.config.controller import FILE_MODES
from slurmhooks.files import durable
from slurmhooks.files.exposition import sample
from slurmhooks.log import log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from slurmhooks.config.controller import Metrics
    from slurmhooks.jobcomp.spool import Spool

FILE = "slurmhooks_power.prom"
COUNTS = "counts.json"


class Counts:
    """What became of power calls since the spool was made, by hook and outcome."""

    def __init__(self, folder: Path) -> None:
        """Read what earlier processes have counted; a damaged file counts as empty."""
        self._path = folder / COUNTS
        try:
            read = json.loads(self._path.read_bytes())
            self._counts = {(str(hook), str(outcome)): int(count) for hook, outcome, count in read}
        except (OSError, ValueError, TypeError, RecursionError):
            self._counts = {}

    def add(self, hook: str, outcome: str) -> None:
        """Count an outcome: ``delivered``, ``failed`` (the call is tried again) or ``given_up``."""
        self._counts[hook, outcome] = self._counts.get((hook, outcome), 0) + 1
        rows = [[*key, count] for key, count in sorted(self._counts.items())]
        try:
            durable.write(self._path, json.dumps(rows).encode(), sync=False)
        except OSError as error:
            log.error("a power call is not counted: %s", error)

    def export(self, spool: Spool, section: Metrics) -> None:
        """Replace the file in the folder of ``[metrics] textfiles``, if there is one."""
        if section.textfiles is None:
            return
        text = "".join(f"{line}\n" for line in self._lines(spool))
        try:
            # The folder usually belongs to another user, who may put links in it.
            mode = FILE_MODES[section.readers]
            durable.write(f"{section.textfiles}/{FILE}", text.encode(), mode, sync=False)
        except OSError as error:
            log.error("metrics cannot be shown: %s", error)

    def _lines(self, spool: Spool) -> Iterator[str]:
        yield "# HELP slurmhooks_power_calls_total Deliveries of power calls, by outcome."
        yield "# TYPE slurmhooks_power_calls_total counter"
        for (hook, outcome), count in sorted(self._counts.items()):
            yield sample("slurmhooks_power_calls_total", count, hook=hook, outcome=outcome)
        times = [record.frame.time for record in spool.records()]
        yield "# HELP slurmhooks_power_waiting Power calls that wait for delivery."
        yield "# TYPE slurmhooks_power_waiting gauge"
        yield sample("slurmhooks_power_waiting", len(times))
        yield "# HELP slurmhooks_power_oldest_timestamp_seconds When Slurm made the oldest of them; 0: none waits."
        yield "# TYPE slurmhooks_power_oldest_timestamp_seconds gauge"
        yield sample("slurmhooks_power_oldest_timestamp_seconds", f"{min(times, default=0) / 1e9:.3f}")
        yield "# HELP slurmhooks_power_dead Power calls that were given up and are kept as dead letters."
        yield "# TYPE slurmhooks_power_dead gauge"
        yield sample("slurmhooks_power_dead", len(spool.letters()))
