# SPDX-License-Identifier: GPL-2.0-or-later
"""What all tests share: files where nobody else can write, as Slurm's daemons take no hook files below /tmp."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine takes longer for an example: that says nothing about the code.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")


def pytest_configure() -> None:
    """Tell pytest where tmp_path is to be, unless somebody has."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    # Tests of root's let other users look into their folders, and nobody needs to look into root's home for that.
    folder = Path("/var/cache" if os.geteuid() == 0 else cache, "slurmhooks-tests")
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(folder))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that every user can enter, as /etc; those that pytest makes are its user's alone."""
    with tempfile.TemporaryDirectory(dir=os.environ["PYTEST_DEBUG_TEMPROOT"]) as name:
        os.chmod(name, 0o755)
        yield Path(name)
