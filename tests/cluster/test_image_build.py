# SPDX-License-Identifier: GPL-2.0-or-later
"""The Dockerfiles, built by podman from a root file system of Debian.

test_without_network.py and test_rpm_layout.py play them without podman.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.carrying import CHECKOUT
from tests.cluster.conftest import ONE_RELEASE, need_rootfs
from tests.cluster.dockerfile import INSTALLERS
from tests.cluster.lab import places
from tests.cluster.lab.releases import find

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
@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.rpm"])
def test_podman_builds_it(name: str, base: str, tmp_path: Path) -> None:
    """The image has plugins that fit its Slurm and its Python, with packages of Debian or a stand-in for dnf."""

    def build(*options: object) -> str:
        done = subprocess.run([*BUILD, *map(str, options)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    wheels = Path(places.cache(), "wheels", ONE_RELEASE)
    options = [f"--build-arg={each}={base}" for each in ("IMAGE", "BUILD_IMAGE")]
    options += ["--build-arg=PIP_OPTIONS=--no-index --find-links=/wheels", f"--volume={wheels}:/wheels:ro"]
    if name == "Dockerfile.rpm":
        (tmp_path / "dnf").write_text(INSTALLERS["dnf"])
        (tmp_path / "Dockerfile").write_text(f"FROM {base}\nCOPY --chmod=755 dnf /usr/local/sbin/dnf\n")
        build("--tag", base, tmp_path)
        options.append(f"--build-arg=PYTHON=python{find(ONE_RELEASE).python}")
    build(*options, "--file", CHECKOUT / "contrib" / "packaging" / "images" / name, "--tag", IMAGE, CHECKOUT)
    (tmp_path / "Dockerfile").write_text(f"FROM {IMAGE}\nRUN slurmhooks info --json\n")
    assert '"findings": []' in build(tmp_path)
