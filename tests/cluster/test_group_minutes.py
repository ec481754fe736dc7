# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's own GrpTRESMins, of which docs/rules.md says that it counts what ended in a period: nothing of ours runs."""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.cluster import accounting

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.moved, pytest.mark.stopped]

CONF = "PriorityType=priority/multifactor\nPriorityDecayHalfLife=0\nPriorityUsageResetPeriod=MONTHLY\n"
ACCOUNTS = (
    "add account physics GrpTRESMins=cpu=60",
    "add user alice Account=physics",
    "add user bob Account=physics",
)
USERS = ("alice", "bob")
RUNNING, WAITING = "RUNNING,COMPLETING", "PENDING"


@pytest.fixture(scope="module")
def site(cluster: "Cluster") -> "Cluster":
    """A cluster with an account that has an hour of a CPU."""
    accounting.start(cluster, *ACCOUNTS, enforce="limits,safe", plugins="", more=CONF)
    return cluster


def submit(site: "Cluster", user: str, *options: str) -> None:
    """Submit three jobs of 20 CPU minutes each."""
    for _ in range(3):
        job = site.user(user, "sbatch", "-o/dev/null", "-n5", "-t4", *options, "--wrap=exec sleep 600")
        assert job.returncode == 0, job.stderr


def queued(site: "Cluster", states: str, form: str = "%i") -> list[str]:
    """Return a column of squeue."""
    return site.root("squeue", "-h", "-r", "-t", states, "-o", form, check=True).stdout.split()


def end(site: "Cluster") -> None:
    """End all jobs."""
    site.root("scancel", "-A", "physics")
    site.wait(lambda: not queued(site, f"{WAITING},{RUNNING}"))


def used(site: "Cluster") -> int:
    """Return the CPU seconds of the account that count for its limit."""
    shown = site.root("sshare", "-n", "-P", "-A", "physics", "-o", "RawUsage", check=True).stdout
    return int(shown.split()[0])


def recorded(site: "Cluster") -> int:
    """Return the CPU seconds of all jobs in the database."""
    shown = site.root("sacct", "-a", "-D", "-X", "-n", "-P", "-S", "now-1days", "-o", "CPUTimeRAW", check=True).stdout
    return sum(map(int, shown.split()))


def test_running_jobs_are_reserved(site: "Cluster") -> None:
    """Whatever members of an account submit at once, no more starts than its minutes allow; the rest waits."""
    with ThreadPoolExecutor() as both:
        list(both.map(lambda user: submit(site, user), USERS))
    site.wait(lambda: len(queued(site, RUNNING)) == 3)
    site.wait(lambda: set(queued(site, WAITING, "%r")) == {"AssocGrpCPUMinutesLimit"})
    assert len(queued(site, WAITING)) == 3
    site.wait(lambda: min(queued(site, RUNNING, "%M")) > "0:06")
    site.root("scancel", *queued(site, RUNNING)[:2])
    # They have used more than a minute, and Slurm counts whole ones: there is room for one job.
    site.wait(lambda: len(queued(site, RUNNING)) == 2)
    assert set(queued(site, WAITING, "%r")) == {"AssocGrpCPUMinutesLimit"}
    end(site)


def test_what_has_ended_counts_as_in_the_database(site: "Cluster") -> None:
    """Tasks of arrays, cancelled jobs, and each run of one that was requeued count with what they used."""
    before = len(queued(site, "COMPLETED"))
    site.user("alice", "sbatch", "-o/dev/null", "-n1", "-t1", "--array=1-2", "--wrap=sleep 2")
    site.wait(lambda: len(queued(site, "COMPLETED")) == before + 2)
    submit(site, "bob", "--requeue")
    site.wait(lambda: queued(site, RUNNING))
    site.root("scontrol", "requeue", queued(site, RUNNING)[0], check=True)
    end(site)
    site.wait(lambda: 0 < used(site) == recorded(site))


def test_ends_of_slurmctld(site: "Cluster") -> None:
    """A restart keeps what counts; a kill takes it back, at most to when slurmctld has saved its state before."""
    submit(site, "alice")
    site.wait(lambda: queued(site, RUNNING))
    end(site)
    site.wait(lambda: used(site) == recorded(site))
    saved = used(site)
    site.restart("slurmctld")
    site.wait(lambda: used(site) == saved)
    submit(site, "alice")
    site.wait(lambda: queued(site, RUNNING))
    end(site)
    site.root("sh", "-c", "kill -9 $(cat /run/slurmctld.pid)", check=True)
    site.restart("slurmctld")
    assert saved <= used(site) <= recorded(site)
