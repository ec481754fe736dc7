# SPDX-License-Identifier: GPL-2.0-or-later
"""What an update can make of a job; tests/cluster/test_bounds.py compares it with real slurmctlds."""

from pathlib import Path
from typing import Any

import pytest

from slurmhooks.fields.constants import JobFlag
from slurmhooks.job_submit.bounds import asked
from slurmhooks.testing import FakeJob, FakeRecord
from slurmhooks.values import UNLIMITED
from tests.unit.job_submit.bounded import ran


@pytest.mark.parametrize(
    ("change", "record", "expression", "expected"),
    [
        ({"min_nodes": 4, "max_nodes": 4},
         {"min_nodes": 1, "max_nodes": 1, "num_tasks": 2, "ntasks_per_node": 2, "tres_per_task": "gres/gpu:1"},
         "job.bounds.gpus", "2 to 8"),
        ({"tres_per_socket": "gres/gpu:2"}, {"min_nodes": 1}, "job.bounds.gpus", "2 to 4"),
        ({"min_cpus": 32}, {"min_nodes": 1, "min_cpus": 1}, "job.bounds.nodes", "1 to 4"),
        ({"min_nodes": UNLIMITED}, {"min_nodes": 2, "max_nodes": 2}, "job.bounds.nodes", "2 to 4"),
        ({"min_cpus": 1}, {"num_tasks": 4, "min_cpus": 4}, "job.bounds.cpus", "1 to 4"),
        ({"time_limit": UNLIMITED}, {"time_limit": 5}, "job.bounds.time", "at least 525600"),
        ({"num_tasks": 2}, {"whole_node": 1}, "job.bounds.gpus", "0 to 8"),
        ({"pn_min_cpus": 3}, {"num_tasks": 10, "min_cpus": 10}, "job.bounds.cpus.least", "1"),
        ({"features": "a*3"}, {"min_nodes": 1}, "job.bounds.nodes", "1 to 3"),
        ({"cpus_per_task": 2, "tres_per_job": "gres/gpu:1"}, {"cpus_per_task": 3, "min_cpus": 3, "pn_min_cpus": 3},
         "job.bounds.cpus.least", "1"),
        ({"cpus_per_task": 3}, {"min_nodes": 2, "max_nodes": 2, "min_cpus": 2}, "job.bounds.cpus.least", "1"),
        ({"num_tasks": 9, "min_cpus": 9}, {"num_tasks": 1, "min_cpus": 1, "max_nodes": 1},
         "job.bounds.nodes.most", "2"),
        ({"num_tasks": 9, "min_cpus": 9},
         {"num_tasks": 1, "min_cpus": 1, "max_nodes": 1, "bitflags": JobFlag.JOB_IMPLICIT_MAX_NODES},
         "job.bounds.nodes.most", "4"),
        ({"num_tasks": 2}, {"partition": "smt", "min_cpus": 2}, "job.bounds.cpus.most", "2"),
        ({"num_tasks": 2}, {"partition": "smt", "min_cpus": 2, "threads_per_core": 1}, "job.bounds.cpus.most", "4"),
        ({"tres_per_socket": "gres/gpu:1"}, {"min_nodes": 1, "sockets_per_node": 1}, "job.bounds.gpus", "1 to 2"),
        ({"licenses": "a"}, {"partition": "smt", "num_tasks": 2, "min_cpus": 2}, "job.bounds.cpus.most", "2"),
        ({"partition": "whole"}, {"partition": "debug", "num_tasks": 1}, "job.bounds.gpus.most", "4"),
        ({"tres_per_task": "gres/gpu:1"}, {"cpus_per_tres": "gres/gpu:2"}, "job.bounds.cpus.most", "8"),
        ({"tres_per_task": "gres/gpu:1"}, {"cpus_per_tres": "gres/gpu:2"}, "job.bounds.gpus", "1 to 4"),
        ({"tres_per_task": "gres/gpu:1"}, {}, "job.bounds.cpus.most", "1"),
        *(({"tres_per_task": f"gres/gpu:{each}", **change}, record, "job.bounds.gpus.most", most)
          for each, change, record, most in (
              (1, {}, {"max_nodes": 1}, "1"),
              (1, {}, {"max_nodes": 1, "pn_min_cpus": 3}, "3"),
              (2, {}, {"max_nodes": 1, "pn_min_cpus": 2}, "4"),
              (1, {}, {"max_nodes": 1, "pn_min_cpus": 4, "cpus_per_task": 2}, "2"),
              (1, {}, {"max_nodes": 1, "pn_min_cpus": 3, "overcommit": 1}, "3"),
              (1, {"pn_min_cpus": 3}, {"max_nodes": 1}, "3"),
              (1, {"min_cpus": 4}, {"max_nodes": 1}, "4"),
              (1, {"min_cpus": 6}, {"min_nodes": 2, "max_nodes": 2}, "6"),
              (1, {"tres_per_job": "gres/gpu:1", "min_cpus": 3}, {"max_nodes": 1}, "3"),
              (1, {}, {"pn_min_cpus": 3, "features": "a*2", "min_nodes": 2, "max_nodes": 2}, "6"),
              (1, {}, {"max_nodes": 1, "pn_min_cpus": 3, "partition": "smt"}, "4"),
              (1, {}, {"max_nodes": 1, "pn_min_cpus": 3, "num_tasks": 1}, "1"))),
        ({"tres_per_job": "gres/gpu:3"}, {"tres_per_socket": "gres/gpu:1"}, "job.bounds.gpus.least", "1"),
        ({"tres_per_node": ""}, {"tres_per_node": "gres/gpu:2"}, "job.bounds.gpus", "0 to 2"),
        ({"tres_per_node": ""}, {"tres_per_node": "gres/gpu:2", "cpus_per_tres": "gres/gpu:2", "max_nodes": 1},
         "job.bounds.cpus", "1 to 4"),
        ({"tres_per_job": "", "tres_per_node": "gres/gpu:1"}, {"tres_per_job": "gres/gpu:2"}, "job.bounds.gpus", "1"),
        ({"tres_per_task": "gres/gpu:1", "num_tasks": 1}, {"cpus_per_tres": "gres/gpu:2"}, "job.bounds.gpus", "1"),
    ],
)  # fmt: skip
def test_updates(
    tmp_path: Path, change: dict[str, Any], record: dict[str, Any], expression: str, expected: str
) -> None:
    """An update counts together with the job that it changes."""
    assert ran(tmp_path, expression, job=FakeJob(**change), record=FakeRecord(**record)).text == expected


IGNORED: list[dict[str, Any]] = [
    *({"overcommit": value} for value in (0, 1)),
    *({"ntasks_per_core": value} for value in (1, 2, UNLIMITED)),
    *({"segment_size": value} for value in (0, 1)),
    *({"bitflags": flag} for flag in JobFlag),
]
"""Members that slurmctld ignores in an update; a program can send them."""


@pytest.mark.parametrize("ignored", IGNORED, ids=str)
def test_what_updates_cannot_change(ignored: dict[str, Any]) -> None:
    """Members that slurmctld ignores in an update do not change what the job can become."""
    for fields in ({"num_tasks": 8, "min_cpus": 8}, {"tres_per_job": "gres/gpu:3"}, {"partition": "smt"}):
        record = FakeRecord(num_tasks=1, min_cpus=1, ntasks_per_core=1, bitflags=JobFlag.GRES_ENFORCE_BIND)
        plain, other = (FakeJob(**fields, **more) for more in ({}, ignored))
        assert asked.read(plain, record) == asked.read(other, record)


@pytest.mark.parametrize(
    ("change", "record", "expression", "expected"),
    [
        ({"num_tasks": 4, "tres_per_task": "gres/gpu:1"}, {"num_tasks": 1}, "job.bounds.gpus", "1 to 4"),
        ({"num_tasks": 2}, {"whole_node": 3}, "job.bounds.whole_nodes", "False"),
        ({"num_tasks": 2}, {"whole_node": 1}, "job.bounds.whole_nodes", "True"),
        ({"ntasks_per_tres": 2}, {"partition": "wide", "tres_per_job": "gres/gpu:4"}, "job.bounds.gpus_per_node.most",
         "4"),
    ],
)  # fmt: skip
def test_updates_of_old_releases(
    tmp_path: Path, change: dict[str, Any], record: dict[str, Any], expression: str, expected: str
) -> None:
    """In 22.05 an update of tasks may leave the GPUs, whole_node has no bits, and one node may give all GPUs."""
    job, before = FakeJob(release="22.05", **change), FakeRecord(release="22.05", **record)
    assert ran(tmp_path, expression, release="22.05", job=job, record=before).text == expected


@pytest.mark.parametrize(
    ("change", "record", "counted", "expected"),
    [
        ({"partition": "gpu"}, {}, "", "1"),
        ({"num_tasks": 4}, {}, "", "1"),
        ({"tres_per_node": "gres/tape:1"}, {}, "", "0"),
        ({"partition": "gpu"}, {"tres_per_node": "gres/tape:1"}, "", "0"),
        ({"partition": "gpu"}, {"mem_per_tres": "gres/gpu:100"}, "", "0"),
        ({"cpus_per_tres": "gres/gpu:2"}, {}, "", "0"),
        ({"partition": "gpu"}, {"tres_per_task": "cpu=2"}, "", "1"),
        ({"partition": "gpu"}, {"tres_fmt_req_str": "cpu=2"}, "AccountingStorageTRES=gres/gpu,billing\n", "0"),
        ({"partition": "gpu"}, {"tres_fmt_req_str": "cpu=2,gres/gpu=2"}, "AccountingStorageTRES=gres/gpu\n", "1"),
    ],
)
def test_gpus_of_tasks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
    record: dict[str, Any],
    counted: str,
    expected: str,
) -> None:
    """GPUs that slurmctld has computed from tasks stay, unless an update of GRES may have made it forget them."""
    (tmp_path / "slurm.conf").write_text(f"ClusterName=c\n{counted}")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    job, before = FakeJob(**change), FakeRecord(num_tasks=2, ntasks_per_tres=1, **record)
    assert ran(tmp_path, "job.bounds.gpus.least", job=job, record=before).text == expected
