# SPDX-License-Identifier: GPL-2.0-or-later
"""The tutorial about a new rule, on real clusters: record, replay, observe, warn, enforce, why, metrics."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.tutorial import play

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

PAGE = Path(__file__).parents[2] / "docs" / "new-rule.md"
LEFT = """
cd /etc/slurm; rm -rf hooks.d/* slurmhooks.set slurmhooks.d
rm -rf /root/next /var/lib/node-exporter /var/log/slurm/*.recording /var/log/slurm/slurmhooks
"""


@pytest.mark.one_release("24.11")
def test_the_tutorial(cluster: "Cluster") -> None:
    """Each command prints what the page shows, on a cluster where nothing was deployed before."""
    cluster.root("sh", "-ec", LEFT, check=True)
    play(cluster, PAGE.read_text())
