# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads the hooks that a replay runs: those of a configuration, of a folder or of a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from slurmhooks.config import plain
from slurmhooks.entry.scripts_and_rules import named_in, of_files
from slurmhooks.entry.worker_handlers import unserved
from slurmhooks.errors import LoadError
from slurmhooks.files.watch import Watch
from slurmhooks.hooks.points import POINTS
from slurmhooks.processes.settings import Settings
from slurmhooks.site import loading, reload
from slurmhooks.site.sources import FILE_NAME

if TYPE_CHECKING:
    from slurmhooks.handlers.registry import Registry
    from slurmhooks.wire.tables import Tables


def load(path: str, tables: Tables) -> tuple[Registry, Settings]:
    """Load the hooks that slurmctld would load, and what their configuration says about texts.

    ``path`` is that of a slurmhooks.toml, of a folder with one or with hook files, or of a hook file.

    Raises:
        ConfigError: the configuration is invalid.
        LoadError: a hook file is invalid, or needs what the build lacks.
    """
    point = POINTS["job_submit"]
    path = os.path.abspath(path)
    configuration = os.path.join(path, FILE_NAME) if os.path.isdir(path) else path
    if configuration.endswith(".toml") and os.path.exists(configuration):
        called = tuple(spec.name for spec in POINTS["job_submit"].hooks)
        config, registry = reload.load(
            Path(configuration),
            Watch(),
            lambda registry: unserved(registry, tables, point.called),
            named_in,
            called,
        )
        # A replay shows what each request would have been told, also if the user has read it before.
        rules = plain.values("rules", config.rules) | {"notices": "always"}
        return registry, Settings(rules=plain.table("rules", rules))
    files = loading.files_in(path)
    if not files:
        raise LoadError([f"{path}: has neither {FILE_NAME} nor hook files (*.py)"])
    registry = of_files(files).load()
    findings = unserved(registry, tables, point.called)
    if findings:
        raise LoadError(findings)
    return registry, Settings()
