# SPDX-License-Identifier: GPL-2.0-or-later
"""What is made on one machine and carried to others, which have neither network nor compiler: images and an archive."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.carrying import CHECKOUT, HOOKS, SECONDS, checkout, hooked, pack
from tests.cluster.conftest import Cluster
from tests.cluster.dockerfile import play, stages
from tests.cluster.lab import places

pytestmark = [pytest.mark.cluster, pytest.mark.moved]

DOCKERFILE = CHECKOUT / "contrib" / "packaging" / "images" / "Dockerfile"
TREE, WHEELS, ARCHIVE = "/root/tree", "/root/wheels", "/root/airgap.tar"
PLUGINS = "/opt/slurmhooks/plugins"
PLUGIN_DIR = "/usr/lib/*-linux-gnu/slurm-wlm"
CONFIGURE = """
    echo JobSubmitPlugins=python > /etc/slurm/local.conf
    echo required spank_python.so > /etc/slurm/plugstack.conf
    mkdir -p /root/site/hooks.d
    cat > /root/site/hooks.d/site.py
    printf '[hooks]\\npaths = ["hooks.d/*.py"]\\n' > /root/site/slurmhooks.toml
"""
MAKE = f"""
    export PATH=/opt/slurmhooks/bin:$PATH
    slurmhooks bundle /root/site --output /root/policy.tar
    {TREE}/contrib/packaging/make-airgap --python /opt/slurmhooks/bin/python3 --build {PLUGINS} \\
        --bundle /root/policy.tar --wheels {WHEELS} {ARCHIVE}
"""
CLEAR = f"""
    rm -rf /opt/slurmhooks {TREE} {WHEELS} /usr/src/slurmhooks /usr/local/bin/slurmhooks /etc/slurm/slurmhooks*
    rm -rf {PLUGIN_DIR}/*_python.so {PLUGIN_DIR}/slurmhooks
    for name in /usr/bin/*gcc* /usr/bin/cc /usr/bin/*-ld; do rm -f $name; done
    tar -C /root --no-same-owner -xf {ARCHIVE}
"""


@pytest.fixture(scope="module")
def built(bare_machine: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """A cluster on which the first stage of the Dockerfile was played, with the archive for other machines."""
    folder = tmp_path_factory.mktemp("carried")
    wheels = Path(places.cache(), "wheels", bare_machine.release)
    names = b"\0".join(path.name.encode() for path in wheels.glob("*.whl"))
    bare_machine.put(checkout(folder), "/root/tree.tar")
    bare_machine.put(pack(names, wheels, folder / "wheels.tar"), "/root/wheels.tar")
    unpack = "rm -r /opt/slurmhooks; for name in tree wheels; do mkdir $name; tar -C $name -xf $name.tar; done"
    bare_machine.root("sh", "-ec", f"cd /root; {unpack}", check=True)
    bare_machine.root("sh", "-ec", CONFIGURE, input=HOOKS, check=True)
    play(bare_machine, dict(stages(DOCKERFILE))["build"], TREE, {"PIP_OPTIONS": f"--no-index --find-links={WHEELS}"})
    bare_machine.root("sh", "-ec", MAKE, check=True, timeout=SECONDS)
    return bare_machine


def test_the_image(built: Cluster) -> None:
    """The last stage of the Dockerfile leaves a Slurm with hooks, and nothing wrong."""
    play(built, dict(stages(DOCKERFILE))[""], TREE, {})
    assert built.root("slurmhooks", "info", check=True).stderr == ""
    built.root("slurmhooks", "deploy", "/root/policy.tar", check=True)
    assert hooked(built) == ["hooked", "hooked"]


def test_the_archive(built: Cluster) -> None:
    """Where nothing of slurmhooks and no compiler is left, the archive brings all, with its bundle in force."""
    built.root("sh", "-ec", CLEAR, check=True)
    assert built.root("sh", "-c", "command -v gcc cc slurmhooks").stdout == ""
    for _ in range(2):
        done = built.root("/root/slurmhooks/install", timeout=SECONDS)
        assert done.returncode == 0, done.stdout + done.stderr
    assert built.root("/opt/slurmhooks/bin/slurmhooks", "info", check=True).stderr == ""
    assert hooked(built) == ["hooked", "hooked"]


def test_a_damaged_archive(built: Cluster) -> None:
    """If a file was changed or is missing, nothing is installed, and the file is named."""
    before = built.root("sh", "-c", f"ls -lR --full-time {PLUGIN_DIR}/slurmhooks /opt/slurmhooks/bin").stdout
    for spoil in ("echo x >> plugins/job_submit_python.so", "rm plugins/job_submit_python.so"):
        built.root("sh", "-ec", f"rm -r /root/slurmhooks; tar -C /root -xf {ARCHIVE}; cd /root/slurmhooks; {spoil}")
        done = built.root("/root/slurmhooks/install")
        assert done.returncode != 0
        assert "plugins/job_submit_python.so" in done.stdout + done.stderr
    assert built.root("sh", "-c", f"ls -lR --full-time {PLUGIN_DIR}/slurmhooks /opt/slurmhooks/bin").stdout == before


def test_another_release_of_slurm(
    built: Cluster, cluster_factory: Callable[[str, str], Cluster], tmp_path: Path
) -> None:
    """A machine with another Slurm refuses the plugins and names both releases, also if they are copied by hand."""
    built.tool("get", ARCHIVE, str(tmp_path / "airgap.tar"))
    other = cluster_factory("26.05", "other")
    other.put(tmp_path / "airgap.tar", ARCHIVE)
    pip = "/opt/slurmhooks/bin/pip install --quiet --no-index --no-deps /root/slurmhooks/wheels/slurmhooks-*.whl"
    other.root("sh", "-ec", f"tar -C /root -xf {ARCHIVE}; {pip}", check=True)
    done = other.root("/opt/slurmhooks/bin/slurmhooks", "install", "--from", "/root/slurmhooks/plugins")
    assert done.returncode == 1
    assert "the plugins are built for Slurm 24.11.5, not for 26.05" in done.stderr
    other.root("rm", "-r", "/opt/slurmhooks", check=True)
    done = other.root("/root/slurmhooks/install")
    assert done.returncode == 1
    assert "the plugins need Python 3.13, and there is no python3.13 here" in done.stderr
    copied = f"cp -r /root/slurmhooks/plugins/* {PLUGIN_DIR}/; echo JobSubmitPlugins=python > /etc/slurm/local.conf"
    other.root("sh", "-ec", copied, check=True)
    done = other.root("sh", "-c", "exec slurmctld -D 2>&1")
    assert done.returncode != 0
    assert "incompatible" in done.stdout.lower(), done.stdout
