# SPDX-License-Identifier: GPL-2.0-or-later
"""Put the files of tests where nobody else can write: Slurm's daemons take no hook files below /tmp."""

import os
from pathlib import Path


def pytest_configure() -> None:
    """Tell pytest where tmp_path is to be, unless somebody has."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "slurmhooks", "pytest")
    cache.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(cache))
