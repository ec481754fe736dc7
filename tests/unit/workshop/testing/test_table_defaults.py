# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of tables in the testing kit have what slurmctld sets where a test, like slurm.conf, says nothing."""

from pathlib import Path
from typing import Any

import pytest

from slurmhooks.fields import LISTS
from slurmhooks.fields.constants import NodeState, PartitionState
from slurmhooks.testing import FakeJob, fake_licenses, fake_nodes, run
from slurmhooks.values import UNLIMITED
from slurmhooks.workshop.testing.job_tables import MAKERS
from slurmhooks.workshop.testing.table_defaults import SET

HANDLER = """
from slurmhooks import Reject, hook
from slurmhooks.job_submit.constants import PartitionState

@hook.job_submit
def limits(job, partitions, qos, associations):
    partition = partitions["debug"]
    if partition.state_up != PartitionState.PARTITION_UP:
        raise Reject("closed")
    if job.bounds.whole_nodes:
        raise Reject("exclusive")
    for most in (partition.max_time, qos["normal"].max_wall_pj, *(row.max_wall_pj for row in associations.values())):
        if job.time_limit > most:
            raise Reject(f"at most {most}")
    if job.min_nodes > partition.max_nodes:
        raise Reject("too many nodes")
"""


def tables(**partition: Any) -> dict[str, Any]:
    """Return tables with little in them."""
    return {
        "partitions": {"debug": {"flag_default": True, **partition}},
        "qos": {"normal": {}},
        "associations": [{"user": "alice"}],
    }


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_a_row_limits_nothing_by_itself(release: str, tmp_path: Path) -> None:
    """A partition accepts jobs, its nodes may be shared, and no limit exists, unless the test gives one."""
    path = tmp_path / "h.py"
    path.write_text(HANDLER)
    job: dict[str, Any] = {"release": release, "time_limit": 60, "min_nodes": 2}
    result = run(path, "job_submit", job=FakeJob(**job), **tables())
    assert result.accepted, result
    cases: list[tuple[dict[str, Any], str]] = [
        ({"max_time": 30}, "at most 30"),
        ({"max_nodes": 1}, "too many nodes"),
        ({"max_share": 0}, "exclusive"),
        ({"state_up": PartitionState.PARTITION_DRAIN}, "closed"),
    ]
    for given, text in cases:
        assert run(path, "job_submit", job=FakeJob(**job), **tables(**given)).text == text


def test_limits_are_unlimited() -> None:
    """No limit of a row is unset, except those of TRES, which are texts."""
    for argument, maker in MAKERS.items():
        if LISTS[argument] in SET:
            row = next(iter(maker([{}] if argument == "associations" else {"a": {}}).values()))
            limits = {name: value for name, value in row if name.startswith(("max_", "grp_"))}
            numbers = {name: value for name, value in limits.items() if "tres" not in name and "_mem_" not in name}
            assert None not in numbers.values(), (argument, numbers)


def test_numbers_follow_from_others() -> None:
    """What slurmctld computes from the configuration of a node or license follows in the kit, unless it is given."""
    node = fake_nodes({"n1": {"cpus": 64, "cores": 16, "threads": 2, "features": "a,b"}})["n1"]
    assert (node.cpus_efctv, node.tot_cores, node.tot_sockets, node.features_act) == (64, 32, 2, "a,b")
    assert node.state == NodeState.NODE_STATE_IDLE
    assert fake_nodes({"n1": {"cpus": 64, "cpus_efctv": 60}})["n1"].cpus_efctv == 60
    licenses = fake_licenses({"matlab": {"total": 10, "used": 3}, "ansys": {"total": 4, "available": 1}})
    assert (licenses["matlab"].available, licenses["ansys"].available) == (7, 1)
    assert MAKERS["partitions"]({"p": {}})["p"].max_time is UNLIMITED
