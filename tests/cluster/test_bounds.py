# SPDX-License-Identifier: GPL-2.0-or-later
"""What real slurmctlds give to jobs lies within the bounds that slurmhooks computes at submission and in updates."""

import random

import pytest

from tests.cluster import drawn_jobs
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import Site

SUBMISSIONS = [(60, 1), pytest.param(400, 2, marks=pytest.mark.soak)]
UPDATES = [(30, 3), pytest.param(100, 4, marks=pytest.mark.soak)]
"""How many jobs are drawn, of which Slurm accepts more than half; and the seed."""


@pytest.fixture(scope="module")
def site(large_cluster: Cluster) -> Site:
    """A cluster for jobs with random options."""
    return drawn_jobs.prepared(large_cluster)


def draw(site: Site, number: int, seed: int, *, update: bool = False) -> None:
    """Submit jobs with random options, and compare what Slurm gives to them with their bounds.

    Args:
        site: the cluster.
        number: of jobs.
        seed: of the random options.
        update: change each job before it starts.
    """
    generator = random.Random(seed)
    jobs, updates = {}, {}
    for index in range(number):
        name, options = f"j{index}", drawn_jobs.options(generator, site.release)
        jobs[name] = options
        if update:
            updates[drawn_jobs.target(generator, name, options)] = drawn_jobs.changes(generator, site, options)
    said = drawn_jobs.run(site, jobs, updates)
    told = {each["name"]: each["bounds"] for each in site.told()}
    given = drawn_jobs.given(site)
    wrong = [
        f"{name} {jobs[drawn_jobs.job_of(name)]} + {updates.get(name)}: {', '.join(beyond)}\n    {job['line']}\n    {bounds}"
        for name, job in given.items()
        if (beyond := drawn_jobs.outside(job, bounds := drawn_jobs.bounds_of(told, name)))
    ]
    wrong += [f"{jobs[name]} + {updates.get(name)}: {text}" for name, text in said.items() if "slurmhooks" in text]
    assert not wrong, f"{len(wrong)} of {len(given)}:\n" + "\n".join(wrong)
    assert len(given) > number / 8, said


@pytest.mark.parametrize(("number", "seed"), SUBMISSIONS)
def test_submissions(site: Site, number: int, seed: int) -> None:
    """Each job gets nodes, CPUs, GPUs, memory, licenses and time within its bounds."""
    draw(site, number, seed)


@pytest.mark.parametrize(("number", "seed"), UPDATES)
def test_updates(site: Site, number: int, seed: int) -> None:
    """Each job that was changed by an update gets what lies within the bounds of the update."""
    if not site.cluster.has_sources:
        pytest.skip("without Slurm's sources slurmctld sends no jobs")
    draw(site, number, seed, update=True)
