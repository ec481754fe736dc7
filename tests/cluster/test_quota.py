# SPDX-License-Identifier: GPL-2.0-or-later
"""Quotas in a real slurmctld: whatever is submitted at once, no more jobs exist than the quota permits."""

import json
import re
import shlex
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.cluster.job_submit_site import TOML, Site, with_records
from tests.cluster.test_job_rules import with_gpus
from tests.cluster.turns import moved_from

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped
STAY = {
    "test_parallel_submissions",
    "test_sums_are_those_of_squeue",
    "test_what_slurm_refuses_is_forgotten",
    "test_running_jobs_and_updates",
}

SBATCH = "sbatch --hold --parsable -o /dev/null -t10 --wrap=true"


@pytest.fixture(scope="module")
def site(cluster: "Cluster") -> Site:
    """A site without rules."""
    return with_records(cluster)


def in_force(site: Site, keys: str, workers: int = 1) -> None:
    """Put a quota in force, and remove all jobs."""
    site.cluster.root("sh", "-c", "scancel -u alice; scancel -u bob")
    site.cluster.wait(lambda: not site.cluster.root("squeue", "-h").stdout)
    site.cluster.put(f'[job_submit]\nworkers = {workers}\n\n[[rule]]\nrule = "quota"\n{keys}\n', TOML)
    site.cluster.deploy()
    # A job of the same second, under other rules, would be taken for that of a request.
    second = int(time.time())
    site.cluster.wait(lambda: int(time.time()) > second + 1)


def at_once(site: Site, *commands: str, user: str = "alice") -> int:
    """Run commands of a user at once; return how many of them have submitted something."""
    script = "".join(f"({command}; echo exit $?) & " for command in commands)
    done = site.run("sh", "-c", f"{script} wait", user=user)
    others = [line for line in done.stderr.splitlines() if not re.search(r"\(rule:quota\)$|Job violates", line)]
    assert not others, others + site.logged().splitlines()[-20:]
    accepted = done.stdout.count("exit 0")
    assert accepted + done.stderr.count("(rule:quota)") == len(commands), done.stdout + done.stderr
    return accepted


def queued(site: Site, form: str = "%i") -> list[str]:
    """Return what squeue shows of alice's jobs, each task of an array in a line of its own."""
    return site.cluster.root("squeue", "-h", "-r", "-u", "alice", "-o", form).stdout.split()


@pytest.mark.parametrize("workers", [1, 4])
def test_parallel_submissions(site: Site, workers: int) -> None:
    """Of 24 submissions at once, one is accepted under a quota of one job, and the next one when it is gone."""
    in_force(site, "jobs = 1", workers)
    assert at_once(site, *[SBATCH, f"{SBATCH} --comment 'no --test-only'"] * 12) == 1
    assert len(queued(site)) == 1
    assert "user alice may have at most 1 job in the queue; now 1 job" in site.refused("-t10")
    site.cluster.root("scancel", "-u", "alice")
    site.submit("-t10")


@pytest.mark.parametrize(
    ("keys", "commands", "form", "most"),
    moved_from(
        1,
        [
            ("jobs = 7", [SBATCH, f"{SBATCH} --array=1-3", f"{SBATCH} --array=1-2%1"] * 6, "", 7),
            ("cpus = 11", [f"{SBATCH} -n{count}" for count in (1, 2, 3, 4)] * 5, "%C", 11),
            ("cpu_hours = 2.5", [f"{SBATCH} -n2 -t{minutes}" for minutes in (10, 20, 30)] * 6, "cpu_hours", 2.5),
        ],
    ),
    ids=["jobs", "cpus", "cpu_hours"],
)
def test_sums_are_those_of_squeue(site: Site, keys: str, commands: list[str], form: str, most: float) -> None:
    """What squeue shows of all that was accepted is within the quota, and a request that still fits is accepted."""
    in_force(site, keys, workers=4)
    at_once(site, *commands)

    def total() -> float:
        if form == "cpu_hours":
            pairs = (line.split(",") for line in queued(site, "%C,%l"))
            return sum(int(cpus) * int(limit.split(":")[0]) / 60 for cpus, limit in pairs)
        return len(queued(site)) if not form else sum(map(int, queued(site, form)))

    assert 0 < total() <= most
    smallest = "-n2 -t10" if form == "cpu_hours" else "-n1 -t10"
    step = 1 / 3 if form == "cpu_hours" else 1
    while total() + step <= most + 1e-9:
        site.submit(*shlex.split(smallest))
    assert "rule:quota" in site.refused(*shlex.split(smallest))


def test_whole_nodes_count_while_they_wait(site: Site) -> None:
    """A job that waits for a whole node counts with all of its CPUs, although Slurm says that it needs one."""
    in_force(site, "cpus = 12")
    site.submit("-t10", "--exclusive", user="bob")
    assert site.cluster.root("squeue", "-h", "-u", "bob", "-o", "%C").stdout.split() == ["1"]
    assert "now 8 CPUs, and the job would add 8 CPUs" in site.refused("-t10", "--exclusive", user="bob")
    site.submit("-t10", "-n4", user="bob")


def test_what_slurm_refuses_is_forgotten(site: Site) -> None:
    """A request that Slurm refuses after the rule, or that was only a test, keeps its place only for seconds."""
    in_force(site, "jobs = 2")
    assert site.run("sbatch", "--test-only", "-t10", "--wrap=true", user="bob").returncode == 0
    assert "Invalid partition" in site.said("sbatch", "-p", "nosuch", "-t10", "--wrap=true", user="bob")
    assert "now 2 jobs" in site.refused("-t10", user="bob")
    site.cluster.wait(lambda: "Submitted" in site.said("sbatch", "--hold", "--wrap=true", user="bob"))


def test_running_jobs_and_updates(site: Site) -> None:
    """Running jobs count with what they have got; an update counts a job once."""
    in_force(site, "cpu_hours = 1")
    site.run("sbatch", "-o", "/dev/null", "-n2", "-t20", "--wrap=sleep 600")
    site.cluster.wait(lambda: queued(site, "%t") == ["R"])
    assert "now 0.7 CPU hours, and the job would add 0.5 CPU hours" in site.refused("-n1", "-t30")
    rows = json.loads(site.run("slurmhooks", "quota", "--json", user="root").stdout)
    assert [(row["rule"], row["whose"], row["what"], row["limit"]) for row in rows] == [
        ("rule:quota", "alice", "cpu_hours", 1.0)
    ]
    assert round(rows[0]["used"], 3) == 0.667
    assert "no job counts" in site.said("slurmhooks", "quota", "--user", "bob", user="root")
    job = site.submit("-n1", "-t10")
    assert site.run("scontrol", "update", f"JobId={job}", "TimeLimit=20").returncode == 0
    assert site.run("scontrol", "update", f"JobId={job}", "TimeLimit=21").returncode != 0


def test_gpus_need_no_slurmdbd(site: Site) -> None:
    """GPUs of waiting and of running jobs count although slurmctld has no TRES for them."""
    with_gpus(site.cluster)
    site.conf("JobSubmitPlugins=python\nGresTypes=gpu\n")
    in_force(site, "gpus = 4")
    site.submit("-t10", "--gpus=1")
    site.run("sbatch", "-o", "/dev/null", "-t10", "--gres=gpu:2", "--wrap=sleep 600")
    site.cluster.wait(lambda: sorted(queued(site, "%t")) == ["PD", "R"])
    assert "now 3 GPUs, and the job would add 2 GPUs" in site.refused("-t10", "--gres=gpu:a100:2")
    site.submit("-t10", "--gres=gpu:1")


def test_a_group_has_one_quota(site: Site) -> None:
    """What squeue shows of all members of a group is within its quota, also when they submit at once."""
    site.cluster.root("sh", "-ec", "groupadd -f project; gpasswd -a alice project; gpasswd -a bob project", check=True)
    in_force(site, 'per = "group"\ngroups = ["project"]\njobs = 5', workers=4)
    with ThreadPoolExecutor() as both:
        parts = both.map(lambda user: at_once(site, *[SBATCH] * 12, user=user), ("alice", "bob"))
        assert sum(parts) == 5
    shown = site.cluster.root("squeue", "-h", "-r", "-o", "%u").stdout.split()
    assert len(shown) == 5
    for whose in (("--group", "project"), ("--user", "alice"), ("--user", "bob", "--group", "project")):
        rows = json.loads(site.run("slurmhooks", "quota", *whose, "--json", user="root").stdout)
        assert [(row["per"], row["whose"], row["used"], row["limit"]) for row in rows] == [
            ("group", "project", 5.0, 5.0)
        ]
    for whose in (("--user", "daemon"), ("--user", "nosuch"), ("--group", "adm")):
        assert "no job counts" in site.said("slurmhooks", "quota", *whose, user="root")
    for user in ("alice", "bob"):
        assert "group project may have at most 5 jobs in the queue; now 5 jobs" in site.refused("-t10", user=user)
    site.cluster.root("scancel", "-u", shown[0])
    site.submit("-t10", user="bob" if shown[0] == "alice" else "alice")
