# SPDX-License-Identifier: GPL-2.0-or-later
"""One file with handlers for job_submit, SPANK and scrun in a real Slurm."""

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.scenes import BROKEN, BUNDLE_MAKER, BUNDLE_PATH, HOOKS, HOOKS_D, Scene, play, scenes

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

PROJECT = Path(__file__).resolve().parents[2]
NAMES = [scene.name for scene in scenes("24.11")]


@pytest.fixture(scope="module")
def hooks(cluster: "Cluster") -> "Cluster":
    """A cluster with the hook file, and with the hook file that has bugs."""
    cluster.root("sh", "-c", f"rm -f {HOOKS_D}/*.py", check=True)
    cluster.put(PROJECT / HOOKS, f"{HOOKS_D}/first_light.py")
    cluster.put(PROJECT / BROKEN, f"{HOOKS_D}/broken.py")
    cluster.put(PROJECT / BUNDLE_MAKER, BUNDLE_PATH)
    cluster.deploy()  # scenes of root come first
    return cluster


@pytest.mark.parametrize("name", NAMES)
def test_scene(hooks: "Cluster", name: str) -> None:
    """Every scene of `make demo` succeeds on every release that can play it."""
    scene: Scene = next(scene for scene in scenes(hooks.release) if scene.name == name)
    if hooks.release < scene.since:
        pytest.skip(f"Slurm has this since {scene.since}")

    def run(user: str, command: str) -> "subprocess.CompletedProcess[str]":
        shell = ("sh", "-c", f"exec 2>&1; {command}")
        return hooks.root(*shell) if user == "root" else hooks.user(user, *shell)

    assert play(scene, run, lambda step, command, output: None) == []
