# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by all tests: folders that only the user can write to, since Slurm's daemons refuse hook files in /tmp."""

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# On a busy machine an example takes longer, which is not a fault of the code.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")


def pytest_configure() -> None:
    """Set the folder of tmp_path, unless it is already set."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    # Tests that root runs let other users enter their folders, so these cannot be in root's home.
    folder = Path("/var/cache" if os.geteuid() == 0 else cache, "slurmhooks-tests")
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(folder))


def pytest_collection_finish() -> None:
    """Keep thousands of tests out of garbage collections, which would take a quarter of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that every user can enter, like /etc; only the owner can enter pytest's own folders."""
    with tempfile.TemporaryDirectory(dir=os.environ["PYTEST_DEBUG_TEMPROOT"]) as name:
        os.chmod(name, 0o755)
        yield Path(name)
