# SPDX-License-Identifier: GPL-2.0-or-later
"""What commands and tests do on a machine that allows no clusters."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parent / "run"
pytestmark = pytest.mark.one_release("24.11")
WITHOUT = ["setpriv", *(["--bounding-set", "-sys_admin"] if os.geteuid() == 0 else ["--no-new-privs"])]
"""Removes the rights from a process that a plain container lacks."""


def test_why_a_machine_does_not_allow_clusters() -> None:
    """One line says what is missing, and the exit code is that of a cluster which is not up."""
    done = subprocess.run([*WITHOUT, sys.executable, str(RUN), "possible"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (125, "", 1)
    assert done.stderr.startswith("run: possible: ")


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_without_clusters_the_tests_say_what_is_left_out(ci: str, code: int) -> None:
    """`make test` then passes with a message; with CI=true it fails, so that nothing is merged untested."""
    command = [*WITHOUT, str(RUN.parents[2] / "tools" / "cluster-tests"), "true"]
    done = subprocess.run(command, cwd=RUN.parents[2], env={**os.environ, "CI": ci}, capture_output=True, text=True)
    assert done.returncode == code
    assert done.stderr.startswith("NO REAL SLURM WAS TESTED. ")
    assert "Omitted: all of tests/cluster" in done.stderr


@pytest.mark.moved
@pytest.mark.cluster
def test_the_demo_goes_on_without_slurm() -> None:
    """Where no cluster is possible, the demo plays the part that needs no cluster, and says how to get the rest."""
    done = subprocess.run([*WITHOUT, sys.executable, str(RUN.parent / "demo")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Without Slurm: ")
    assert "only Slurm was missing" in done.stdout
