# SPDX-License-Identifier: GPL-2.0-or-later
"""Statistics: scrun itself loses containers, and loses no more of them with slurmhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.containers import User, install
from tests.cluster.scrun_lab import alice, lab

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cluster.conftest import Cluster

COUNT = 100
BATCH = 20
"""Both kinds take turns, because the load of the machine varies."""
MARGIN = 10
"""Containers that may be lost beyond twice the number of scrun alone: a tenth of all."""
OURS = "/etc/slurm/scrun.lua"
PLUGSTACK = "/etc/slurm/plugstack.conf"
EMPTY = """
function slurm_scrun_stage_in() return slurm.SUCCESS end
function slurm_scrun_stage_out() return slurm.SUCCESS end
return slurm.SUCCESS
"""
HOOKS = """
@hook.scrun.stage_in
def stage_in(container):
    pass
@hook.scrun.stage_out
def stage_out(container):
    trace(container, "out")
"""
__all__ = ["alice", "lab"]  # fixtures


def losses(user: User, count: int) -> int:
    """Create containers one after the other; return how many scrun has lost. All others must have ended regularly."""
    user.bundle("/bin/true")
    for number in range(count):
        name = f"box{number}"
        user.sh(user.create_command(name), check=False)
        user.cluster.wait(lambda: not user.sh(f"ls -A {user.root}"), what=f"end of {name}")
        ended = "released successfully" in user.sh(f"cat ~/{name}.log")
        assert ended or name in user.lost(), user.sh(f"cat ~/{name}.out ~/{name}.log")
    lost = len(user.lost())
    user.clean()
    return lost


def put(cluster: Cluster, files: dict[str, str]) -> None:
    """Write files into the cluster."""
    for path, text in files.items():
        cluster.put(text, path)


@pytest.mark.soak
def test_losses(alice: User, record_property: Callable[[str, object], None]) -> None:
    """scrun loses containers with an empty scrun.lua and without slurmhooks, and not many more with slurmhooks."""
    cluster = alice.cluster
    install(cluster, HOOKS)
    files = {OURS: cluster.root("cat", OURS, check=True).stdout, PLUGSTACK: "required spank_python.so\n"}
    alone = ours = 0
    try:
        for _ in range(COUNT // BATCH):
            put(cluster, {OURS: EMPTY, PLUGSTACK: ""})
            alone += losses(alice, BATCH)
            put(cluster, files)
            ours += losses(alice, BATCH)
    finally:
        put(cluster, files | {PLUGSTACK: ""})
    record_property("lost by scrun alone", alone)
    record_property("lost with us", ours)
    assert ours <= 2 * alone + MARGIN, f"of {COUNT} each scrun alone lost {alone}, with us {ours}"
