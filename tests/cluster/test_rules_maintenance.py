# SPDX-License-Identifier: GPL-2.0-or-later
"""Whom the rule maintenance tells that a job cannot start, and whom slurmctld starts, by kinds of reservations."""

import re
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import TOML, Site, lend, prepare

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.stopped, pytest.mark.moved]

LINES = """\
PartitionName=default10 Nodes=ALL State=UP DefaultTime=10
PartitionName=one Nodes=n1 State=UP DefaultTime=600
Licenses=matlab:10
SchedulerParameters=bf_interval=1,sched_interval=2
"""
RULE = '[rules]\nnotices = "always"\n[[rule]]\nrule = "maintenance"\n'
SOON = "starttime=now+60minutes duration=120 flags=maint,ignore_jobs"
NOW = "starttime=now duration=120 flags=maint,ignore_jobs"
DAY = "-t 180"
CASES: list[tuple[str, str, bool | None]] = [
    (f"{SOON} nodes=ALL", DAY, True),
    (f"{SOON} nodes=ALL", "-t 30", False),
    (f"{SOON} nodes=ALL", "-t 180 --time-min=30", False),
    (f"{SOON} nodes=ALL", "-p default10", False),
    (f"{SOON} nodes=ALL", "-p one", True),
    (f"{SOON} nodes=ALL", "-p one,default10", True),
    (f"{SOON} nodes=ALL", "", True),
    (f"{SOON} nodes=ALL", "-t UNLIMITED", True),
    (f"{NOW} nodes=ALL", "-t 1", True),
    (f"{NOW} nodes=n2", "-t 1", False),
    (f"{NOW} nodes=n2", "-t 1 -N2", True),
    (f"{NOW} nodes=n2", "-t 1 -w n1", False),
    (f"{NOW} nodes=n2", "-t 1 -w n2", True),
    (f"{NOW} nodes=n2", "-t 1 -x n1", True),
    (f"{NOW} nodes=n2", "-t 1 -p one", False),
    (f"{NOW} nodes=n1", "-t 1 -p one", True),
    (f"{NOW} nodes=ALL users=alice", "-t 1 --reservation=maint", False),
    (f"{NOW},any_nodes licenses=matlab:10 nodecnt=0", "-t 1", False),
    (f"{NOW},magnetic nodes=ALL users=alice", "-t 1", False),
    ("starttime=now duration=120 flags=ignore_jobs nodes=ALL", "-t 1", None),
]
"""Reservations, options of a job, and whether its user is told; None: not, although the job does not start."""


@pytest.fixture(scope="module")
def module_site(cluster: Cluster) -> Site:
    """A site with the rule."""
    if not cluster.has_sources:
        pytest.skip(f"NOT TESTED ON {cluster.release}: Debian has no sources of it")
    return prepare(cluster, f"JobSubmitPlugins=python\n{LINES}")


@pytest.fixture
def site(module_site: Site) -> Iterator[Site]:
    """Lend the site to a test."""
    yield from lend(module_site)


def test_whoever_is_told_does_not_start(site: Site) -> None:
    """A user is told exactly if slurmctld does not start the job because of a maintenance, as far as the rule looks."""
    site.cluster.put(RULE, TOML)
    for reservation, options, told in CASES:
        made = f"scontrol create reservation=maint {'' if 'users=' in reservation else 'users=root'} {reservation}"
        site.cluster.root("sh", "-ec", made, check=True)
        try:
            done = site.cluster.user("alice", "sh", "-c", f"sbatch -o /dev/null {options} --wrap='sleep 60'")
            (number,) = re.findall(r"Submitted batch job (\d+)", done.stdout)
            started = waits_or_starts(site, number)
            assert ("maintenance from" in done.stderr) == bool(told), (reservation, options, done.stderr)
            assert started == (told is False), (reservation, options, started)
        finally:
            site.cluster.root("sh", "-c", "scancel -u alice; scontrol delete reservation=maint")
            site.cluster.wait(lambda: not site.said("squeue", "-h", user="root").strip(), what="an empty queue")
            site.cluster.root("sh", "-c", "scontrol delete reservation=maint")


def waits_or_starts(site: Site, number: str) -> bool:
    """Return whether a job has started, once the scheduler has looked at it; it tells why a job waits."""
    seen = ""

    def decided() -> bool:
        nonlocal seen
        seen = site.said("squeue", "-h", "-j", number, "-o", "%T %r", user="root").strip()
        return seen.startswith(("RUNNING", "COMPLET")) or not seen.endswith(("None", "Priority", "BeginTime"))

    site.cluster.wait(decided, what="a decision of the scheduler")
    if not seen.startswith("PENDING"):
        return True
    # The backfill scheduler, which shortens to --time-min, has had a turn once it begins with the next but one.
    for _ in range(2):
        wait_for_turn(site, number)
    return not site.said("squeue", "-h", "-j", number, "-t", "PENDING", user="root").strip()


def wait_for_turn(site: Site, number: str) -> None:
    """Wait until the backfill scheduler begins, which looks only after a change."""
    before = turns(site)
    site.cluster.root("scontrol", "update", f"jobid={number}", "comment=x")
    site.cluster.wait(lambda: turns(site) > before, what="a turn of the backfill scheduler")


def turns(site: Site) -> int:
    """Return how often the backfill scheduler has begun."""
    return site.cluster.log().count("_attempt_backfill: beginning")
