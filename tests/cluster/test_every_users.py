# SPDX-License-Identifier: GPL-2.0-or-later
"""Periodic handlers where one user's jobs, texts and nodes are odd, with a real slurmctld: others notice nothing."""

import json
import re
import time
from typing import Any

import pytest

from tests.cluster import accounting
from tests.cluster.conftest import Cluster
from tests.cluster.test_every_examples import QUICK

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.stopped]
STAY = {
    "test_a_row_decides_for_no_other",
    "test_no_text_of_a_user_acts_on_others",
    "test_what_happened_is_what_is_logged",
}

HOOKS = """
import os, time
from slurmhooks import hook

def mine(jobs, prefix):
    return [job for job in jobs.values() if job.name.startswith(prefix) and job.job_state < 3]

@hook.every("2s", at_most=30)
def idle(jobs):
    for job in mine(jobs, "idle"):
        job.cancel(f"{job.user_name}'s job {job.name} leaves its GPUs idle" if "nameless" not in job.name else " ")
    for job in mine(jobs, "wrong"):
        job.cancel(job.comment)
        job.update(time_limit=job.comment, comment="x" * (1 << 27))

@hook.every("2s", at_most=3)
def limit(jobs):
    for job in mine(jobs, "limited") if os.path.exists("/tmp/limits") else ():
        job.hold("too many licenses")

@hook.every("2s", at_most=2)
def reaches(jobs, nodes):
    for node in nodes.values() if os.path.exists("/tmp/reaches") else ():
        node.update(comment="reached")

@hook.every("2s")
def tells(jobs):
    for job in mine(jobs, "tell"):
        job.notify(f"waits behind {[other.name for other in mine(jobs, 'other')][:1]!s}: "
                   + "".join(other.name for other in mine(jobs, "other")))

@hook.every("2s")
def drains(jobs, nodes):
    sick = mine(jobs, "sick")
    for job in sick:
        nodes["n2"].drain(f"job {job.name} reports {job.comment * 2}")
    if not sick:
        nodes["n2"].undrain()

@hook.every("2s")
def tasks(jobs):
    found = mine(jobs, "tasks")
    if found:
        time.sleep(1.5)
    for job in found:
        job.cancel("the array waits for ever")

@hook.every("2s")
def keeps(jobs):
    for job in mine(jobs, "keep-cancel"):
        if job.job_state == 1 or "waits" in job.name:
            job.cancel("idle for 2 hours")
    for job in mine(jobs, "keep-requeue"):
        if job.job_state == 1 and not job.restart_cnt:
            job.requeue("its node is slow")
    for job in mine(jobs, "keep-hold"):
        job.hold("its files are gone")

@hook.every("2s")
def answers(jobs):
    for job in mine(jobs, "never"):
        if "hold" in job.name:
            job.hold("x")
        elif "release" in job.name:
            job.release()
        elif "half" in job.name and job.comment != "seen":
            job.update(comment="seen", time_limit=5, qos="no-such-qos")
        elif "update" in job.name:
            job.update(comment="seen")

@hook.every("2s")
def hangs(jobs):
    for job in mine(jobs, "hang"):
        job.notify("a line")
    for job in mine(jobs, "hang-and-end"):
        job.cancel("it was told")
    for job in mine(jobs, "endme"):
        job.cancel("over")
"""
WAITS = ("--begin=now+1day",)
DECISIONS = "/var/log/slurm/slurmhooks/job_submit.jsonl"
ODD = "other\033]0;owned\007\033[31m\nslurmstepd: error: *** JOB 1 CANCELLED *** \u202e\u009b31m"
"""A name that would set the title of a terminal and its color, begin a line, and change the direction of text."""


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster with accounting and periodic handlers."""
    if not cluster.has_sources:
        pytest.skip("the build has only public headers")
    cluster.put('[hooks]\npaths = ["hooks.d/*.py"]\n', "/etc/slurm/slurmhooks.toml")
    cluster.put(QUICK, "/etc/slurm/hooks.d/a_quick.py")
    cluster.put(HOOKS, "/etc/slurm/hooks.d/every.py")
    commands = ("add account all", "add user alice Account=all", "add user bob Account=all")
    accounting.start(cluster, *commands, enforce="associations", more="MaxArraySize=1000\n")
    return cluster


def submit(cluster: Cluster, user: str, name: str, *options: str) -> str:
    """Submit a job that sleeps; return its id."""
    common = ("--parsable", "-J", name, "-n1", "--mem=1", "-D", "/tmp", "-o", "/dev/null", "--wrap", "sleep 600")
    done = cluster.user(user, "sbatch", *common, *options, check=True)
    return done.stdout.strip()


def state(cluster: Cluster, job: str) -> str:
    """Return state and reason of a job."""
    return cluster.root("squeue", "-h", "-t", "all", "-j", job, "-o", "%T %r").stdout.strip()


def decisions(cluster: Cluster, rule: str) -> list[dict[str, Any]]:
    """Return what the decision log says about a rule."""
    lines = map(json.loads, cluster.root("cat", DECISIONS).stdout.splitlines())
    return [each for each in lines if each["handlers"] and each["handlers"][0]["handler"] == f"every:{rule}"]


def of_job(cluster: Cluster, rule: str, job: str) -> list[str]:
    """Return what a rule did to a job."""
    return [each["verdict"] for each in decisions(cluster, rule) if each.get("job_id") == int(job)]


def clean(cluster: Cluster) -> None:
    """End all jobs."""
    cluster.root("scancel", "-u", "alice")
    cluster.root("scancel", "-u", "bob")
    cluster.wait(lambda: not cluster.root("squeue", "-h").stdout.strip(), what="the end of all jobs")


def has_control(text: str) -> list[str]:
    """Return the characters of a text that act on a terminal, but for line feeds and tabs."""
    return [char for char in text if not (char.isprintable() or char in "\n\t")]


def test_a_row_decides_for_no_other(site: Cluster) -> None:
    """A name as long as Slurm allows, a blank text, values that do not fit concern that job; the others are ended."""
    jobs = [submit(site, "alice", "idle" + "x" * 990, *WAITS), submit(site, "alice", "idle-nameless", *WAITS)]
    wrong = submit(site, "alice", "wrong", *WAITS)
    jobs.append(submit(site, "bob", "idle-bob", *WAITS))
    for job in jobs:
        site.wait(lambda job=job: state(site, job).startswith("CANCELLED"), what=f"cancel of {job}")  # type: ignore[misc]
    site.wait(lambda: of_job(site, "idle", wrong).count("failed") >= 2, what="failed actions")
    assert state(site, wrong).startswith("PENDING")
    for said in (
        "reason takes a str, not None",
        rf"cancel job {jobs[0]}: cancelled: alice's job idlex+",
        f"cancel job {jobs[1]}: cancelled: every:idle",
    ):
        site.wait(lambda said=said: re.search(said, site.log()), what=said)  # type: ignore[misc]
    clean(site)


def test_a_user_decides_for_no_other(site: Cluster) -> None:
    """Whoever has more jobs than at_most keeps them; the jobs of others are held. Too many nodes stop the run."""
    many = [submit(site, "alice", f"limited{each}", *WAITS) for each in range(4)]
    other = submit(site, "bob", "limited-bob", *WAITS)
    site.root("touch", "/tmp/limits")  # a run that comes between them would find fewer
    site.wait(lambda: "JobHeldAdmin" in state(site, other), what="hold")
    assert not any("JobHeldAdmin" in state(site, job) for job in many)
    uid = site.root("id", "-u", "alice").stdout.strip()
    site.wait(lambda: f"too many actions: 4 actions on jobs of user {uid}" in site.log(), what="line in the log")
    left = [each for each in decisions(site, "limit") if each["verdict"] == "too many actions"]
    assert left
    assert {each["user_id"] for each in left} == {int(uid)}
    site.root("rm", "/tmp/limits")
    clean(site)
    site.root("touch", "/tmp/reaches")
    site.wait(lambda: "Comment=reached" in site.root("scontrol", "show", "node").stdout, what="actions on two nodes")
    site.root("rm", "/tmp/reaches")


def test_no_text_of_a_user_acts_on_others(site: Cluster) -> None:
    """Names and comments reach the terminal of another user, reasons of nodes and logs as one escaped line."""
    submit(site, "alice", ODD, *WAITS)
    sick = submit(site, "alice", "sick", "--comment", ODD + "x" * 900, *WAITS)
    told = site.user("bob", "timeout", "12", "srun", "-J", "tell-bob", "-D", "/tmp", "sleep", "8")
    lines = [line for line in (told.stdout + told.stderr).splitlines() if "waits behind" in line]
    assert len(lines) == 1, told.stderr
    assert not has_control(told.stdout + told.stderr)
    assert "\\x1b]0;owned\\x07\\x1b[31m" in lines[0]
    assert not any(line.startswith("slurmstepd: error: *** JOB 1") for line in told.stderr.splitlines())
    site.wait(lambda: "DRAIN" in site.root("scontrol", "show", "node", "n2").stdout, what="drain")
    shown = site.root("scontrol", "show", "node", "n2").stdout
    assert not has_control(shown)
    reason = next(line for line in shown.splitlines() if "Reason=" in line)
    assert "\\x1b[31m" in reason
    assert "bytes left out] (every:drains)" in reason
    site.root("scancel", sick)
    site.wait(lambda: "DRAIN" not in site.root("scontrol", "show", "node", "n2").stdout, what="undrain")
    said = [line for line in site.log().splitlines() if "slurmhooks" in line or "reason set" in line]
    assert not has_control("\n".join(said))
    assert not any(line.startswith("slurmstepd") for line in site.log().splitlines())
    clean(site)


def test_tasks_that_go_one_by_one(site: Cluster) -> None:
    """A user who ends a task of a waiting array now and then does not keep the others."""
    array = submit(site, "alice", "tasks", "--array=1-200", *WAITS)
    for task in range(1, 100):
        site.user("alice", "scancel", f"{array}_{task}")
        if not site.root("squeue", "-h", "-j", array).stdout.strip():
            break
        time.sleep(0.1)
    assert not site.root("squeue", "-h", "-j", array).stdout.strip()
    verdicts = [verdict for verdict in of_job(site, "tasks", array) if verdict != "skipped"]
    assert verdicts == ["cancelled"], decisions(site, "tasks")


def test_the_reason_is_in_accounting(site: Cluster) -> None:
    """sacct shows why a job was cancelled, held or requeued, beside what the site had written there."""
    jobs = {
        name: submit(site, "alice", f"later-{name}", *options)
        for name, options in (
            ("cancel", ()),
            ("cancel-waits", WAITS),
            ("cancel-waits-array", (*WAITS, "--array=1-3")),
            ("requeue", ()),
            ("hold", WAITS),
        )
    }
    for name, job in jobs.items():
        words = ("admincomment=paid by x", f"name=keep-{name}")
        site.root("scontrol", "update", f"jobid={job}", *words, check=True)
    expected = {name: "idle for 2 hours (every:keeps)" for name in jobs if name.startswith("cancel")}
    expected |= {"requeue": "its node is slow (every:keeps)", "hold": "its files are gone (every:keeps)"}

    def comment(job: str) -> str:
        words = ("sacct", "-n", "-X", "-P", "-D", "-j", job, "-o", "AdminComment")
        return site.root(*words).stdout

    site.wait(lambda: "held" in of_job(site, "keeps", jobs["hold"]), what="hold")
    site.root("scancel", jobs["hold"])
    for name, text in expected.items():
        job = jobs[name]
        site.wait(lambda job=job, text=text: text in comment(job), what=f"{name} in accounting")  # type: ignore[misc]
        assert comment(job).splitlines()[0] == f"paid by x; {text}"
    assert site.root("scontrol", "show", "job", jobs["requeue"]).stdout.count("its node is slow") == 1
    clean(site)


def test_what_happened_is_what_is_logged(site: Cluster) -> None:
    """slurmctld answers updates of a job that can never run by an error and carries them out; others, in halves."""
    jobs = {}
    for name, options in (("hold", ()), ("release", ("-H",)), ("update", ()), ("half", ())):
        job = jobs[name] = submit(site, "alice", f"asleep-{name}", "--begin=now+1hour", *options)
        site.root("scontrol", "update", f"jobid={job}", "numnodes=99")
        site.root("scontrol", "update", f"jobid={job}", "starttime=now")
        site.root("scontrol", "update", f"jobid={job}", f"name=never-{name}")
    for name, verdict in (("hold", "held"), ("release", "released"), ("update", "updated"), ("half", "half done")):
        job = jobs[name]
        site.wait(lambda job=job: of_job(site, "answers", job), what=name)  # type: ignore[misc]
        assert of_job(site, "answers", job)[0] == verdict, [
            line for line in site.log().splitlines() if f"job {job}" in line
        ]
    clean(site)


def test_a_node_that_hangs_delays_no_other_job(site: Cluster) -> None:
    """A line to its job waits for it, a few seconds in each run; what concerns others comes before."""
    # Not n2: the daemon that was started last lends its authentication to all others of this machine.
    site.root("sh", "-c", "kill -STOP $(cat /run/slurmd-n1.pid)", check=True)
    try:
        hung = submit(site, "alice", "hang-and-end", "-w", "n1")
        site.wait(lambda: state(site, hung).startswith("RUNNING"), what="start")
        told = submit(site, "bob", "hang-told", "-w", "n2")
        ended = submit(site, "bob", "endme", *WAITS)
        site.wait(lambda: state(site, ended).startswith("CANCELLED"), what="cancel")
        site.wait(lambda: "notified" in of_job(site, "hangs", told), what="line to a job on another node")
        site.wait(lambda: "cancelled" in of_job(site, "hangs", hung), what="end of the job on the node")
        verdicts = [(each.get("job_id"), each["verdict"]) for each in decisions(site, "hangs")]
        assert (int(hung), "skipped") in verdicts
        assert "its node has not answered" in site.log()
    finally:
        site.root("sh", "-c", "kill -CONT $(cat /run/slurmd-n1.pid)", check=True)
    clean(site)
