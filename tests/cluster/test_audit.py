# SPDX-License-Identifier: GPL-2.0-or-later
"""`slurmhooks audit` and `try every`, with a real slurmctld."""

import json
from typing import Any

import pytest

from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.stopped, pytest.mark.moved]

TOML = """
[hooks]
paths = ["hooks.d/*.py"]

[[rule]]
rule = "time_ceiling"
limit = "10:00:00"

[[rule]]
rule = "cpu_count"
most = 4

[[rule]]
rule = "memory_ceiling"
per_node = "3000M"

[[rule]]
rule = "require_account"
partitions = ["other"]

[[rule]]
rule = "array_size"
most = 3

[[rule]]
rule = "script_content"
forbidden = ['^\\\\s*mpirun\\\\b']

[[rule]]
rule = "mail_address"
domains = ["example.org"]

[[rule]]
rule = "time_ceiling"
name = "observed"
limit = "1:00"
mode = "observe"
"""
HOOKS = """
from slurmhooks import Reject, hook

@hook.job_submit
def rules(job, jobs):
    if job.name == "env" and "SECRET" in job.environment:
        raise Reject("no SECRET")
    if job.name == "untimed" and job.time_limit is None:
        raise Reject("please give a time")
    if job.name == "many" and len(jobs.of_user(job.user_id)) > 5:
        raise Reject("too many jobs")
    if job.name == "writes":
        job.comment = "from the rule"
    if job.name == "buggy":
        raise KeyError(job.name)
"""
EVERY = """
from slurmhooks import hook

@hook.every("1h")
def long(jobs, nodes):
    for job in jobs.where(name="long"):
        job.cancel("too long")
    nodes["n1"].drain("old")

@hook.every("1h", at_most=1)
def none(nodes):
    nodes["n1"].drain("old")
    nodes["n2"].drain("old")

@hook.every("1h", mode="observe")
def observed(jobs):
    for job in jobs.where(name="short"):
        job.hold("some day")
"""
JOBS = {
    "short": ("-t10",),
    "long": ("-t601",),
    "het": ("-t10", ":", "-n6"),
    "cpus": ("-t10", "-n6"),
    "spread": ("-t10", "-n3", "-c2"),
    "memory": ("-t10", "--mem=3500"),
    "per_cpu": ("-t10", "-n2", "--mem-per-cpu=1000"),
    "other": ("-t10", "-pother"),
    "array": ("-t10", "--array=0-5"),
    "env": ("-t10",),
    "untimed": (),
    "many": ("-t10",),
    "writes": ("-t10",),
    "buggy": ("-t10",),
    "mpirun": ("-t10",),
    "mail": ("-t10", "--mail-user=a@example.net"),
    "dependent": ("-t10", "--dependency=afterany:1"),
}
"""Options of sbatch, by the names of jobs."""
DECIDED = {
    "short",
    "mail",
    "long",
    "cpus",
    "spread",
    "memory",
    "per_cpu",
    "many",
    "writes",
    "buggy",
    "mpirun",
    "dependent",
}
"""Jobs whose records say enough."""


CRONTAB = "#SCRON -t10 -n6 -J cron -o /dev/null\n0 0 1 1 * true\n"


def sbatch(cluster: Cluster, name: str, options: tuple[str, ...]) -> Any:
    """Submit a job that waits."""
    script = "mpirun true" if name == "mpirun" else "true"
    first, second = (options[: options.index(":")], options[options.index(":") :]) if ":" in options else (options, ())
    common = ("--parsable", "-J", name, "-o", "/dev/null", "--begin=now+1day", "--export=NONE", "--wrap", script)
    return cluster.user("alice", "sbatch", *common, *first, *second)


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster with waiting and running jobs, and then with rules."""
    cluster.put("JobSubmitPlugins=python\nJobRequeue=0\nScronParameters=enable\n", "/etc/slurm/local.conf")
    cluster.put('[hooks]\npaths = ["hooks.d/*.py"]\n', "/etc/slurm/slurmhooks.toml")
    cluster.root("rm", "-rf", "/etc/slurm/hooks.d")
    cluster.root("mkdir", "/etc/slurm/hooks.d")
    cluster.restart()
    for name, options in JOBS.items():
        done = sbatch(cluster, name, options)
        assert done.returncode == 0, done.stderr
    if cluster.root("sh", "-c", "command -v scrontab").returncode == 0:
        cluster.user("alice", "scrontab", "-", input=CRONTAB, check=True)
    cluster.user("alice", "sbatch", "-J", "long", "-t601", "-o", "/dev/null", "--wrap", "sleep 600", check=True)
    cluster.wait(lambda: cluster.root("squeue", "-h", "-t", "R").stdout, what="the start of the job")
    cluster.put(TOML, "/etc/slurm/slurmhooks.toml")
    cluster.put(HOOKS, "/etc/slurm/hooks.d/rules.py")
    if cluster.has_sources:  # rules need records
        cluster.deploy()
    return cluster


def audit(cluster: Cluster) -> dict[str, Any]:
    """Return the document of an audit."""
    done = cluster.root("slurmhooks", "audit", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_audit_decides_as_sbatch_would(site: Cluster) -> None:
    """A job is found exactly if sbatch is refused with its options, with the same text; or it is not compared."""
    if not site.has_sources:
        done = site.root("slurmhooks", "audit")
        assert done.returncode == 1, done.stdout
        assert "public headers" in done.stderr, done.stderr
        return
    lines = site.root("squeue", "-h", "-t", "PD,R", "-o", "%i %j %T").stdout.splitlines()
    names = {line.split()[0].partition("_")[0]: line.split()[1] for line in lines}
    result = audit(site)
    refused = {names[each["job"].partition("_")[0]]: each for each in result["refused"]}
    unsure = {names[job.partition("_")[0]] for each in result["not_compared"] for job in each["jobs"]}
    assert (
        result["jobs"]
        == len(names)
        == result["accepted"] + len(result["refused"]) + sum(each["count"] for each in result["not_compared"])
    )
    assert not DECIDED & unsure, result["not_compared"]
    assert {"env", "array"} <= unsure, json.dumps(result)
    assert [each["state"] for each in result["refused"] if "time_ceiling" in each["rule"]] in (
        ["pending", "running"],
        ["running", "pending"],
    )
    reasons = " ".join(each["why"] for each in result["not_compared"])
    assert "environment" in reasons, reasons
    assert "array_inx" in reasons, reasons
    for name, options in JOBS.items():
        if ":" in options:
            continue  # its components are audited one by one
        done = sbatch(site, name, options)
        if name in refused:
            assert done.returncode, (name, refused[name])
            assert refused[name]["verdict"] == "failed" or refused[name]["text"].splitlines()[0] in done.stderr, (
                done.stderr
            )
        elif name not in unsure:
            assert not done.returncode, (name, done.stderr, result)
    assert "buggy" in refused
    assert ("cron" in refused) == ("cron" in names.values())
    assert "het" in refused or "het" in unsure
    shown = site.root("slurmhooks", "audit")
    assert shown.returncode == 1
    assert "not compared" in shown.stdout, shown.stdout


def test_try_every_asks_the_real_tables(site: Cluster) -> None:
    """`try every` shows what rules would do now, by their modes, and does nothing."""
    if not site.has_sources:
        pytest.skip("the build has only public headers")
    site.put(EVERY, "/root/every.py")
    done = site.root("slurmhooks", "try", "every", "--hooks", "/root/every.py", "--json")
    assert done.returncode == 1, done.stdout + done.stderr  # one rule has too many actions
    document = json.loads(done.stdout)
    assert isinstance(document, list), document
    rules = {each["rule"]: each for each in document}
    assert rules["every:long"]["verdict"] == "done"
    assert [each["action"] for each in rules["every:long"]["actions"]] == ["cancel", "cancel", "drain"]
    assert {each["mode"] for each in rules["every:observed"]["actions"]} == {"observe"}
    assert rules["every:none"]["verdict"] == "too many actions"
    assert "DRAIN" not in site.root("scontrol", "show", "node", "n1").stdout
    assert "CANCELLED" not in site.root("squeue", "-h", "-t", "all", "-n", "long", "-o", "%T").stdout
    shown = site.root("slurmhooks", "try", "every", "--hooks", "/root/every.py")
    assert "too long" in shown.stdout, shown.stdout
    site.put(EVERY, "/home/alice/every.py")
    user = site.user("alice", "slurmhooks", "try", "every", "--hooks", "/home/alice/every.py")
    assert "only root and SlurmUser" in user.stderr, user.stderr
