# SPDX-License-Identifier: GPL-2.0-or-later
"""What a request can become; tests/cluster/test_bounds.py compares it with what real slurmctlds allocate."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.fields.constants import JobFlag, PartitionState, QosFlag, Shared
from slurmhooks.job_submit.bounds import Range, asked
from slurmhooks.testing import FakeJob, FakeRecord
from slurmhooks.values import UNLIMITED
from tests.unit.job_submit.bounded import NODES, PARTITIONS, ran


def unknown(**fields: Any) -> Any:
    """Return the bounds of a request of which only the fields are known."""
    return FakeJob(**fields).bounds


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {"nodes": Range(1, 1), "tasks": Range(1, 1), "cpus": Range(1, 1), "gpus": Range(0, 0)}),
        ({"num_tasks": 4, "min_cpus": 4}, {"nodes": Range(1, 4), "tasks": Range(4, 4), "cpus": Range(4, 4)}),
        ({"cpus_per_task": 4, "min_cpus": 4, "min_mem_per_node": 9}, {"nodes": Range(1, 1), "cpus": Range(4, 4)}),
        ({"min_nodes": 2, "max_nodes": 2, "num_tasks": 8, "tres_per_node": "gres/gpu:1"}, {"gpus": Range(2, 2)}),
        ({"num_tasks": 8, "ntasks_per_tres": 1}, {"gpus": Range(1, 8)}),
        ({"num_tasks": 1, "ntasks_per_tres": 1, "features": "[a*1&b*1]"}, {"gpus": Range(1, 2)}),
        ({"tres_per_job": "gres/gpu:1", "ntasks_per_tres": 8}, {"tasks": Range(8, 8)}),
        ({"req_nodes": "n[1-2]", "ntasks_per_tres": 2}, {"tasks": Range(2, 4), "gpus": Range(1, 2)}),
        ({"tres_per_node": "gres/gpu:1", "ntasks_per_tres": 2, "features": "[a*1&b*1]"}, {"cpus": Range(1, 4)}),
        ({"shared": Shared.JOB_SHARED_NONE}, {"gpus": Range(0, UNLIMITED), "cpus": Range(1, UNLIMITED)}),
        ({"tres_per_node": "gres/gpu:100,gres/gpu:1"}, {"gpus": Range(1, 101)}),
        ({"tres_per_node": "gres/gpu:1", "min_nodes": 1, "max_nodes": 4}, {"gpus": Range(1, 4)}),
        ({"max_nodes": UNLIMITED}, {"nodes": Range(1, UNLIMITED)}),
        ({"req_nodes": "n[1-4]", "tres_per_node": "gres/gpu:2"}, {"nodes": Range(1, 4), "gpus": Range(2, 8)}),
        ({"tres_per_job": "gres/gpu:32"}, {"nodes": Range(1, 32)}),
        ({"num_tasks": 4, "bitflags": JobFlag.SPREAD_JOB, "overcommit": 1}, {"nodes": Range(1, UNLIMITED)}),
        ({"overcommit": 1, "min_cpus": 6}, {"cpus": Range(1, 6)}),
        ({"overcommit": 1, "num_tasks": 4, "cpus_per_task": 2, "max_nodes": 1}, {"cpus": Range(2, 2)}),
        ({"overcommit": 1, "cores_per_socket": 2, "sockets_per_node": 2}, {"nodes": Range(1, 4), "cpus": Range(1, 4)}),
        ({"cores_per_socket": 2, "sockets_per_node": 2}, {"nodes": Range(1, 1), "cpus": Range(1, 1)}),
        ({"overcommit": 1, "num_tasks": 4, "cpus_per_task": 2, "segment_size": 1}, {"cpus": Range(2, 8)}),
        ({"num_tasks": 10, "min_cpus": 6, "req_nodes": "n1"}, {"cpus": Range(6, 10)}),
        ({"num_tasks": 4, "ntasks_per_tres": 1, "cpus_per_tres": "gres/gpu:2"}, {"cpus": Range(1, 12)}),
        ({"tres_per_task": "license/a:2", "num_tasks": 4}, {"licenses": {"a": Range(8, 8)}}),
        ({"time_limit": 5, "time_min": 2}, {"time": Range(2, 5)}),
        ({"time_limit": 0}, {"time": Range(0, 0)}),
        ({"time_limit": UNLIMITED}, {"time": Range(525600, UNLIMITED)}),
        ({"time_limit": 5, "deadline": 4000000000}, {"time": Range(0, 5)}),
        ({"time_limit": 5, "time_min": 2, "deadline": 4000000000}, {"time": Range(2, 5)}),
        ({"tres_per_job": "gres/gpu:1", "bitflags": JobFlag.GRES_ENFORCE_BIND}, {"cpus": Range(1, UNLIMITED)}),
        ({"tres_per_job": "gres/gpu:1", "bitflags": JobFlag.GRES_DISABLE_BIND}, {"cpus": Range(1, 1)}),
        ({"num_tasks": 4, "min_cpus": 4, "bitflags": JobFlag.GRES_ENFORCE_BIND}, {"cpus": Range(4, 4)}),
        ({"min_mem_per_cpu": 400, "num_tasks": 10, "min_cpus": 10}, {"memory_per_node": Range(400, 4000)}),
        ({"min_mem_per_node": 0}, {"memory_per_node": Range(0, UNLIMITED)}),
        ({"features": "a*2"}, {"nodes": Range(1, 2), "tasks": Range(1, 2)}),
        ({"features": "[a*2&b*3]", "num_tasks": 1}, {"nodes": Range(1, 5), "tasks": Range(1, 1)}),
        ({"features": "a*2", "max_nodes": 1}, {"nodes": Range(1, 1)}),
        ({"features": "a&b"}, {"nodes": Range(1, 1)}),
        ({"features": "a", "prefer": "b*2"}, {"nodes": Range(1, 2)}),
        ({"num_tasks": 4, "ntasks_per_node": 4, "bitflags": JobFlag.SPREAD_JOB}, {"nodes": Range(1, UNLIMITED)}),
        ({"pn_min_cpus": 3, "min_nodes": 2}, {"cpus": Range(6, 6), "cpus_per_node": Range(3, 5)}),
        ({"min_cpus": 9, "cpus_per_task": 2, "max_nodes": 3}, {"cpus": Range(6, 9)}),
        ({"min_cpus": 8, "cpus_per_task": 2, "max_nodes": 3}, {"cpus": Range(8, 8)}),
        ({"min_cpus": 9, "num_tasks": 1}, {"nodes": Range(1, 9), "tasks": Range(1, 1)}),
        ({"pn_min_cpus": 3, "num_tasks": 1, "min_cpus": 1}, {"cpus": Range(1, 3)}),
        ({"pn_min_cpus": 3, "cpus_per_task": 2, "min_cpus": 2}, {"cpus": Range(2, 3)}),
    ],
)
def test_what_the_request_says(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    """The bounds follow the notations and couplings of the fields; what the cluster has sets no limit here."""
    bounds = unknown(**fields)
    assert {name: getattr(bounds, name) for name in expected} == expected


@given(st.integers(1, 4), *(st.integers(1, 4) | st.none() for _ in range(3)), st.integers(1, 9) | st.none())
def test_overcommit(nodes: int, sockets: int | None, cores: int | None, threads: int | None, tasks: int | None) -> None:
    """A job that overcommits may get the CPUs that it asks for as cores, sockets and threads of each node."""
    shape = {"sockets_per_node": sockets, "cores_per_socket": cores, "threads_per_core": threads}
    bounds = unknown(overcommit=1, min_nodes=nodes, max_nodes=nodes, min_cpus=nodes, num_tasks=tasks, **shape)
    assert bounds.cpus.limit >= nodes * (sockets or 1) * (cores or 1) * (threads or 1)


@pytest.mark.parametrize(
    ("fields", "expression", "expected"),
    [
        ({"shared": Shared.JOB_SHARED_NONE}, "job.bounds.gpus", "0 to 4"),
        ({"partition": "whole"}, "job.bounds.cpus", "8"),
        ({"tres_per_job": "gres/gpu:8"}, "job.bounds.gpus_per_node", "0 to 4"),
        ({"min_mem_per_cpu": 400, "num_tasks": 10, "min_cpus": 10}, "job.bounds.memory_per_node", "400 to 3200"),
        ({"max_nodes": UNLIMITED}, "job.bounds.nodes", "1 to 4"),
        ({"tres_per_job": "gres/gpu:1", "bitflags": JobFlag.SPREAD_JOB}, "job.bounds.gpus", "1 to 4"),
        ({"partition": "wide", "ntasks_per_node": 2}, "job.bounds.tasks", "2 to 4"),
        ({"tres_per_socket": "gres/gpu:1", "sockets_per_node": 1}, "job.bounds.gpus", "1 to 2"),
        ({"tres_per_job": "gres/gpu:1", "bitflags": JobFlag.GRES_ENFORCE_BIND}, "job.bounds.cpus", "1 to 8"),
        *(
            (
                {"partition": "smt", "num_tasks": 3, "min_cpus": 3, "min_mem_per_cpu": 10, **more},
                "(job.bounds.cpus.most, job.bounds.memory_per_node.most)",
                expected,
            )
            for more, expected in (
                ({}, "(3, 40)"),
                ({"threads_per_core": 2}, "(3, 40)"),
                ({"threads_per_core": 1}, "(6, 40)"),
                ({"ntasks_per_core": 1}, "(6, 60)"),
                ({"ntasks_per_core": 2}, "(3, 40)"),
            )
        ),
    ],
)
def test_what_the_cluster_has(tmp_path: Path, fields: dict[str, Any], expression: str, expected: str) -> None:
    """No bound is larger than what the nodes of the partition have."""
    assert ran(tmp_path, expression, job=FakeJob(**fields)).text == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, Range(0, 30)),
        ({"time_min": 10}, Range(10, 30)),
        ({"time_min": 40}, Range(30, 30)),
        ({"time_limit": 50}, Range(0, 50)),
        ({"time_limit": UNLIMITED}, Range(0, UNLIMITED)),
    ],
)
def test_what_a_deadline_leaves(monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], expected: Range) -> None:
    """A job that names no time limit gets at most what is left until its deadline, as real slurmctlds give it."""
    monkeypatch.setattr("slurmhooks.job_submit.bounds.computing.time.time", lambda: 10_000.5)
    assert unknown(deadline=10_000 + 30 * 60, **fields).time == expected


@pytest.mark.parametrize(
    ("flags", "fields", "expected"),
    [
        (0, {}, "(2, 2, 2)"),
        (0, {"num_tasks": 1, "min_cpus": 1}, "(2, 2, 1)"),
        (0, {"min_nodes": 1, "max_nodes": 4}, "(2, 3, 2)"),
        (QosFlag.QOS_FLAG_PART_MIN_NODE, {}, "(1, 2, 1)"),
        (QosFlag.QOS_FLAG_PART_MAX_NODE, {"min_nodes": 1, "max_nodes": 4}, "(2, 4, 2)"),
    ],
)
def test_limits_of_partitions(tmp_path: Path, flags: int, fields: dict[str, Any], expected: str) -> None:
    """MinNodes and MaxNodes of the partition count unless a QOS lifts them; of some nodes, a job may get no CPU."""
    expression = "(job.bounds.nodes.least, job.bounds.nodes.most, job.bounds.cpus.least)"
    job = FakeJob(partition="wide", **fields)
    assert ran(tmp_path, expression, qos={"some": {"flags": flags}}, job=job).text == expected


@pytest.mark.parametrize(
    ("select", "release", "expected"),
    [
        ("SelectTypeParameters=CR_Core_Memory", "24.11", "(1, 20)"),
        ("SelectTypeParameters=CR_CPU_Memory", "24.11", "(1, 10)"),
        ("SelectTypeParameters=CR_Core_Memory,CR_ONE_TASK_PER_CORE", "24.11", "(2, 20)"),
        ("SelectTypeParameters=CR_Socket_Memory", "24.11", "(16, 160)"),
        ("SelectType=select/linear", "24.11", "(16, 160)"),
        ("SelectType=select/cons_tres", "22.05", "(1, 20)"),
        ("", "22.05", "(16, 160)"),
    ],
)
def test_what_slurm_allocates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, select: str, release: str, expected: str
) -> None:
    """SelectType and SelectTypeParameters decide whether a job gets whole nodes, sockets or cores."""
    (tmp_path / "slurm.conf").write_text(f"ClusterName=c\n{select}\n")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    job = FakeJob(release=release, partition="smt", num_tasks=1, min_cpus=1, min_mem_per_cpu=10)
    expression = "(job.bounds.cpus.most, job.bounds.memory_per_node.most)"
    assert ran(tmp_path, expression, release=release, job=job).text == expected


@pytest.mark.parametrize(("fields", "expected"), [({}, "2"), ({"ntasks_per_core": 1}, "4")])
def test_cores_for_gpus(tmp_path: Path, fields: dict[str, Any], expected: str) -> None:
    """With one task for each core, each of the CPUs for a GPU may be a core."""
    job = FakeJob(partition="smt", min_nodes=1, tres_per_node="gres/gpu:1", cpus_per_tres="gres/gpu:2", **fields)
    assert ran(tmp_path, "job.bounds.cpus.most", job=job).text == expected


@pytest.mark.parametrize(("release", "expected"), [("22.05", "(2, 6, 5)"), ("24.11", "(6, 6, 3)")])
def test_tasks_of_clients(tmp_path: Path, release: str, expected: str) -> None:
    """Older releases compute no tasks from those of a node for a client that names CPUs and no tasks."""
    job = FakeJob(release=release, min_nodes=2, max_nodes=2, min_cpus=6, ntasks_per_node=3)
    expression = "(job.bounds.tasks.least, job.bounds.tasks.most, job.bounds.cpus_per_node.most)"
    assert ran(tmp_path, expression, release=release, job=job).text == expected


@pytest.mark.parametrize(("release", "expected"), [("22.05", "2 to 6"), ("24.11", "2")])
def test_gpus_of_tasks(tmp_path: Path, release: str, expected: str) -> None:
    """Older releases also give GPUs to CPUs of a node that no task uses."""
    job = FakeJob(release=release, min_nodes=2, max_nodes=2, num_tasks=2, pn_min_cpus=3, tres_per_task="gres/gpu:1")
    assert ran(tmp_path, "job.bounds.gpus", release=release, job=job).text == expected


@pytest.mark.parametrize(
    ("release", "weights", "fields", "expected"),
    [
        ("26.05", 3, {"min_nodes": 2, "max_nodes": 2}, "2 to 4"),
        ("26.05", 1, {"min_nodes": 2, "max_nodes": 2}, "2"),
        ("26.05", 2, {"num_tasks": 2, "min_cpus": 2}, "1 to 3"),
        ("26.05", 1, {"req_nodes": "n1"}, "1 to 2"),
        ("26.05", 2, {"req_nodes": "n1", "num_tasks": 2}, "1 to 4"),
        ("26.05", 3, {"num_tasks": 1}, "1"),
        ("26.05", 3, {"min_nodes": 1, "max_nodes": 1}, "1"),
        ("24.11", 3, {"min_nodes": 2, "max_nodes": 2}, "2"),
        ("24.11", 3, {"num_tasks": 4, "overcommit": 1}, "1 to 4"),
        ("24.11", 3, {"num_tasks": 4, "ntasks_per_node": 4}, "1 to 4"),
    ],
)
def test_jobs_that_spread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, weights: int, fields: dict[str, Any], expected: str
) -> None:
    """New releases add a node of each weight to a job that spreads, even above its maximum."""
    for number, name in enumerate(("n1", "n2", "n3", "n4")):
        monkeypatch.setitem(NODES, name, {**NODES[name], "weight": 1 + number % weights})
    job = FakeJob(release=release, bitflags=JobFlag.SPREAD_JOB, **fields)
    assert ran(tmp_path, "job.bounds.nodes", release=release, job=job).text == expected


@pytest.mark.parametrize(
    ("select", "flags", "expected"),
    [("", 0, "1"), (",ENFORCE_BINDING_GRES", 0, "1 to 8"),
     (",ENFORCE_BINDING_GRES", JobFlag.GRES_DISABLE_BIND, "1")],
)  # fmt: skip
def test_bound_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, select: str, flags: JobFlag, expected: str
) -> None:
    """SelectTypeParameters may give all jobs CPUs next to their GPUs, unless they refuse."""
    (tmp_path / "slurm.conf").write_text(f"ClusterName=c\nSelectTypeParameters=CR_Core_Memory{select}\n")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    job = FakeJob(tres_per_job="gres/gpu:1", bitflags=JobFlag(flags))
    assert ran(tmp_path, "job.bounds.cpus", job=job).text == expected


@pytest.mark.parametrize(
    ("state", "alternate", "names", "record", "expected"),
    [
        (PartitionState.PARTITION_UP, "whole", "debug", None, "1 to 4"),
        (PartitionState.PARTITION_DOWN, "whole", "debug", None, "1 to 4"),
        (PartitionState.PARTITION_DRAIN, "whole", "debug", None, "1"),
        (PartitionState.PARTITION_DRAIN, "whole", None, None, "1"),
        (PartitionState.PARTITION_INACTIVE, None, "debug", None, "1 to 4"),
        (PartitionState.PARTITION_DRAIN, "debug", "debug", None, "1 to 4"),
        (PartitionState.PARTITION_DRAIN, "whole", None, "debug", "1 to 4"),
    ],
)
def test_partitions_that_accept_no_jobs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    state: PartitionState,
    alternate: str | None,
    names: str | None,
    record: str | None,
    expected: str,
) -> None:
    """A job gets the alternate of a partition that accepts no jobs; one that waits there stays where it is."""
    lines = "PartitionName=debug Alternate=whole\nPartitionName=whole\n"
    (tmp_path / "slurm.conf").write_text(f"ClusterName=c\n{lines}")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    monkeypatch.setitem(PARTITIONS, "debug", {**PARTITIONS["debug"], "state_up": state, "alternate": alternate})
    more: dict[str, Any] = {"record": FakeRecord(partition=record, max_nodes=4)} if record else {}
    job = FakeJob(partition=names, min_nodes=1, max_nodes=None if record else 4)
    assert ran(tmp_path, "job.bounds.nodes", job=job, **more).text == expected


@pytest.mark.parametrize(("limit", "least"), [("", "8"), (" MaxMemPerCPU=300", "4")])
def test_raised_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, least: str) -> None:
    """Tasks may get fewer CPUs than their job has recorded if slurmctld has raised them because of MaxMemPerCPU."""
    (tmp_path / "slurm.conf").write_text(f"ClusterName=c\nPartitionName=debug{limit}\n")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    record = FakeRecord(
        partition="debug", num_tasks=4, min_nodes=2, max_nodes=2, cpus_per_task=2, min_cpus=8, min_mem_per_cpu=225
    )
    assert ran(tmp_path, "job.bounds.cpus.least", job=FakeJob(comment="x"), record=record).text == least


def test_later_handlers_see_writes(tmp_path: Path) -> None:
    """The bounds are those of the request as handlers have written it."""
    job = FakeJob(min_nodes=4, max_nodes=4)
    job.min_nodes = job.max_nodes = 2
    assert job.bounds.nodes == Range(2, 2)


def test_copies_have_no_bounds() -> None:
    """Copying a request does not compute its bounds, which an invalid list would prevent."""
    assert "bounds" not in dict(FakeJob(tres_per_node="xgres/gpu"))


class Flagless(SimpleNamespace):
    """A request of which only the flags are unknown, as in an audit."""

    @property
    def bitflags(self) -> JobFlag:
        """Say that nobody knows them."""
        raise AssertionError("the flags are not known")


@pytest.mark.parametrize("reservation", [None, "maintenance"])
@pytest.mark.parametrize(("partition", "leaves"), [(None, True), ("debug", False)])
def test_who_chooses_the_partition(reservation: str | None, partition: str | None, *, leaves: bool) -> None:
    """Without several reservations, the flags of a request do not decide who chooses its partition."""
    job: Any = Flagless(partition=partition, reservation=reservation)
    assert asked.Reader(job, None).leaves_partition is leaves
