# SPDX-License-Identifier: GPL-2.0-or-later
"""The tutorial of the first hook, on real clusters: from a Slurm without slurmhooks to a rule that is switched off."""

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.tutorial import parts, play

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cluster.conftest import Cluster

PROJECT = Path(__file__).parents[2]
PARTS = parts((PROJECT / "docs" / "tutorial.md").read_text())
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "slurmhooks")
AS_BEFORE = """
cd /etc/slurm
echo '# Nothing is switched on.' | tee local.conf > plugstack.conf
rm -rf slurmhooks.toml slurmhooks.manifest hooks.d /var/log/slurm/slurmhooks
"""
FRESH = """
rm -rf /opt/slurmhooks /usr/local/bin/slurmhooks
mkdir slurmhooks wheels
tar -C slurmhooks -xf tree.tar
tar -C wheels -xf wheels.tar
printf '[global]\\nno-index = true\\nfind-links = %s\\n' ~/wheels > /etc/pip.conf
"""


@pytest.mark.one_release
def test_the_first_hook(cluster: "Cluster") -> None:
    """Each command after the installation prints what the page shows; nothing of slurmhooks is switched on before."""
    cluster.root("sh", "-ec", AS_BEFORE, check=True)
    cluster.restart()
    play(cluster, "".join(text for heading, text in PARTS.items() if heading != "Install"))


@pytest.mark.parametrize("release", ["24.11", pytest.param("26.05", marks=pytest.mark.soak)])
def test_installing(release: str, cluster_factory: "Callable[[str, str], Cluster]", tmp_path: Path) -> None:
    """Each command of the installation prints what the page shows, on a machine that has only Slurm and a compiler."""
    fresh = cluster_factory(release, "tutorial")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, check=True).stdout
    pack = ["tar", "--null", "--owner=0", "--group=0", "-T", "-", "-cf"]
    subprocess.run([*pack, tmp_path / "tree.tar"], cwd=PROJECT, input=listed, check=True)
    subprocess.run([*pack, tmp_path / "wheels.tar"], cwd=CACHE / "wheels" / release, input=b".", check=True)
    for name in ("tree.tar", "wheels.tar"):
        fresh.put(tmp_path / name, f"/root/{name}")
    fresh.root("sh", "-ec", FRESH, check=True)
    play(fresh, PARTS["Install"])
