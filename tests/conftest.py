# SPDX-License-Identifier: GPL-2.0-or-later
"""Put the files of tests where nobody else can write: Slurm's daemons take no hook files below /tmp."""

import os
from pathlib import Path


def pytest_configure() -> None:
    """Tell pytest where tmp_path is to be, unless somebody has."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    # Tests of root's let other users look into their folders, and nobody needs to look into root's home for that.
    folder = Path("/var/cache" if os.geteuid() == 0 else cache, "slurmhooks-tests")
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(folder))
