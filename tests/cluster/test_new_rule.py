# SPDX-License-Identifier: GPL-2.0-or-later
"""The tutorial about a new rule, on real clusters: record, replay, observe, warn, enforce, why, metrics."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.tutorial import Command, File, plain, steps

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

PAGE = Path(__file__).parents[2] / "docs" / "new-rule.md"
FOLLOWS = ("slurmhooks why", "grep")
"""Commands that show what happens after the answer."""


@pytest.fixture
def untouched(cluster: "Cluster") -> Iterator["Cluster"]:
    """A cluster without hook files, whose configuration is put back."""
    before = cluster.root("cat", "/etc/slurm/slurmhooks.toml", check=True).stdout
    cluster.root("sh", "-ec", "rm -rf /etc/slurm/hooks.d/* /etc/slurm/slurmhooks.manifest /var/log/slurm/slurmhooks")
    yield cluster
    cluster.root(
        "sh", "-ec", "rm -rf /etc/slurm/hooks.d/* /root/next /var/lib/node-exporter /var/log/slurm/*.recording"
    )
    cluster.put(before, "/etc/slurm/slurmhooks.toml")
    cluster.root("slurmhooks", "reload", check=True)


def test_the_tutorial(untouched: "Cluster") -> None:
    """Each command prints what the page shows."""
    for step in steps(PAGE.read_text()):
        if isinstance(step, File):
            untouched.put(step.text, step.path)
            continue
        expected = plain("\n".join(step.output))
        said = run(untouched, step)
        if step.text.startswith(FOLLOWS):
            untouched.wait(lambda: plain(run(untouched, step)) == expected or None, 20, what=f"{step.text}: {expected}")  # noqa: B023
        else:
            assert plain(said) == expected, step.text


def run(cluster: "Cluster", step: Command) -> str:
    """Return the output of a command."""
    words = ("sh", "-c", f"exec 2>&1; {step.text}")
    return (cluster.root(*words) if step.user == "root" else cluster.user(step.user, *words)).stdout
