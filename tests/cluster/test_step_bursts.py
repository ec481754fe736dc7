# SPDX-License-Identifier: GPL-2.0-or-later
"""A slurmd that has Python, because there is no manifest, starts many steps in bursts."""

import json
from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

STEPS = 1000
AT_ONCE = 25
KIB = 4096
"""How much more memory slurmd may take with Python: what its threads allocate from an arena of their own varies."""
HOOKS = """
from slurmhooks import hook, log

@hook.spank.init(contexts="slurmd")
def in_slurmd(spank):
    log.info("Python in slurmd")

@hook.spank.task_init
def task(spank):
    pass
"""


def burst(lent: Site, count: int, at_once: int) -> int:
    """Run steps of one job, this many at the same time; return how many have succeeded."""
    step = "timeout -s KILL 120 srun --overlap -Q -n1 echo ran"
    rounds = f"for i in $(seq {count // at_once}); do for j in $(seq {at_once}); do {step} & done; wait; done"
    done = lent.cluster.user("alice", "salloc", "-Q", "-n8", "sh", "-c", rounds, timeout=3000)
    return done.stdout.split().count("ran")


def size_of_slurmd(lent: Site) -> dict[str, int]:
    """Return the numbers of threads and descriptors, and the resident memory in KiB, of the first slurmd."""
    script = (
        "slurmd=$(pgrep -x -o slurmd || pgrep -o slurmd-wlm); cd /proc/$slurmd;"
        " awk '/^(Threads|VmRSS)/ {print $1, $2}' status | tr -d ':'; echo descriptors $(ls fd | wc -l)"
    )
    return {name: int(value) for name, value in (line.split() for line in lent.root(script).splitlines())}


def growth(lent: Site, count: int, at_once: int) -> dict[str, int]:
    """Return how much slurmd grows while it starts this many steps, measured after a first burst."""
    assert burst(lent, at_once, at_once) == at_once
    lent.wait_until_idle()
    before = size_of_slurmd(lent)
    assert burst(lent, count, at_once) == count
    lent.wait_until_idle()
    after = size_of_slurmd(lent)
    return {name: after[name] - before[name] for name in before}


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """The cluster, whose slurmd is restarted by the test."""
    return site(cluster)


@pytest.mark.soak
def test_steps_in_bursts(lent: Site) -> None:
    """All of 1,000 steps run, and slurmd grows no more than without slurmhooks: threads, descriptors, memory."""
    grown = {}
    for name, line in (("without", ""), ("with", "required spank_python.so hooks.d/bursts.py")):
        lent.hooks(**({"bursts": HOOKS} if line else {}))
        lent.plugstack(line)
        lent.without_manifest()  # then slurmd has Python, too
        lent.cluster.restart()
        assert ("libpython" in lent.root("cat /proc/$(pgrep -o slurmd)/maps")) == (name == "with")
        grown[name] = growth(lent, STEPS, AT_ONCE)
    print(f"\nSlurm {lent.cluster.release}: slurmd has grown in {STEPS} steps: {json.dumps(grown)}")  # noqa: T201 - make soak
    for fact, limit in (("Threads", 0), ("descriptors", 0), ("VmRSS", KIB)):
        assert grown["with"][fact] <= max(0, grown["without"][fact]) + limit, grown
