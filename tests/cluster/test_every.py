# SPDX-License-Identifier: GPL-2.0-or-later
"""Periodic rules, with a real slurmctld."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.standby import standby

EXAMPLE = Path(__file__).parents[2] / "contrib" / "examples" / "never_starts.py"
TOML = '[hooks]\npaths = ["/etc/slurm/hooks.d/*.py"]\n'
HOOKS = """
import os, time
from slurmhooks import Reject, hook, log

def named(jobs, name):
    return [job for job in jobs.values() if job.name == name and job.job_state < 3]

@hook.every("10s")
def acts(jobs, nodes):
    for job in named(jobs, "cancelled"):
        job.cancel("it does nothing")
    for job in named(jobs, "held"):
        job.hold("it can never run")
    for job in named(jobs, "told"):
        job.notify("a line for the owner")
    if os.path.exists("/tmp/drain"):
        nodes["n2"].drain("its disk is full")

@hook.every("10s", mode="observe")
def observes(jobs):
    for job in named(jobs, "observed"):
        job.cancel("some day")

@hook.every("10s", mode="warn", note="from May")
def warns(jobs):
    for job in named(jobs, "warned"):
        job.cancel("soon")

@hook.every("10s", at_most=1)
def many(jobs):
    for job in named(jobs, "many"):
        job.cancel("too many of them")

@hook.every("10s", timeout=1)
def hangs(jobs):
    if named(jobs, "hangs"):
        time.sleep(1000)

@hook.every("10s")
def fails(jobs):
    for job in named(jobs, "fails"):
        job.cancel("never")
        raise KeyError(job.name)
"""
DECISIONS = "/var/log/slurm/slurmhooks/job_submit.jsonl"


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster with periodic rules."""
    cluster.without_spank()
    cluster.put("JobSubmitPlugins=python\n", "/etc/slurm/local.conf")
    cluster.put(TOML, "/etc/slurm/slurmhooks.toml")
    cluster.put(HOOKS, "/etc/slurm/hooks.d/every.py")
    cluster.put(EXAMPLE.read_text().replace('"5m"', '"10s"'), "/etc/slurm/hooks.d/never_starts.py")
    cluster.root("rm", "-f", "/tmp/drain")
    cluster.restart()
    return cluster


def submit(cluster: Cluster, name: str, *options: str) -> str:
    """Submit a job that sleeps; return its id."""
    done = cluster.user(
        "alice", "sbatch", "--parsable", "-J", name, "-o", f"{name}.out", *options, "--wrap", "sleep 600"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def state(cluster: Cluster, job: str) -> str:
    """Return state and reason of a job."""
    return cluster.root("squeue", "-h", "-t", "all", "-j", job, "-o", "%T %r").stdout.strip()


def cancelled(cluster: Cluster, job: str) -> None:
    """Wait until a job is cancelled."""
    cluster.wait(lambda: state(cluster, job).startswith("CANCELLED"), what="cancel")


def decisions(cluster: Cluster) -> list[dict[str, Any]]:
    """Return what the decision log says about periodic rules."""
    lines = cluster.root("cat", DECISIONS).stdout.splitlines()
    return [each for each in map(json.loads, lines) if each.get("hook") == "every"]


def outcomes(cluster: Cluster, handler: str) -> list[str]:
    """Return the outcomes of a handler."""
    return [step["outcome"] for each in decisions(cluster) for step in each["handlers"] if step["handler"] == handler]


def test_actions(site: Cluster) -> None:
    """Actions are taken as the mode says, each once, and are in the decision log; a run that fails takes none."""
    if not site.has_sources:
        site.wait(
            lambda: "every:acts takes jobs, nodes" in site.log() and "public headers" in site.log(), what="reason"
        )
        return
    jobs = {name: submit(site, name, "-n1", "--mem=1") for name in ("cancelled", "told", "observed", "warned", "fails")}
    jobs["held"] = submit(site, "held", "--begin=now+1day")
    many = [submit(site, "many", "--begin=now+1day") for _ in range(2)]
    site.root("touch", "/tmp/drain")
    site.wait(lambda: state(site, jobs["cancelled"]).startswith("CANCELLED"), what="cancel")
    site.wait(lambda: "JobHeldAdmin" in state(site, jobs["held"]), what="hold")
    site.wait(lambda: "its disk is full" in site.root("scontrol", "show", "node", "n2").stdout, what="drain")
    found = ("cancelled", "held", "notified", "drained")
    site.wait(lambda: set(found) <= set(outcomes(site, "every:acts")), what="decisions")
    site.wait(lambda: "would cancel" in outcomes(site, "every:observes"), what="observe")
    site.wait(lambda: "would cancel" in outcomes(site, "every:warns"), what="warn")
    site.wait(lambda: "too many actions" in outcomes(site, "every:many"), what="at_most")
    site.wait(lambda: "failed" in outcomes(site, "every:fails"), what="a bug")
    # One more run: what has been done is not done again.
    runs = outcomes(site, "every:acts").count("done")
    site.wait(lambda: outcomes(site, "every:acts").count("done") >= runs + 2, what="another run")
    seen = outcomes(site, "every:acts")
    assert [seen.count(name) for name in found] == [1, 1, 1, 1], seen
    for name in ("observed", "warned", "fails"):
        assert state(site, jobs[name]).startswith("RUNNING"), name
    assert all(state(site, job).startswith("PENDING") for job in many)
    told = site.root("sh", "-c", "cat /home/alice/told.out")
    assert told.stdout.count("a line for the owner") == 1, told.stdout
    warned = site.root("sh", "-c", "cat /home/alice/warned.out").stdout
    assert warned.count("would cancel this job: soon (from May)") == 1, warned
    site.root("rm", "/tmp/drain")
    site.root("scontrol", "update", "nodename=n2", "state=resume", check=True)
    site.root("scancel", "-u", "alice")
    why = site.root("slurmhooks", "why", jobs["cancelled"])
    assert "it does nothing" in why.stdout, why.stdout + why.stderr


def test_a_rule_that_hangs_is_ended(site: Cluster) -> None:
    """A rule that exceeds its time limit is killed; the other rules go on, and slurmctld answers."""
    if not site.has_sources:
        pytest.skip("the build has only public headers")
    hangs = submit(site, "hangs", "--begin=now+1day")
    site.wait(lambda: "missed the time limit of every:hangs and was killed" in site.log(), what="the end of the rule")
    job = submit(site, "cancelled", "--begin=now+1day")
    site.wait(lambda: state(site, job).startswith("CANCELLED"), what="cancel")
    site.root("scancel", hangs)


def test_killed_processes_double_nothing(site: Cluster) -> None:
    """If the process of the rules and its generation are killed, the rules go on, and a line is written only once."""
    if not site.has_sources:
        pytest.skip("the build has only public headers")
    told = submit(site, "told", "-n1", "--mem=1")
    site.wait(lambda: "notified" in outcomes(site, "every:acts")[-5:], what="notify")
    for name in ("slurmhooks-ever", "slurmhooks-gen"):
        site.root("pkill", "-9", "-x", name)
        job = submit(site, "cancelled", "--begin=now+1day")
        cancelled(site, job)
    text = site.root("sh", "-c", "cat /home/alice/told.out").stdout
    assert text.count("a line for the owner") == 1, text
    site.root("scancel", told)


def test_a_job_that_can_never_start(site: Cluster) -> None:
    """The example cancels a job whose dependency has failed, and no other waiting job."""
    if not site.has_sources:
        pytest.skip("the build has only public headers")
    waits = submit(site, "waits", "--begin=now+1day")
    failed = site.user("alice", "sbatch", "--parsable", "-o", "/dev/null", "--wrap", "false").stdout.strip()
    never = submit(site, "never", f"--dependency=afterok:{failed}")
    site.wait(lambda: state(site, never).startswith("CANCELLED"), what="cancel")
    assert state(site, waits).startswith("PENDING")
    site.root("scancel", waits)


WHERE = """
import os
from slurmhooks import hook

@hook.every("10s")
def where(jobs):
    with open("/var/lib/slurm/where", "a") as file:
        file.write(f"{os.uname().nodename}\\n")
"""


@pytest.mark.one_release
def test_only_the_controller_in_control_runs_rules(site: Cluster) -> None:
    """A standby runs no rule until it takes control; then it does, and the former controller no longer does."""
    site.put(WHERE, "/etc/slurm/hooks.d/where.py")
    site.root("install", "-o", "slurm", "/dev/null", "/var/lib/slurm/where", check=True)

    def hosts() -> list[str]:
        return site.root("cat", "/var/lib/slurm/where").stdout.split()

    with standby(site) as other:
        other.lend_ssh()
        site.root("install", "-o", "slurm", "/dev/null", "/var/lib/slurm/where", check=True)
        site.wait(lambda: len(hosts()) >= 3, what="three runs")
        assert set(hosts()) == {"ctl"}
        site.root("scontrol", "takeover", check=True)
        site.wait(lambda: hosts()[-2:] == ["ctl2", "ctl2"], timeout=100, what="runs of the standby")
        first = hosts().index("ctl2")
        assert set(hosts()[first:]) == {"ctl2"}
