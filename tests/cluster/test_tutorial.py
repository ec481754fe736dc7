# SPDX-License-Identifier: GPL-2.0-or-later
"""The ways of newcomers on real clusters: the tutorial of the first hook, and the installation in the README."""

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.tutorial import parts, play

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.deploys

PROJECT = Path(__file__).parents[2]
PARTS = parts((PROJECT / "docs" / "tutorial.md").read_text())
README = (PROJECT / "README.md").read_text()
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "slurmhooks")
AS_BEFORE = """
cd /etc/slurm
echo '# Nothing is switched on.' | tee local.conf > plugstack.conf
rm -rf slurmhooks.toml slurmhooks.set slurmhooks.d hooks.d /var/log/slurm/slurmhooks
"""
FRESH = """
rm -rf /opt/slurmhooks /usr/local/bin/slurmhooks
mkdir slurmhooks wheels
tar -C slurmhooks -xf tree.tar
tar -C wheels -xf wheels.tar
printf '[global]\\nno-index = true\\nfind-links = %s\\n' ~/wheels > /etc/pip.conf
"""


@pytest.mark.one_release("24.11")
def test_the_first_hook(cluster: "Cluster") -> None:
    """Each command after the installation prints what the page shows; nothing of slurmhooks is switched on before."""
    cluster.root("sh", "-ec", AS_BEFORE, check=True)
    cluster.restart()
    play(cluster, "".join(text for heading, text in PARTS.items() if heading != "Install"))


def unpack(fresh: "Cluster", tmp_path: Path) -> None:
    """Put a checkout and the packages of an index on a machine that has only Slurm and a compiler."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, check=True).stdout
    pack = ["tar", "--null", "--owner=0", "--group=0", "-T", "-", "-cf"]
    subprocess.run([*pack, tmp_path / "tree.tar"], cwd=PROJECT, input=listed, check=True)
    subprocess.run([*pack, tmp_path / "wheels.tar"], cwd=CACHE / "wheels" / fresh.release, input=b".", check=True)
    for name in ("tree.tar", "wheels.tar"):
        fresh.put(tmp_path / name, f"/root/{name}")
    fresh.root("sh", "-ec", FRESH, check=True)


@pytest.mark.moved
@pytest.mark.parametrize("release", ["24.11", pytest.param("26.05", marks=pytest.mark.soak)])
def test_installing(release: str, cluster_factory: "Callable[[str, str], Cluster]", tmp_path: Path) -> None:
    """Each command of the installation prints what the page shows, on a machine that has only Slurm and a compiler."""
    fresh = cluster_factory(release, "tutorial")
    unpack(fresh, tmp_path)
    play(fresh, PARTS["Install"])


SOAK = pytest.mark.soak


@pytest.mark.parametrize("release", ["22.05", pytest.param("24.11", marks=SOAK), pytest.param("26.05", marks=SOAK)])
def test_the_readme(release: str, cluster_factory: "Callable[[str, str], Cluster]", tmp_path: Path) -> None:
    """From the wheel to a refused job on a machine without network: the README's commands, and what it shows."""
    fresh = cluster_factory(release, "readme")
    unpack(fresh, tmp_path)
    section = README.partition("## Install\n")[2].partition("\n## ")[0]
    before, after = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    (wheel,) = re.findall(r"`(try/bin/pip wheel .*?)`", section)
    (offline,) = re.findall(r"^cluster# (.*)$", section, re.MULTILINE)
    fresh.root("sh", "-ec", f"cd ~/slurmhooks; python3 -m venv try\n{wheel}\nmv *.whl ../wheels", check=True)
    fresh.root("rm", "-r", "/root/slurmhooks", "/etc/pip.conf", check=True)
    before, replaced = re.subn(r"^.*/pip install .*$", lambda _: offline, before, flags=re.MULTILINE)
    assert replaced == 1
    installed = fresh.root("sh", "-ec", f"cd\n{before}", check=True, timeout=600).stdout
    path = ""
    for line in installed.splitlines():
        if needs := re.fullmatch(r"  (/\S+) needs \(.*\):", line):
            path = needs[1]
        elif path and line.startswith("      "):
            fresh.root("sh", "-ec", f"tee -a {path}", input=f"{line.strip()}\n", check=True)
    steps, restart, _ = after.partition("systemctl restart slurmctld slurmd")
    assert restart
    fresh.put((PROJECT / "contrib" / "examples" / "hello.py").read_text(), "/root/hello.py")
    fresh.root("sh", "-ec", f"cd\n{steps}", check=True, timeout=600)
    fresh.restart()
    play(fresh, README.partition("This is what users see:\n")[2].partition("\n## ")[0])
