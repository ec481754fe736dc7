# SPDX-License-Identifier: GPL-2.0-or-later
"""A spool that has filled its disk: what was kept is delivered, and this makes room."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.turns import moved, moved_from
from tests.native.building import PLAIN, ROOT
from tests.native.conftest import built

pytestmark = pytest.mark.slow

NAMESPACE = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount"]
SCRIPT = Path(__file__).with_name("full_disk.py")


@pytest.fixture(scope="module", autouse=True)
def _disk() -> None:
    """Compile, and skip where no file system can be mounted."""
    built(PLAIN)
    able = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True, check=False)
    if able.returncode:
        pytest.skip(f"no mount namespace: {able.stderr}")


@pytest.mark.parametrize("options", moved_from(1, ["size=96k,nr_inodes=12", "size=96k,nr_inodes=6", "size=200k"]))
@pytest.mark.parametrize(
    "scenario",
    ["all_records", "state_in_memory", *moved("many_losses", "after_a_restart", "failures", "workers_that_end")],
)
def test_a_disk_that_the_spool_has_filled(tmp_path: Path, scenario: str, options: str) -> None:
    """See the functions of full_disk.py: delivery needs no room, and loses nothing and delivers nothing twice."""
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(
        [*NAMESPACE, sys.executable, SCRIPT, scenario, disk, options],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
