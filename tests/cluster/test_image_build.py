# SPDX-License-Identifier: GPL-2.0-or-later
"""The Dockerfile, built by podman from a root file system; test_without_network.py plays it without podman."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.carrying import CHECKOUT
from tests.cluster.conftest import ONE_RELEASE, need_rootfs
from tests.cluster.lab import places

BASE, IMAGE = "localhost/slurmhooks-test/slurm", "localhost/slurmhooks-test/hooked"
# In a container of its own, a step would need a cgroup.
BUILD = ("podman", "build", "--isolation=chroot", "--network=host")


@pytest.fixture
def base() -> Iterator[str]:
    """An image of Slurm, made from a root file system."""
    if shutil.which("podman") is None:
        pytest.skip("podman is not installed")
    need_rootfs(ONE_RELEASE)
    pack = [
        "tar",
        "-C",
        places.rootfs(ONE_RELEASE),
        "--exclude=./opt/slurmhooks",
        "--exclude=./usr/src/slurm",
        "-c",
        ".",
    ]
    with subprocess.Popen(pack, stdout=subprocess.PIPE) as tar:
        subprocess.run(["podman", "import", "-", BASE], stdin=tar.stdout, check=True)
    yield BASE
    subprocess.run(["podman", "rmi", "--force", IMAGE, BASE], check=True)


@pytest.mark.soak
def test_podman_builds_it(base: str, tmp_path: Path) -> None:
    """The image has plugins that fit its Slurm and its Python, with packages from Debian."""
    wheels = Path(places.cache(), "wheels", ONE_RELEASE)
    options = [f"--build-arg={name}={base}" for name in ("IMAGE", "BUILD_IMAGE")]
    options += ["--build-arg=PIP_OPTIONS=--no-index --find-links=/wheels", f"--volume={wheels}:/wheels:ro"]
    file = CHECKOUT / "contrib" / "packaging" / "images" / "Dockerfile"
    done = subprocess.run([*BUILD, *options, "--file", file, "--tag", IMAGE, CHECKOUT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "Dockerfile").write_text(f"FROM {IMAGE}\nRUN slurmhooks info --json\n")
    done = subprocess.run([*BUILD, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"findings": []' in done.stdout
