# SPDX-License-Identifier: GPL-2.0-or-later
"""Podman with scrun as its OCI runtime, staged by the ported example. Opt-in: it installs podman into the cluster.

Run it with ``SLURMHOOKS_PODMAN=1``. The packages go into the layer of the test's cluster, not into the root file
system.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.lab import places
from tests.cluster.scenes import HOOKS_D
from tests.cluster.test_scrun_life import User, alice, lab

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = "podman conmon fuse-overlayfs netavark uidmap"
SAID = "PODMAN WITH SCRUN WAS NOT TESTED: set SLURMHOOKS_PODMAN=1, which installs podman into the test's cluster"
__all__ = ["alice", "lab"]  # fixtures

pytestmark = pytest.mark.skipif(os.environ.get("SLURMHOOKS_PODMAN") != "1", reason=SAID)


def install_podman(cluster: Cluster) -> None:
    """Install it, with this machine's network: the cluster has none of its own."""
    if cluster.root("which", "podman").returncode == 0:
        return
    os.environ["SLURMHOOKS_CLUSTER"] = cluster.name
    keeper = places.read_keeper(places.cluster(cluster.release))
    assert keeper is not None
    script = (
        'cp /etc/resolv.conf /etc/resolv.away; printf %s "$RESOLV" > /etc/resolv.conf; apt-get -qq update;'
        f" apt-get -qq -y install --no-install-recommends {PACKAGES}; mv /etc/resolv.away /etc/resolv.conf"
    )
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RESOLV": Path("/etc/resolv.conf").read_text()}
    command = ["nsenter", "-m", "-t", str(keeper.pid), "--", "sh", "-c", script]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, check=False)
    if cluster.root("which", "podman").returncode != 0:
        pytest.skip(f"PODMAN WITH SCRUN WAS NOT TESTED: it cannot be installed: {done.stderr[-300:]}")


@pytest.fixture
def podman(alice: User) -> User:
    """A user with podman, an image, and the ported example as the site's hooks."""
    install_podman(alice.cluster)
    alice.cluster.root("sh", "-c", f"rm -f {HOOKS_D}/*", check=True)
    alice.cluster.put(PROJECT / "contrib/scrun/staging.py", f"{HOOKS_D}/staging.py")
    for name in ("containers.conf", "storage.conf"):
        alice.cluster.put(PROJECT / "contrib/scrun/podman" / name, f"/etc/containers/{name}")
    alice.cluster.put('{"default":[{"type":"insecureAcceptAnything"}]}', "/etc/containers/policy.json")
    alice.bundle("/bin/true")
    alice.sh(
        "podman images -q bb 2>/dev/null | grep -q . || tar -C bundle/rootfs -c bin etc tmp | podman import - bb",
        env={"XDG_RUNTIME_DIR": "/run/user/2001"},
    )
    return alice


def run(user: User, *command: str, options: str = "") -> str:
    """Run a container as a Slurm job, and return its output."""
    line = f"timeout -k 1 60 podman run --rm {options} bb {shlex.join(command)}"
    return user.sh(line, timeout=90, env={"XDG_RUNTIME_DIR": "/run/user/2001"})


def test_podman_run(podman: User) -> None:
    """`podman run` runs a container as a job of the user, gives its output back, and leaves nothing staged."""
    output = run(podman, "/bin/sh", "-c", "echo inside; id -u; echo job $SLURM_JOB_ID")
    assert "inside\n0\njob " in output
    podman.wait_job_over()
    assert podman.job()["UserId"] == "alice(2001)"
    assert podman.sh("ls -A /run/user/2001/slurm/scrun") == ""


def test_podman_with_a_volume(podman: User) -> None:
    """A volume is copied to the job and what the container changed in it comes back."""
    podman.sh("mkdir -p bundle-volume; echo input > bundle-volume/in")
    output = run(podman, "/bin/sh", "-c", "cat /v/in; echo made > /v/out", options="-v ~/bundle-volume:/v")
    assert "input" in output
    podman.cluster.wait(lambda: podman.sh("cat bundle-volume/out", check=False) == "made\n", 40, "the changed volume")
