# SPDX-License-Identifier: GPL-2.0-or-later
"""Metrics of the calls of a plugin point, as a file for node_exporter's textfile collector. docs/metrics.md lists them.

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

COUNTS = "counts.json"


class Counts:
    """What became of calls since the spool was made, by hook and outcome."""

    def __init__(self, folder: Path) -> None:
        """Read what earlier processes have counted; a damaged file counts as empty."""
        self._path = folder / COUNTS
        self._point = folder.name
        try:
            read = json.loads(self._path.read_bytes())
            self._counts = {(str(hook), str(outcome)): int(count) for hook, outcome, count in read}
        except (OSError, ValueError, TypeError, OverflowError, RecursionError):
            self._counts = {}

    def add(self, hook: str, outcome: str, number: int = 1) -> None:
        """Count an outcome of calls: ``delivered``, ``failed`` (the call is tried again) or ``given_up``."""
        self._counts[hook, outcome] = self._counts.get((hook, outcome), 0) + number
        rows = [[*key, count] for key, count in sorted(self._counts.items())]
        try:
            durable.write(self._path, json.dumps(rows).encode(), sync=False)
        except OSError as error:
            log.error("a call of %s is not counted: %s", self._point, error)

    def export(self, spool: Spool, section: Metrics) -> None:
        """Replace the file in the folder of ``[metrics] textfiles``, if there is one."""
        if section.textfiles is None:
            return
        text = "".join(f"{line}\n" for line in self._lines(spool))
        try:
            # The folder usually belongs to another user, who may put links in it.
            mode = FILE_MODES[section.readers]
            durable.write(f"{section.textfiles}/slurmhooks_{self._point}.prom", text.encode(), mode, sync=False)
        except OSError as error:
            log.error("metrics are not written: %s", error)

    def _lines(self, spool: Spool) -> Iterator[str]:
        name, what = f"slurmhooks_{self._point}", f"{self._point.capitalize()} calls"
        yield f"# HELP {name}_calls_total Deliveries of {self._point} calls, by outcome."
        yield f"# TYPE {name}_calls_total counter"
        for (hook, outcome), count in sorted(self._counts.items()):
            yield sample(f"{name}_calls_total", count, hook=hook, outcome=outcome)
        times = [record.frame.time for record in spool.records()]
        yield f"# HELP {name}_waiting {what} that wait for delivery."
        yield f"# TYPE {name}_waiting gauge"
        yield sample(f"{name}_waiting", len(times))
        yield f"# HELP {name}_oldest_timestamp_seconds When Slurm made the oldest of them; 0: none waits."
        yield f"# TYPE {name}_oldest_timestamp_seconds gauge"
        yield sample(f"{name}_oldest_timestamp_seconds", f"{min(times, default=0) / 1e9:.3f}")
        yield f"# HELP {name}_dead {what} that were given up and are kept as dead letters."
        yield f"# TYPE {name}_dead gauge"
        yield sample(f"{name}_dead", spool.dead)
