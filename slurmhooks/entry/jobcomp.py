# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads the handlers of jobcomp's workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.entry.worker_handlers import load_point
from slurmhooks.errors import LoadError
from slurmhooks.jobcomp.service import Service

if TYPE_CHECKING:
    from slurmhooks.files.watch import Watch
    from slurmhooks.worker.interface import Announce

START_SINCE = (25, 5)
"""The first release that reports the start of jobs."""


def load(watch: Watch, announce: Announce) -> Service:
    """Load the handlers that the configuration names; see slurmhooks.worker.interface.Load.

    Raises:
        ConfigError: the configuration is invalid.
        LoadError: a hook file is invalid, or needs what this build lacks.
    """
    tables, registry, settings = load_point(watch, announce, "jobcomp")
    running = tuple(map(int, tables.release.split(".")[:2]))
    if running < START_SINCE:
        findings = [
            f"{handler.where}: handler {handler.label}: Slurm calls job_start since 25.05; this is {tables.release}"
            for handler in registry.handlers("job_start")
        ]
        if findings:
            raise LoadError(findings)
    return Service(tables, registry, settings)
