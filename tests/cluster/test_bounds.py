# SPDX-License-Identifier: GPL-2.0-or-later
"""What real slurmctlds give to jobs lies within the bounds that slurmhooks computes at submission and in updates."""

import random
from collections.abc import Callable

import pytest

from tests.cluster import allocations, drawn_jobs, drawn_members
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import Site
from tests.cluster.own_readers import build, seeded
from tests.cluster.reporting import DRAWN
from tests.cluster.turns import moved

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.stopped]

SIMPLE = [
    "-n1", "-N1", "-N2", "-N2 -n4", "-N2 --ntasks-per-node=2", "-N1 -n3 -c2", "--mincpus=3", "-N2 --mincpus=3",
    "-p wide", "-p wide -N2 -n2", "-p wide --mincpus=2", "-p wide -c2", "--gpus=1",
    "--gpus-per-node=1 -N2", "-N1 -n2 --gpus-per-task=1", "-O -n4", "--mem=200", "--exclusive -w n1",
    "-p whole -w n[1-2] -N2", "-p smt -n4 --threads-per-core=2", "--cpus-per-gpu=2 --gpus-per-node=1 -N1",
    "-N1 --tres-per-task=cpu:3 -n2",
]  # fmt: skip
"""Jobs of which the bounds know exactly how many nodes and CPUs they get at least."""
VARIANTS = {
    "cpus": "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory\n",
    "tasks": "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory,CR_ONE_TASK_PER_CORE\n",
    "sockets": "SelectType=select/cons_tres\nSelectTypeParameters=CR_Socket_Memory\n",
    "nodes": "SelectType=select/linear\nSelectTypeParameters=CR_Memory\n",
    "blocks": f"{drawn_jobs.SELECT}TopologyPlugin=topology/block\n",
    "switches": f"{drawn_jobs.SELECT}TopologyPlugin=topology/tree\n",
}
"""What Slurm allocates together, as slurm.conf says."""
TOPOLOGY = {
    "blocks": "BlockName=b1 Nodes=n1\nBlockName=b2 Nodes=n2\nBlockName=b3 Nodes=n3\nBlockSizes=1\n",
    "switches": "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n3\nSwitchName=s3 Switches=s[1-2]\n",
}
SUBMISSIONS = [(20, 1), *moved((60, 2)), pytest.param(600, None, marks=pytest.mark.soak)]
UPDATES = [(12, 3), *moved((30, 4)), pytest.param(200, None, marks=pytest.mark.soak)]
CLIENTS = [pytest.param(300, None, marks=pytest.mark.soak)]
"""How many jobs are drawn, of which Slurm accepts and starts nearly half; and the seed, None for a new one."""
Note = Callable[[str, object], None]
"""The fixture record_property."""


@pytest.fixture(scope="module")
def site(large_cluster: Cluster) -> Site:
    """A cluster for jobs with random options."""
    return drawn_jobs.prepared(large_cluster)


def draw(
    site: Site,
    number: int,
    seed: int | None,
    note: Note,
    *,
    update: bool = False,
    without: str = "$",
    program: str = "",
) -> None:
    """Submit jobs with random options, and compare what Slurm gives to them with their bounds.

    Without a ``seed``, it is a new one, and the test reports what it has compared. ``update``: change each job before
    it starts. ``without``: see allocations.outside(). ``program`` sends random members of job descriptions instead of
    options of commands.
    """
    used, generator = (seed, random.Random(seed)) if seed is not None else seeded()
    jobs, updates = {}, {}
    for index in range(number):
        name, options = f"j{index}", (drawn_members.members if program else drawn_jobs.options)(generator, site.release)
        jobs[name] = options
        if update and program:
            updates[name] = drawn_members.members(generator, site.release)
        elif update:
            updates[drawn_jobs.target(generator, name, options)] = drawn_jobs.changes(generator, site, options)
    said = drawn_jobs.run(site, jobs, updates, program=program)
    told = drawn_jobs.told(site)
    given = drawn_jobs.given(site)

    def changed(name: str) -> dict[str, str]:
        job = drawn_jobs.job_of(name)
        return {target: changes for target, changes in updates.items() if drawn_jobs.job_of(target) == job}

    wrong = [
        f"{name} {jobs[drawn_jobs.job_of(name)]} + {changed(name)}: {', '.join(beyond)}\n"
        f"    {job['line']}\n    {bounds}"
        for name, job in given.items()
        for bounds in drawn_jobs.bounds_of(told, name)
        if (beyond := allocations.outside(job, bounds, without))
    ]
    wrong += [f"{jobs[name]} + {changed(name)}: {text}" for name, text in said.items() if "slurmhooks" in text]
    counts = f"seed {used}: {len(wrong)} of {len(given)} that ran, of {number} jobs, outside of their bounds"
    if seed is None:
        note(DRAWN, counts)
    assert not wrong, f"{counts}\n" + "\n".join(wrong)
    assert len(given) > number / 8, said


@pytest.mark.moved
@pytest.mark.parametrize(("number", "seed"), SUBMISSIONS)
def test_submissions(site: Site, record_property: Note, number: int, seed: int | None) -> None:
    """Each job gets nodes, CPUs, GPUs, memory, licenses and time within its bounds."""
    draw(site, number, seed, record_property)


@pytest.mark.moved
@pytest.mark.parametrize(("number", "seed"), UPDATES)
def test_updates(site: Site, record_property: Note, number: int, seed: int | None) -> None:
    """Each job that was changed by an update gets what lies within the bounds of the update."""
    if not site.cluster.has_sources:
        pytest.skip("without Slurm's sources slurmctld sends no jobs")
    draw(site, number, seed, record_property, update=True)


@pytest.mark.parametrize("update", [False, True])
@pytest.mark.parametrize(("number", "seed"), CLIENTS)
def test_clients(site: Site, record_property: Note, number: int, seed: int | None, *, update: bool) -> None:
    """The same for jobs and updates of programs that fill in the members of a job description themselves."""
    if update and not site.cluster.has_sources:
        pytest.skip("without Slurm's sources slurmctld sends no jobs")
    draw(site, number, seed, record_property, update=update, program=build(site.cluster, "describe"))


def test_floors(site: Site) -> None:
    """Where nothing is left to Slurm, a job gets the least of its bounds."""
    jobs = {f"j{index}": options for index, options in enumerate(SIMPLE)}
    if site.release < (23, 11):
        jobs = {name: options for name, options in jobs.items() if "tres-per-task" not in options}
    said = drawn_jobs.run(site, jobs)
    told = drawn_jobs.told(site)
    given = drawn_jobs.given(site)
    assert len(given) > len(jobs) / 2, said  # a busy machine may start some too late
    for name, job in given.items():
        for bounds in told[name]:
            assert not allocations.outside(job, bounds), (jobs[name], job["line"])
        if site.cluster.has_sources:  # otherwise the bounds know no limits of partitions
            nodes, cpus = (told[name][0][what][0] for what in ("nodes", "cpus"))
            assert int(job["NumNodes"]) == nodes, (jobs[name], job["line"])
            assert allocations.needed(job)["cpus"][0] <= cpus <= int(job["NumCPUs"]), (jobs[name], job["line"])


@pytest.mark.soak
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants(large_cluster: Cluster, record_property: Note, variant: str) -> None:
    """The bounds hold whatever Slurm allocates together: CPUs, cores of one task each, sockets, nodes, switches."""
    if variant == "blocks" and large_cluster.version < (24, 5):
        pytest.skip("topology/block is new in 23.11, --segment in 24.05")
    large_cluster.put(TOPOLOGY.get(variant, ""), "/etc/slurm/topology.conf")
    site = drawn_jobs.prepared(large_cluster, VARIANTS[variant])
    # scontrol shows no GRES of select/linear, which is no choice for new clusters.
    draw(site, 120, None, record_property, without="gpu|type" if variant == "nodes" else "$")
