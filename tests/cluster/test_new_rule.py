# SPDX-License-Identifier: GPL-2.0-or-later
"""The tutorial about a new rule, on real clusters: record, replay, observe, warn, enforce, why, metrics."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.tutorial import play

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

PAGE = Path(__file__).parents[2] / "docs" / "new-rule.md"


@pytest.fixture
def untouched(cluster: "Cluster") -> Iterator["Cluster"]:
    """A cluster without hook files; its configuration is restored afterwards."""
    before = cluster.root("cat", "/etc/slurm/slurmhooks.toml", check=True).stdout
    cluster.root("sh", "-ec", "rm -rf /etc/slurm/hooks.d/* /etc/slurm/slurmhooks.manifest /var/log/slurm/slurmhooks")
    yield cluster
    cluster.root(
        "sh", "-ec", "rm -rf /etc/slurm/hooks.d/* /root/next /var/lib/node-exporter /var/log/slurm/*.recording"
    )
    cluster.put(before, "/etc/slurm/slurmhooks.toml")
    cluster.root("slurmhooks", "reload", check=True)


@pytest.mark.one_release
def test_the_tutorial(untouched: "Cluster") -> None:
    """Each command prints what the page shows."""
    play(untouched, PAGE.read_text())
