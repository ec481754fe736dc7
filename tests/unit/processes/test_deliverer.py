# SPDX-License-Identifier: GPL-2.0-or-later
"""When a supervisor starts the delivery of power calls."""

import subprocess
from pathlib import Path

import pytest

from slurmhooks.processes import deliverer


def test_one_delivery_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has not locked the spool yet is not started again; one that has ended before that is."""
    (tmp_path / f"1{deliverer.SEGMENT}").touch()
    monkeypatch.setattr(deliverer, "INTERVAL", 0.0)
    monkeypatch.setattr(deliverer, "folder", lambda _: tmp_path)
    started: list[subprocess.Popen[bytes]] = []

    def start(spool: Path) -> subprocess.Popen[bytes]:
        assert spool == tmp_path
        started.append(subprocess.Popen(["sleep", "600"]))
        return started[-1]

    monkeypatch.setattr(deliverer, "start", start)
    watchdog = deliverer.Watchdog("power")
    try:
        for expected in (1, 2):
            for _ in range(3):
                watchdog.check()
            assert (len(started), watchdog.pid) == (expected, started[-1].pid)
            started[-1].kill()
            started[-1].wait()
    finally:
        for each in started:
            each.kill()
            each.wait()
