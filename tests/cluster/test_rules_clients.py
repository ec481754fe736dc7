# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that send their own requests, by slurmrestd or libslurm, get no further than commands."""

import re
from typing import Any

import pytest

from tests.cluster import rest
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import Site
from tests.cluster.own_readers import build
from tests.cluster.test_rules_evaded import (
    ARRAY,
    CLOSED,
    CPUS,
    GPUS,
    INTERACTIVE,
    LICENSES,
    MEMORY,
    NODES,
    TASKS,
    evading,
    under,
)

pytestmark = pytest.mark.stopped
STAY = {"test_slurmrestd"}

TIME = 'rule = "time_ceiling"\nlimit = 10'
NAMED = 'rule = "require_account"\nforbidden = ["r*"]'


def number(value: int) -> dict[str, object]:
    """Return a number as slurmrestd knows it from 23.11 on."""
    return {"set": True, "infinite": False, "number": value}


ENDLESS = {"set": True, "infinite": True, "number": 0}
ONE_NODE = {"minimum_nodes": 1, "maximum_nodes": 1}
JOBS: list[tuple[str, dict[str, Any]]] = [
    (NODES, {"minimum_nodes": 1, "maximum_nodes": 2}),
    (NODES, {"minimum_nodes": 1, "maximum_nodes": 0xFFFFFFFF}),
    (NODES, {"nodes": "1-2"}),
    (NODES, {"nodes": "1,2"}),
    (NODES, {"required_nodes": ["n1", "n2"]}),
    (NODES, {"constraints": "a*2"}),
    (TASKS, {"tres_per_job": "gres/gpu:1", "ntasks_per_tres": 8}),
    (TASKS, {"tasks_per_node": 3}),
    (CPUS, {"cpus_per_task": 5}),
    (CPUS, {"minimum_cpus_per_node": 5}),
    (CPUS, {"shared": ["none"]}),
    (CPUS, {"tasks": 4, "tasks_per_core": 1, "partition": "smt"}),
    (CPUS, {"tres_per_job": "gres/gpu:1", "flags": ["GRES_BINDING_ENFORCED"]}),
    (CPUS, {"tres_per_node": "gres/tape:2", "cpus_per_tres": "gres/tape:4"}),
    (GPUS, {"tres_per_task": "gres/gpu:1", "tasks": 3}),
    (GPUS, {"tres_per_node": "gres/gpu:1,gres/gpu:3"}),
    (MEMORY, {"memory_per_node": ENDLESS}),
    (MEMORY, {"memory_per_cpu": ENDLESS}),
    (MEMORY, {"memory_per_node": "1G"}),
    (MEMORY, {"tasks": 2, "memory_per_cpu": number(150), **ONE_NODE}),
    (TIME, {"time_limit": ENDLESS}),
    (TIME, {"time_limit": number(11)}),
    (LICENSES, {"licenses": "ansys:3"}),
    (ARRAY, {"array": "1-4"}),
    (NAMED, {}),
]
"""Rules, and jobs that break them, from 23.11 on."""
OLD_JOBS: list[tuple[str, dict[str, Any]]] = [
    (NODES, {"nodes": "1-2"}),
    (NODES, {"constraints": "a*2"}),
    (TASKS, {"tasks_per_node": 3}),
    (TASKS, {"tasks": 3}),
    (CPUS, {"cpus_per_task": 5}),
    (CPUS, {"minimum_cpus_per_node": 5}),
    (CPUS, {"exclusive": "exclusive"}),
    (CPUS, {"tasks": 4, "tasks_per_core": 1, "partition": "smt"}),
    (GPUS, {"gpus_per_task": "1", "tasks": 3}),
    (GPUS, {"gpus": "tesla:2,kepler:1"}),
    (MEMORY, {"memory_per_node": 0}),
    (MEMORY, {"memory_per_node": "1G"}),
    (MEMORY, {"tasks": 2, "nodes": [1, 1], "memory_per_cpu": 150}),
    (TIME, {"time_limit": 0}),
    (TIME, {"time_limit": "11"}),
    (LICENSES, {"licenses": "ansys:3"}),
    (ARRAY, {"array": "1-4"}),
    (NAMED, {}),
]
"""The same for older releases."""
ASSIGNED: tuple[str, dict[str, Any]] = (
    CLOSED,
    {"partition": "debug", "reservation": "anywhere,course", "flags": ["PARTITION_ASSIGNED"]},
)
"""A flag that only slurmctld sets, with which it also tries the partitions of the reservations."""
UPDATES = [
    (CPUS, "num_tasks=1", "num_tasks=5 min_cpus=5 overcommit=1"),
    (CPUS, "num_tasks=1 partition=smt ntasks_per_core=1", "num_tasks=3 min_cpus=3 ntasks_per_core=2"),
    (GPUS, "num_tasks=1", "tres_per_job=gres/gpu:3 bitflags=0x80000"),
    (TASKS, "num_tasks=1", "min_nodes=1 max_nodes=1 ntasks_per_tres=8 tres_per_job=gres/gpu:1"),
    (MEMORY, "num_tasks=1 pn_min_memory=100", "pn_min_memory=0x8000000000000000"),
    (TIME, "num_tasks=1 time_limit=5", "time_limit=0xffffffff"),
]
"""Rules, jobs of programs, and updates of them that break the rules: slurmctld ignores some members of updates."""


@pytest.fixture(scope="module")
def site(large_cluster: Cluster) -> Site:
    """A cluster with features, a node whose CPUs are threads, and two reservations."""
    return evading(large_cluster)


def names(site: Site) -> set[str]:
    """Return the names of all jobs."""
    return set(site.run("squeue", "-h", "-o", "%j", user="root").stdout.split())


def test_slurmrestd(site: Site) -> None:
    """A job of slurmrestd meets the same rules, whatever its members are; plain ones are accepted."""
    rest.install(site)
    jobs = [*(OLD_JOBS if site.release < (23, 11) else JOBS)]
    jobs += [ASSIGNED] if site.cluster.has_sources and site.release >= (23, 11) else []
    under(site, {f"r{index}": rule for index, (rule, _) in enumerate(jobs)})
    broken = {f"r{index}": members for index, (_, members) in enumerate(jobs)}
    plain = {f"r{index}": dict[str, Any]() for index, (rule, _) in enumerate(jobs) if rule != NAMED}
    requests = [
        ("submit", rest.submission(site, name=f"{kind}{name}", account=name, hold=True, **members))
        for kind, some in (("plain", plain), ("broken", broken))
        for name, members in some.items()
    ]
    said, logged = rest.post(site, *requests)
    assert said.count('"meta": {') == len(requests), said[-3000:]
    found = names(site)
    site.run("scancel", "--user=alice")
    wrong = {name: jobs[int(name.removeprefix("brokenr"))] for name in found if name.startswith("broken")}
    assert not wrong, logged[-3000:]
    assert {f"plain{name}" for name in plain} <= found, (said[:5000], logged[-3000:])


def test_allocations_of_slurmrestd(site: Site) -> None:
    """An allocation of slurmrestd is an interactive job, although it may come with a script."""
    rest.install(site)
    if site.release < (24, 5):
        pytest.skip("slurmrestd asks for allocations from 24.05 on")
    under(site, {"r0": INTERACTIVE})
    two = {"name": "two", "account": "r0", "minimum_nodes": 2, "maximum_nodes": 2}
    job = rest.submission(site, **two)["job"]
    one = {**job, "minimum_nodes": 1, "maximum_nodes": 1}
    said, logged = rest.post(
        site,
        ("allocate", {"job": {name: value for name, value in job.items() if name != "script"}}),
        ("allocate", {"job": job}),
        ("allocate", {"hetjob": [one, {name: value for name, value in job.items() if name != "script"}]}),
    )
    found = names(site)
    site.run("scancel", "--user=alice")
    assert said.count('"meta": {') == 3, said
    assert "two" not in found, logged


def test_updates_of_programs(site: Site) -> None:
    """An update cannot break a rule by members that slurmctld ignores."""
    program = build(site.cluster, "describe")
    under(site, {f"u{index}": rule for index, (rule, _, _) in enumerate(UPDATES)})
    lines = [
        f"id=$({program} account=u{index} name=u{index} priority=0 {job})"
        f" && {{ {program} update=$id {update} && echo changed u{index}; }} || echo refused"
        for index, (_, job, update) in enumerate(UPDATES)
    ]
    text = "\n".join(lines)
    done = site.run("sh", "-c", text.replace("gres/", "gres:") if site.release < (23, 11) else text)
    found = names(site)
    site.run("scancel", "--user=alice")
    assert {f"u{index}" for index in range(len(UPDATES))} <= found, done.stderr
    assert not re.findall(r"changed u\d+", done.stdout), done.stdout
