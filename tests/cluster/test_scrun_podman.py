# SPDX-License-Identifier: GPL-2.0-or-later
"""Podman with scrun as its OCI runtime, staged by the ported example.

Its packages are installed in the layer of the test's cluster, not in the root file system.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.containers import CREATE_SECONDS, User
from tests.cluster.lab import errors
from tests.cluster.scenes import HOOKS_D
from tests.cluster.scrun_lab import alice, lab

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.moved

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = ("podman", "conmon", "fuse-overlayfs", "netavark", "uidmap")
ADD_SECONDS = 600.0
RUNTIME = "/usr/local/bin/logged-scrun"
LOGGED = """#!/bin/sh
# Keep scrun's log: podman removes its own with the container.
for word; do
    shift
    test "$word" != create || set -- "$@" --log=/home/alice/podman.log
    set -- "$@" "$word"
done
SCRUN_FILE_DEBUG=debug exec /usr/bin/scrun "$@"
"""
__all__ = ["alice", "lab"]  # fixtures


def install_podman(cluster: Cluster) -> None:
    """Install podman, or skip the test if it cannot be downloaded."""
    if cluster.root("which", "podman").returncode == 0:
        return
    done = cluster.call("add", *PACKAGES, timeout=ADD_SECONDS)
    if done.returncode == errors.CANNOT_REACH:
        pytest.skip(f"PODMAN WITH SCRUN WAS NOT TESTED ON SLURM {cluster.release}: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def podman(alice: User) -> User:
    """A user with podman, an image, and the ported example as hook file."""
    install_podman(alice.cluster)
    alice.cluster.root("sh", "-c", f"rm -f {HOOKS_D}/*", check=True)
    alice.cluster.put(PROJECT / "contrib/scrun/staging.py", f"{HOOKS_D}/staging.py")
    folder = PROJECT / "contrib/scrun/podman"
    alice.cluster.put(folder / "storage.conf", "/etc/containers/storage.conf")
    conf = (folder / "containers.conf").read_text()
    assert '"/usr/bin/scrun"' in conf
    alice.cluster.put(conf.replace("/usr/bin/scrun", RUNTIME), "/etc/containers/containers.conf")
    alice.cluster.put(LOGGED, RUNTIME, 0o755)
    alice.cluster.put('{"default":[{"type":"insecureAcceptAnything"}]}', "/etc/containers/policy.json")
    alice.bundle("/bin/true")
    alice.sh(
        "podman images -q bb 2>/dev/null | grep -q . || tar -C bundle/rootfs -c bin etc tmp | podman import - bb",
        env={"XDG_RUNTIME_DIR": "/run/user/2001"},
    )
    return alice


def run(user: User, *command: str, options: str = "") -> str:
    """Run a container as a Slurm job, and return its output."""
    line = f"timeout -k 1 {CREATE_SECONDS} podman run --rm {options} bb {shlex.join(command)}"
    return user.sh(line, env={"XDG_RUNTIME_DIR": "/run/user/2001"})


@pytest.mark.one_release("24.11")
def test_podman_run(podman: User) -> None:
    """`podman run` runs a container as a job of the user, returns its output, and leaves nothing staged."""
    output = run(podman, "/bin/sh", "-c", "echo inside; id -u; echo job $SLURM_JOB_ID")
    assert "inside\n0\njob " in output
    podman.wait_job_over()
    assert podman.job()["UserId"] == "alice(2001)"
    podman.cluster.wait(lambda: podman.sh("ls -A /run/user/2001/slurm/scrun") == "", what="end of the anchor")


@pytest.mark.one_release("24.11")
def test_podman_with_a_volume(podman: User) -> None:
    """A volume is copied to the job, and the container's changes are copied back; one of root's stays as it is."""
    podman.sh("mkdir -p bundle-volume; echo input > bundle-volume/in")
    options = "-v /usr/share/doc/crun:/d -v ~/bundle-volume:/v"
    output = run(podman, "/bin/sh", "-c", "cat /v/in; echo made > /v/out", options=options)
    assert "input" in output
    podman.wait(lambda: podman.sh("cat bundle-volume/out", check=False) == "made\n", "the changed volume")


@pytest.mark.one_release("24.11")
def test_podman_with_mounts_on_mounts(podman: User) -> None:
    """Shared memory and a volume below a tmpfs are what they are without Slurm, and the volume's changes come back."""
    script = "echo x > /dev/shm/x && cat /dev/shm/x /run/a/in && echo made > /run/a/out; ls /dev /run/a"
    seen = {}
    for runtime in ("crun", "scrun"):
        podman.sh("rm -rf volume; mkdir volume; echo input > volume/in")
        plain = "--runtime=/usr/bin/crun" if runtime == "crun" else ""
        seen[runtime] = run(podman, "/bin/sh", "-c", script, options=f"{plain} --tmpfs /run -v ~/volume:/run/a")
        podman.wait(lambda: podman.sh("cat volume/out", check=False) == "made\n", "the changed volume")
    assert seen["crun"].startswith("x\ninput\n")
    plain_lines = seen["crun"].splitlines()
    # scrun's own lines are in the same stream.
    assert [line for line in seen["scrun"].splitlines() if line in plain_lines] == plain_lines
