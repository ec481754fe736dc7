# SPDX-License-Identifier: GPL-2.0-or-later
"""How Debian packages that are missing are installed."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "apt-install"
APT = """#!/bin/sh
echo "$*" >> {calls}
test -e {calls}.{turn} || {{ touch {calls}.{turn}; echo "{error}" >&2; exit 100; }}
"""
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root installs packages")


def install(folder: Path, turn: str, error: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run the script with an apt-get that fails once in each turn; return the calls, too."""
    program, calls = folder / "apt-get", folder / "calls"
    program.write_text(APT.format(calls=calls, turn=turn, error=error))
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run([SCRIPT, "gcc", "lua"], env=environment, text=True, capture_output=True, check=False)
    return done, calls.read_text().splitlines()


def test_waits_for_another_one(tmp_path: Path) -> None:
    """While another apt-get holds a lock, of "update" or "install", it says so and tries again."""
    error = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"
    done, calls = install(tmp_path, "$#", error)
    assert done.returncode == 0, done.stderr
    update, package = "-qq -y update", "-qq -y install --no-install-recommends gcc lua"
    assert calls == [update, update, package, package]
    assert done.stdout == "setup: apt-get install gcc lua\nsetup: another apt-get is running: waiting for its end\n"


def test_fails_with_the_text(tmp_path: Path) -> None:
    """Another error ends it, with its text."""
    done, calls = install(tmp_path, "x", "E: Unable to locate package lua")
    assert (done.returncode, len(calls)) == (1, 1)
    assert done.stderr == "E: Unable to locate package lua\n"
