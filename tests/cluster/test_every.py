# SPDX-License-Identifier: GPL-2.0-or-later
"""Periodic handlers, with a real slurmctld."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.test_every_examples import QUICK

pytestmark = pytest.mark.stopped

EXAMPLE = Path(__file__).parents[2] / "contrib" / "examples" / "never_starts.py"
TOML = '[hooks]\npaths = ["hooks.d/*.py"]\n'
HOOKS = """
import os, random, subprocess, time
from slurmhooks import Reject, hook, log

def named(jobs, name):
    return [job for job in jobs.values() if job.name == name and job.job_state < 3]

@hook.every("2s")
def kills():
    # As SlurmUser: ends processes while acts() acts, some milliseconds later.
    if os.path.exists("/tmp/kill"):
        names = open("/tmp/kill").read().split()
        open("/tmp/kill", "w").close()
        for name in names:
            wait = random.uniform(0, 0.03)
            subprocess.Popen(["sh", "-c", f"sleep {wait}; pkill -9 -x {name}"], start_new_session=True)

@hook.every("2s", at_most=100)
def acts(jobs, nodes):
    for job in jobs.values():
        kind = job.name.partition("-")[0] if job.job_state < 3 else ""
        if kind == "cancel":
            if job.job_state == 1 or "waiting" in job.name or job.name == "cancel-one":
                job.cancel("it does nothing")
        elif kind == "hold":
            job.hold("it can never run")
        elif kind == "release":
            job.release()
        elif kind == "requeue" and job.job_state == 1 and not job.restart_cnt:
            job.requeue()
        elif kind == "killed" and job.job_state == 1 and not job.restart_cnt:
            if os.path.exists("/tmp/armed-" + job.name):
                job.requeue()
        elif kind == "update":
            job.update(comment="new", time_limit=77)
        elif kind == "tell":
            job.notify("a line for the owner")
        elif kind == "ends" and job.job_state == 1:
            job.requeue()
            subprocess.run(["scancel", str(job.job_id)])
            time.sleep(0.5)
    if os.path.exists("/tmp/round1"):
        nodes["n2"].drain("its disk is full")
        nodes["n2"].update(comment="spare", weight=7, features="a,b")
        nodes["n1"].undrain()
    if os.path.exists("/tmp/round2"):
        nodes["n2"].undrain()
        nodes["n1"].undrain("by hand")

@hook.every("2s", mode="observe")
def observes(jobs):
    for job in named(jobs, "observed"):
        job.cancel("some day")

@hook.every("2s", mode="warn", note="from May")
def warns(jobs):
    for job in named(jobs, "warned"):
        job.cancel("soon")

@hook.every("2s", at_most=1)
def many(jobs):
    for job in named(jobs, "many") if os.path.exists("/tmp/many") else ():
        job.cancel("too many of them")

@hook.every("2s", timeout=1)
def hangs(jobs):
    if named(jobs, "hangs"):
        time.sleep(1000)

@hook.every("2s")
def fails(jobs):
    for job in named(jobs, "fails"):
        job.cancel("never")
        raise KeyError(job.name)
"""
WAITS, RUNS, HET = ("--begin=now+1day",), (), (":", "-n1", "--mem=1")
SHAPES = {
    "cancel-one": WAITS,
    "cancel-running": RUNS,
    "cancel-tasks": ("--array=0-1",),
    "cancel-waiting": (*WAITS, "--array=0-9:3"),
    "cancel-het": HET,
    "cancel-waiting_het": (*WAITS, *HET),
    "hold-one": WAITS,
    "hold-waiting": (*WAITS, "--array=1,4,7%2"),
    "hold-het": (*WAITS, *HET),
    "release-one": ("-H", *WAITS),
    "release-waiting": ("-H", *WAITS, "--array=1-3"),
    "release-het": ("-H", *WAITS, *HET),
    "requeue-one": RUNS,
    "requeue-tasks": ("--array=0-1",),
    "requeue-het": HET,
    "update-one": RUNS,
    "update-waiting": (*WAITS, "--array=1-3"),
    "update-het": (*WAITS, *HET),
    "tell-one": RUNS,
    "observed": RUNS,
    "warned": RUNS,
    "fails": RUNS,
}
"""Options of sbatch for jobs of each shape, by their names, which begin with what acts() does to them."""
AFTERWARDS = {
    "cancel": "CANCELLED ",
    "hold": "PENDING JobHeldAdmin",
    "release": "PENDING BeginTime",
    "requeue": "PENDING BeginTime",
    "update": " new 1:17:00",
    "tell": "RUNNING ",
    "observed": "RUNNING ",
    "warned": "RUNNING ",
    "fails": "RUNNING ",
}
"""What squeue says of each row of such a job in the end."""
PROLOG = """#!/bin/sh
# During the prolog jobs count as running, but slurmd drops lines to them.
case "$(scontrol --oneliner show job $SLURM_JOB_ID)" in *JobName=tell* | *JobName=warned*) sleep 4 ;; esac
exit 0
"""
JOB_STATE = "/var/lib/slurm/slurmctld/job_state"
DECISIONS = "/var/log/slurm/slurmhooks/job_submit.jsonl"


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster with periodic handlers."""
    cluster.put("JobSubmitPlugins=python\nProlog=/opt/prolog\n", "/etc/slurm/local.conf")
    cluster.put(PROLOG, "/opt/prolog", mode=0o755)
    cluster.put(TOML, "/etc/slurm/slurmhooks.toml")
    cluster.put(QUICK, "/etc/slurm/hooks.d/a_quick.py")
    cluster.put(HOOKS, "/etc/slurm/hooks.d/every.py")
    cluster.put(EXAMPLE.read_text().replace('"5m"', '"2s"'), "/etc/slurm/hooks.d/never_starts.py")
    if not cluster.has_sources:
        said = cluster.refusal()
        assert "every:acts takes jobs, nodes: this build has only Slurm's public headers" in said
        pytest.skip("the build has only public headers")
    cluster.root("sh", "-c", "rm -f /tmp/round? /tmp/armed-* /tmp/many; install -o slurm /dev/null /tmp/kill")
    cluster.restart()
    return cluster


def submit(cluster: Cluster, name: str, *options: str) -> str:
    """Submit a job that sleeps; return its id."""
    # sbatch takes what follows a colon for the next component, except the command.
    first, second = (options[: options.index(":")], options[options.index(":") :]) if ":" in options else (options, ())
    common = ("--parsable", "-J", name, "-n1", "--mem=1", "-o", f"{name}.out", "--wrap", "sleep 600")
    done = cluster.user("alice", "sbatch", *common, *first, *second, check=True)
    return done.stdout.strip()


def rows(cluster: Cluster) -> dict[str, list[str]]:
    """Return state, reason, comment and time limit of each job, component and task, by the names of jobs."""
    lines = cluster.root("squeue", "-h", "-a", "-r", "-t", "all", "-o", "%j|%T %r %k %l").stdout.splitlines()
    found: dict[str, list[str]] = {}
    for name, _, rest in (line.partition("|") for line in lines):
        found.setdefault(name, []).append(rest)
    return found


def log(cluster: Cluster) -> str:
    """Return slurmctld's log."""
    return cluster.root("cat", "/var/log/slurm/slurmctld.log").stdout


def state(cluster: Cluster, job: str) -> str:
    """Return state and reason of a job."""
    return cluster.root("squeue", "-h", "-t", "all", "-j", job, "-o", "%T %r").stdout.strip()


def decisions(cluster: Cluster) -> list[dict[str, Any]]:
    """Return what the decision log says about periodic handlers."""
    lines = cluster.root("cat", DECISIONS).stdout.splitlines()
    return [each for each in map(json.loads, lines) if each.get("hook") == "every"]


def outcomes(cluster: Cluster, handler: str) -> list[str]:
    """Return the outcomes of a handler."""
    return [step["outcome"] for each in decisions(cluster) for step in each["handlers"] if step["handler"] == handler]


def output(cluster: Cluster, name: str) -> str:
    """Return the output of a job."""
    return cluster.root("cat", f"/home/alice/{name}.out").stdout


def restarts(cluster: Cluster, job: str) -> int:
    """Return how often a job was requeued."""
    text = cluster.root("scontrol", "show", "job", job).stdout
    return int(text.partition("Restarts=")[2].split()[0])


@pytest.mark.each_release
def test_actions(site: Cluster) -> None:
    """Actions are taken as the mode says, on jobs of each shape, each once; a run that fails takes none."""
    jobs = {name: submit(site, name, *options) for name, options in SHAPES.items()}
    jobs["ends"] = submit(site, "ends")
    many = [submit(site, "many", *WAITS) for _ in range(2)]
    site.root("touch", "/tmp/many")
    failed = site.user("alice", "sbatch", "--parsable", "-o", "/dev/null", "--wrap", "false").stdout.strip()
    jobs["never"] = submit(site, "never", f"--dependency=afterok:{failed}")
    jobs["waits"] = submit(site, "waits", *WAITS)

    def differ() -> dict[str, list[str]]:
        """Return the jobs that are not yet as they are in the end."""
        now = rows(site)
        return {
            name: now.get(name, [])
            for name in SHAPES
            if not (each := now.get(name)) or not all(AFTERWARDS[name.partition("-")[0]] in row for row in each)
        }

    site.wait(lambda: not differ(), what="end of all actions")
    site.wait(lambda: state(site, jobs["never"]).startswith("CANCELLED"), what="cancel of a job that can never start")
    assert state(site, jobs["waits"]).startswith("PENDING")
    # Nodes: what the rule has drained is undrained; what an administrator has drained, only by its reason.
    site.root("scontrol", "update", "nodename=n1", "state=drain", "reason=by hand", check=True)
    site.root("touch", "/tmp/round1")
    site.wait(lambda: outcomes(site, "every:acts").count("drained") == 1, what="drain")
    site.wait(lambda: "this rule has not drained it: its reason is 'by hand'" in log(site), what="skipped undrain")
    node = site.root("scontrol", "show", "node", "n2").stdout
    assert all(text in node for text in ("its disk is full (every:acts)", "Comment=spare", "Weight=7", "=a,b")), node
    assert "DRAIN" in site.root("scontrol", "show", "node", "n1").stdout
    site.root("mv", "/tmp/round1", "/tmp/round2")
    site.wait(lambda: outcomes(site, "every:acts").count("undrained") == 2, what="undrain")
    site.root("rm", "/tmp/round2")
    nodes = site.root("scontrol", "show", "node").stdout
    assert "DRAIN" not in nodes, nodes
    site.wait(lambda: "notified" in outcomes(site, "every:acts"), what="line after the prolog")
    # By now there were several runs: nothing was done twice.
    assert not differ()
    assert "its script has not begun" in log(site)
    told = [line for line in log(site).split("\n") if "slurm_job_step_get_pids" in line]
    assert told
    assert all("debug:" in line for line in told), told
    seen = outcomes(site, "every:acts")
    counts = {name: seen.count(name) for name in ("cancelled", "held", "released", "requeued", "notified", "failed")}
    # A task of an array is a job of its own; all components of a heterogeneous job are one for Slurm.
    assert counts == {"cancelled": 7, "held": 3, "released": 3, "requeued": 4, "notified": 1, "failed": 0}, seen
    assert seen.count("updated") == 5, seen  # two components, and the node
    ended = [each for each in decisions(site) if each.get("job_id") == int(jobs["ends"])]
    assert {each["verdict"] for each in ended} == {"skipped"}, ended
    assert "would cancel" in outcomes(site, "every:observes")
    assert "would cancel" in outcomes(site, "every:warns")
    assert "too many actions" in outcomes(site, "every:many")
    assert "failed" in outcomes(site, "every:fails")
    assert all(state(site, job).startswith("PENDING") for job in many)
    for name, line in (("tell-one", "a line for the owner"), ("warned", "would cancel this job: soon (from May)")):
        # slurmctld sends such lines later.
        site.wait(lambda name=name, line=line: line in output(site, name), what="line")  # type: ignore[misc]
        assert output(site, name).count(line) == 1
    site.root("scancel", "-u", "alice")
    for job, text in (("cancel-one", "it does nothing"), ("requeue-one", "requeued"), ("update-one", "time_limit=77")):
        why = site.root("slurmhooks", "why", jobs[job])
        assert text in why.stdout, why.stdout + why.stderr


def test_killed_processes_double_nothing(site: Cluster) -> None:
    """If any process is killed while actions are taken, or for its time limit, each action is still taken once."""
    hangs = submit(site, "hangs", *WAITS)
    site.wait(lambda: "missed the time limit of every:hangs and was killed" in log(site), what="the end of the rule")
    done = outcomes(site, "every:fails").count("done")
    site.wait(lambda: outcomes(site, "every:fails").count("done") >= done + 2, what="runs of the rule after that one")
    assert "failed" in outcomes(site, "every:hangs")
    site.root("scancel", hangs)
    told = [submit(site, f"tell-{number}") for number in range(3)]
    jobs: list[str] = []
    for names in ("slurmhooks-ever slurmhooks-coll", "slurmhooks-gen slurmhooks-work", "slurmhooks-sup slurmctld"):
        name = f"killed-{len(jobs)}"
        jobs += [submit(site, name) for _ in range(4)]
        site.wait(lambda name=name: all("RUNNING" in row for row in rows(site)[name]), what="start")  # type: ignore[misc]
        if "slurmctld" in names:
            before = jobs[:-4]
            site.wait(lambda before=before: all(restarts(site, job) for job in before), what="actions")  # type: ignore[misc]
            text = site.root("sh", "-c", "cat /home/alice/tell-?.out").stdout
            assert text.count("a line for the owner") <= len(told), text
            # What slurmctld has not saved when it is killed, it forgets, and the rule does it again.
            site.root("touch", "/tmp/acted", check=True)
            site.root("scontrol", "update", f"jobid={told[0]}", "comment=saved", check=True)
            site.wait(lambda: site.root("test", JOB_STATE, "-nt", "/tmp/acted").returncode == 0, what="saved state")
        site.root("sh", "-c", f"echo {names} > /tmp/kill; touch /tmp/armed-{name}")
        site.wait(lambda: not site.root("cat", "/tmp/kill").stdout.strip(), what="kill")
    site.wait(lambda: site.root("pgrep", "-x", "slurmctld").returncode != 0, what="end of slurmctld")
    site.restart("slurmctld")
    done = outcomes(site, "every:acts").count("done")
    site.wait(lambda: outcomes(site, "every:acts").count("done") >= done + 2, what="two runs")
    # A slurmctld that is killed forgets what it has not saved yet, so it may not know of the last actions.
    counts = [restarts(site, job) for job in jobs]
    assert counts[:-4] == [1] * (len(jobs) - 4), counts
    assert max(counts[-4:]) <= 1, counts
    site.root("sh", "-c", "rm /tmp/armed-*; scancel -u alice")


LISTS = """
import ctypes, glob, random

slurm = ctypes.CDLL(glob.glob("/usr/**/libslurmfull.so", recursive=True)[0])
pointer = ctypes.c_void_p
match = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)
for name in ("create", "iterator_create", "next"):
    getattr(slurm, "slurm_list_" + name).restype = pointer

def check(chance):
    jobs = pointer(slurm.slurm_list_create(None))
    here, came, read, readers = set(), 0, {}, {}
    def come(count):
        nonlocal came
        for came in range(came + 1, came + 1 + count):
            slurm.slurm_list_append(jobs, pointer(came))
            here.add(came)
    come(chance.randrange(200))
    stay = set(here)
    for number in range(3):
        readers[number], read[number] = pointer(slurm.slurm_list_iterator_create(jobs)), []
    while readers:
        for number, iterator in list(readers.items()):
            for _ in range(chance.randrange(20)):
                job = slurm.slurm_list_next(iterator)
                if job is None:
                    slurm.slurm_list_iterator_destroy(readers.pop(number))
                    break
                assert job in here
                read[number].append(job)
        gone = set(chance.sample(sorted(here), min(len(here), chance.randrange(20))))
        slurm.slurm_list_delete_all(jobs, match(lambda job, _: int(job in gone)), None)
        here.difference_update(gone)
        stay.difference_update(gone)
        come(chance.randrange(10))
    for jobs_read in read.values():
        assert len(jobs_read) == len(set(jobs_read))
        assert stay <= set(jobs_read)

for seed in range(100):
    check(random.Random(seed))
"""


def test_iterators_of_slurm_move(site: Cluster) -> None:
    """What a list of this release has from begin to end, an iterator reads once, also if others come and go."""
    site.root("python3", "-", input=LISTS, check=True)
