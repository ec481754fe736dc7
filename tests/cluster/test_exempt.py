# SPDX-License-Identifier: GPL-2.0-or-later
"""`slurmhooks exempt`: an operator lets a user or a job pass, for a time, in a real slurmctld."""

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.job_submit_site import Site, with_records

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped

RULES = '[[rule]]\nrule = "time_ceiling"\nlimit = 60\n\n[[rule]]\nrule = "limit"\nfield = "nodes"\nmost = 1\n'
REASON = ("--reason", "ticket 4711")


@pytest.fixture(scope="module")
def site(cluster: "Cluster") -> Site:
    """A site with two rules in force."""
    return with_records(cluster, RULES)


def exempt(site: Site, *words: str) -> None:
    """Exempt somebody from the rule about time limits."""
    site.cluster.root("slurmhooks", "exempt", "rule:time_ceiling", *words, *REASON, check=True)


def test_a_user(site: Site) -> None:
    """The jobs of a user pass that rule, and no other, once the command has ended; `rollback` ends that."""
    assert "at most 01:00:00" in site.refused("-t61")
    exempt(site, "--user", "alice", "--name", "course", "--until", "4h")
    job = site.submit("-t61", "-J", "course")
    for options, user in ((("-t61",), "alice"), (("-t61", "-J", "course"), "bob"), (("-N2", "-J", "course"), "alice")):
        assert "at most" in site.refused(*options, user=user)
    logged = "rule:time_ceiling: passed; exempt until"
    site.cluster.wait(lambda: logged in site.said("slurmhooks", "why", job, user="root"))
    assert "user alice name course: time_ceiling until" in site.said("slurmhooks", "status", user="root")
    audit: dict[str, Any] = json.loads(site.run("slurmhooks", "audit", "--json", user="root").stdout)
    assert [(each["user"], [*each["rules"]]) for each in audit["exempt"]] == [("alice", ["rule:time_ceiling"])]
    site.cluster.root("slurmhooks", "rollback", check=True)
    assert "at most 01:00:00" in site.refused("-t61", "-J", "course")


def test_a_job(site: Site) -> None:
    """The updates of a job pass, also of the tasks of an array; those of others do not."""
    job, array, other = site.submit("-t60"), site.submit("-t60", "--array=1-3"), site.submit("-t60")
    for number in (job, array):
        exempt(site, "--job", number, "--until", "4h")
    for target in (job, f"{array}_2", array):
        done = site.run("scontrol", "update", f"JobId={target}", "TimeLimit=90", user="root")
        assert done.returncode == 0, done.stderr
    site.cluster.root("scontrol", "update", f"JobId={job}", "TimeLimit=50", check=True)
    for target, passes in ((job, True), (f"{array}_1", True), (other, False)):
        done = site.run("scontrol", "update", f"JobId={target}", "Partition=debug", "TimeLimit=70")
        assert (done.returncode == 0) == passes, (target, done.stderr)


def test_its_end(site: Site) -> None:
    """It ends by itself, in the worker that has loaded the set, without another command."""
    site.cluster.root("sh", "-ec", "date -d '+3 seconds' +%Y-%m-%dT%H:%M:%S > /tmp/until")
    exempt(site, "--user", "alice", "--until", site.cluster.root("cat", "/tmp/until").stdout.strip())
    site.cluster.wait(lambda: "at most" in site.said("sbatch", "-o", "/dev/null", "-t61", "--test-only", "--wrap=true"))
