# SPDX-License-Identifier: GPL-2.0-or-later
"""On real slurmctlds, a rule lets no job pass that gets more than its ceiling or less than its floor."""

import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.cluster import allocations, drawn_jobs
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import DEFAULT_TOML, TOML, Site
from tests.cluster.own_readers import seeded
from tests.cluster.reporting import DRAWN
from tests.cluster.turns import moved

pytestmark = pytest.mark.stopped

SHORT, LONG = 60, 600
"""How many combinations of options are drawn, of which Slurm accepts and starts nearly half."""


PLAIN = re.compile(
    r"( ?(-N\d|-w n1|-n\d+|-c\d|--mem=[1-9]\d*|--mem-per-cpu=\d+|-L ansys(:2)?|-p (debug|gpu|wide)|-t5"
    r"|--gpus=\d|--gpus-per-node=\d|--gres=gpu:1))*"
)
"""Requests that say by numbers what they get; all others leave it to Slurm, and a rule refuses what they might get."""
ON_WHOLE_CORES = re.compile(r"cpu|memory")
"""In the keys of a rule about what Slurm rounds up on node n3, whose cores have two threads."""
NAMED_GPUS = re.compile(r"Tres(PerJob|PerNode|PerSocket|PerTask)=\S*gpu|NtasksPerTRES")
"""In what scontrol shows of a job."""
OF_RULES = re.compile(r"at (?:most|least) |interactive jobs in ")
"""Begins what a rule says to users."""


class Given:
    """What slurmctld gave to a job, and what the bounds said about it.

    ``names_gpus``: the job has GPUs because the request names some: with whole nodes it gets them in any case. For
    ``amounts`` see allocations.amounts().
    """

    def __init__(self, job: dict[str, str], bounds: dict[str, Any]) -> None:
        self.amounts = {**allocations.amounts(job), "needed": allocations.needed(job)["cpus"]}
        self.named = bool(bounds["names_memory"])
        self.job = job
        self.names_gpus = self.most("gpus") > 0 and bool(NAMED_GPUS.search(job["line"]))

    def most(self, name: str) -> int:
        """Return the largest of some amounts."""
        return max(self.amounts.get(name, [0]))

    def memory(self, per: str) -> int:
        """Return the most memory on a node for one of something; 0 if the request names no memory."""
        pairs = zip(self.amounts["memory_per_node"], self.amounts[per], strict=True)
        return max(-(-memory // max(count, 1)) for memory, count in pairs) if self.named else 0

    def licenses(self) -> int:
        """Return the number of licenses."""
        return sum(int(count) for count in re.findall(r"ansys:(\d+)", self.job.get("Licenses", "")))


class Limit(NamedTuple):
    """A rule about sizes.

    {} in ``toml`` is the limit. ``amount`` returns from what slurmctld gave the amount that is limited; None: the rule
    does not concern the job. ``interactive``: it concerns jobs of salloc.
    """

    toml: str
    amount: Callable[[Given], int | None]
    floor: bool = False
    interactive: bool = False


LIMITS = [
    Limit('rule = "node_count"\nmost = {}', lambda given: given.most("nodes")),
    Limit('rule = "task_count"\nmost = {}', lambda given: given.most("tasks")),
    Limit('rule = "cpu_count"\nmost = {}', lambda given: given.most("needed")),
    Limit('rule = "gpu_ceiling"\nper_job = {}', lambda given: given.most("gpus")),
    Limit('rule = "gpu_ceiling"\nper_node = {}', lambda given: given.most("gpus_per_node")),
    Limit('rule = "memory_ceiling"\nper_node = {}', lambda given: given.most("memory_per_node") * given.named),
    Limit('rule = "memory_ceiling"\nper_cpu = {}', lambda given: given.memory("cpus_per_node")),
    Limit(
        'rule = "cpus_per_gpu"\nmost = {}',
        lambda given: -(-given.most("needed") // given.most("gpus")) if given.names_gpus else None,
    ),
    Limit(
        'rule = "memory_per_gpu"\nmost = {}',
        lambda given: given.memory("gpus_per_node") if given.names_gpus else None,
    ),
    Limit('rule = "licenses"\nmost = {{ ansys = {} }}', Given.licenses),
    Limit('rule = "time_ceiling"\nlimit = {}', lambda given: allocations.minutes(given.job)),
    Limit('rule = "node_count"\nleast = {}', lambda given: given.most("nodes"), floor=True),
    Limit('rule = "task_count"\nleast = {}', lambda given: given.most("tasks"), floor=True),
    Limit('rule = "cpu_count"\nleast = {}', lambda given: given.most("cpus"), floor=True),
    Limit('rule = "interactive_limit"\nnodes = {}', lambda given: given.most("nodes"), interactive=True),
    Limit('rule = "interactive_limit"\ncpus = {}', lambda given: given.most("needed"), interactive=True),
    Limit('rule = "interactive_limit"\ngpus = {}', lambda given: given.most("gpus"), interactive=True),
]


@pytest.fixture(scope="module")
def site(large_cluster: Cluster) -> Site:
    """A cluster for jobs with random options."""
    return drawn_jobs.prepared(large_cluster)


class Trial(NamedTuple):
    """A job under a rule, and what an equal job got without the rule."""

    options: str
    limit: Limit
    number: int
    without: int

    def __str__(self) -> str:
        """Return options and rule in one line."""
        rule = self.limit.toml.format(self.number).replace("\n", " ")
        return f"{self.options} | {rule} | without the rule {self.without}"

    @property
    def kept(self) -> bool:
        """Whether the job keeps the limit without the rule."""
        return self.without >= self.number if self.limit.floor else self.without <= self.number


def trials(site: Site, number: int, generator: random.Random) -> dict[str, Trial]:
    """Run jobs without a rule; return each with a rule whose limit is near what it got."""
    jobs = {f"j{index}": drawn_jobs.options(generator, site.release) for index in range(number)}
    drawn_jobs.run(site, jobs)
    drawn = {}
    for name, parts in by_job(site).items():
        of_batch = " : " in jobs[name] or bool(re.search(r"(^| )-a\d", jobs[name]))
        limits = [each for each in LIMITS if any(map(each.amount, parts)) and not (each.interactive and of_batch)]
        limit = generator.choice(limits)
        amounts = [limit.amount(part) or 0 for part in parts]
        without = min(amounts) if limit.floor else max(amounts)
        near = without + generator.choice([0, 0, 1, -1] if not limit.floor else [0, 0, 1])
        if near:
            drawn[f"r{name}"] = Trial(jobs[name], limit, near, without)
    return drawn


def by_job(site: Site) -> dict[str, list[Given]]:
    """Return what slurmctld gave to each job that ran: to its components, or its tasks."""
    told = drawn_jobs.told(site)
    jobs: dict[str, list[Given]] = {}
    for name, job in sorted(drawn_jobs.given(site).items()):
        jobs.setdefault(drawn_jobs.job_of(name), []).append(Given(job, drawn_jobs.bounds_of(told, name)[0]))
    return jobs


def under_rules(site: Site, drawn: dict[str, Trial]) -> tuple[int, list[str], list[str]]:
    """Run jobs under their rules.

    Returns:
        how many ran, those beyond their ceiling or below their floor, and those that were refused without need.
    """
    rules = [
        f'[[rule]]\nname = "{name}"\naccounts = ["{name}"]\n{trial.limit.toml.format(trial.number)}\n'
        for name, trial in drawn.items()
    ]
    # Without Slurm's sources slurmctld sends no jobs, by which rules could judge updates.
    defaults = "" if site.cluster.has_sources else '[rules.defaults]\nupdates = "refuse"\n'
    site.cluster.put("\n".join([DEFAULT_TOML, defaults, *rules]), TOML)
    interactive = {name for name, trial in drawn.items() if trial.limit.interactive}
    options = {
        name: " : ".join(f"-A {name} {part}" for part in trial.options.split(" : ")) for name, trial in drawn.items()
    }
    said = drawn_jobs.run(site, options, interactive=interactive)
    ran = by_job(site)
    wrong = []
    for name, parts in ran.items():
        trial = drawn[name]
        for part in parts:
            amount = trial.limit.amount(part)
            if amount is not None and not trial._replace(without=amount).kept:
                wrong.append(f"{trial} | got {amount}\n    {part.job['line']}")
    needless = [
        f"{trial} | {said[name]}"
        for name, trial in drawn.items()
        if trial.kept
        and not trial.limit.floor
        and OF_RULES.search(said.get(name, ""))
        and PLAIN.fullmatch(trial.options)
        and (not ON_WHOLE_CORES.search(trial.limit.toml) or re.search("-w n1|-p gpu", trial.options))
    ]
    # Without Slurm's sources rules know neither nodes nor defaults of partitions.
    return len(ran), wrong, needless if site.cluster.has_sources else []


@pytest.mark.parametrize(("number", "seed"), [*moved((SHORT, 5)), pytest.param(LONG, None, marks=pytest.mark.soak)])
def test_limits(site: Site, record_property: Callable[[str, object], None], number: int, seed: int | None) -> None:
    """No job that a rule accepts gets more than the ceiling of the rule, or less than its floor.

    No job is refused that keeps to the ceiling and says by numbers what it gets; a floor compares with the least that
    Slurm might give, of which it gives more here.
    """
    used, generator = (seed, random.Random(seed)) if seed is not None else seeded()
    drawn = trials(site, number, generator)
    ran, wrong, needless = under_rules(site, drawn)
    counts = (
        f"seed {used}: {len(drawn)} of {number} jobs under a rule, {ran} accepted, {len(wrong)} beyond its limit,"
        f" {len(needless)} refused without need"
    )
    if seed is None:
        record_property(DRAWN, counts)
    assert not wrong, f"{counts}\n" + "\n".join(wrong)
    assert not needless, f"{counts}\n" + "\n".join(needless)
    assert ran > len(drawn) / 3
