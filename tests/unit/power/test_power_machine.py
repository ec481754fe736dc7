# SPDX-License-Identifier: GPL-2.0-or-later
"""Power calls on a machine whose disk is full, or whose clock is set."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slurmhooks.handover import program
from slurmhooks.jobcomp.spool import Spool
from slurmhooks.power.calls import Call
from tests.native.building import ROOT

pytestmark = pytest.mark.slow

NAMESPACE = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount"]
SCRIPT = Path(__file__).with_name("full_disk.py")


@pytest.fixture(scope="module")
def _disk() -> None:
    """Skip where no file system can be mounted."""
    able = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True, check=False)
    if able.returncode:
        pytest.skip(f"no mount namespace: {able.stderr}")


def play(scenario: str, folder: Path) -> str:
    """Run a function of full_disk.py; return what programs have written to standard error."""
    done = subprocess.run(
        [*NAMESPACE, sys.executable, SCRIPT, scenario, folder],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


@pytest.mark.usefixtures("_disk")
@pytest.mark.parametrize(
    "scenario",
    [
        "state_that_cannot_be_written",
        "handler_that_ends_its_process",
        "end_that_cannot_be_written",
        "log_that_cannot_be_written",
    ],
)
def test_a_full_disk(tmp_path: Path, scenario: str) -> None:
    """See the functions of full_disk.py: each call that was kept is delivered once there is room, and not twice."""
    play(scenario, tmp_path)


@pytest.mark.usefixtures("_disk")
def test_a_call_that_cannot_be_kept(tmp_path: Path) -> None:
    """The program says in one line what is lost and why, which Slurm logs with its exit code."""
    (line,) = play("call_that_cannot_be_kept", tmp_path).splitlines()
    spool = tmp_path / "state/slurmhooks/power"
    assert line.startswith(f"power.resume of c1 is lost: it cannot be kept in {spool}: No space left on device; ")


def test_a_clock_that_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that wait are read in the order in which they came, also if the clock was set back or forward between."""
    times = (5000, 3000, 4000, 90_000_000, 4001)
    for number, seconds in enumerate(times):
        monkeypatch.setattr(time, "time_ns", lambda seconds=seconds: seconds * 10**9)
        program.keep(str(tmp_path / "slurmhooks/power"), "power.resume", f"c{number}")
    calls = Spool(tmp_path / "slurmhooks/power")
    calls.refresh()
    records = list(calls.records())
    assert [Call.of(record.segment.message(record.frame)).nodes for record in records] == ["c0", "c1", "c2", "c3", "c4"]
    assert tuple(record.frame.time // 10**9 for record in records) == times
