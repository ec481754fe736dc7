# SPDX-License-Identifier: GPL-2.0-or-later
"""Which plugins Slurm loads that were built for another release of the same major one, as docs/upgrade.md says."""

import re
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import Cluster

FOLDER = "/usr/local/lib/slurm"
OTHER = """
import pathlib, struct, sys
major, minor, micro = map(int, sys.argv[2].split("."))
number = major << 16 | minor << 8 | micro
path = pathlib.Path(sys.argv[1])
data = path.read_bytes()
assert struct.pack("=I", number) in data
path.rename(f"{path}.right")
path.write_bytes(data.replace(struct.pack("=I", number), struct.pack("=I", number + 1)))
"""
"""Make a plugin one that was built for the next release: its last number is one more."""


@pytest.fixture
def site(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster whose plugins are put back afterwards."""
    before = cluster.root("cat", "/etc/slurm/local.conf", check=True).stdout
    yield cluster
    cluster.root("sh", "-ec", f"cd {FOLDER}; for file in *.right; do mv $file ${{file%.right}}; done", check=True)
    cluster.put(before, "/etc/slurm/local.conf")


def make_other(site: Cluster, plugin: str) -> None:
    """Have a plugin say that it was built for the next release."""
    version = site.root("sbatch", "--version", check=True).stdout
    number = re.search(r"\d+\.\d+\.\d+", version)
    assert number, version
    site.root("python3", "-c", OTHER, f"{FOLDER}/{plugin}", number[0], check=True)


def test_spank_may_be_of_the_same_major_release(site: Cluster) -> None:
    """Commands load a SPANK plugin whose last number differs."""
    make_other(site, "spank_python.so")
    done = site.root("srun", "--account=physics", "true")
    assert done.returncode == 0, done.stderr


def test_cli_filter_has_to_be_of_this_release(site: Cluster) -> None:
    """Commands do not start with a cli_filter plugin whose last number differs."""
    site.root("sh", "-c", "echo CliFilterPlugins=python >> /etc/slurm/local.conf", check=True)
    assert "fatal" not in site.root("sbatch", "--wrap=true").stderr
    make_other(site, "cli_filter_python.so")
    for command in (["sbatch", "--wrap=true"], ["srun", "true"], ["salloc", "true"]):
        done = site.root(*command)
        assert done.returncode != 0
        assert "cli_filter" in done.stderr, done.stderr


def test_prep_has_to_be_of_this_release(site: Cluster) -> None:
    """Slurmd does not start with a prep plugin whose last number differs."""
    site.root("sh", "-c", "echo PrEpPlugins=prep/script,prep/python >> /etc/slurm/local.conf", check=True)
    make_other(site, "prep_python.so")
    done = site.root("timeout", "20", "slurmd", "-D", "-N", "n1")
    assert done.returncode == 1
    assert "prep plugin" in done.stdout + done.stderr
