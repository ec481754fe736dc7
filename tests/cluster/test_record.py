# SPDX-License-Identifier: GPL-2.0-or-later
"""Real requests are recorded, and replayed without slurmctld: by the same hooks, a new rule, for a new release."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.workshop.recorded import Contents
from slurmhooks.workshop.replay.fixture import compare, replay
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import HOOKS_D, Site, prepare

pytestmark = [pytest.mark.one_release("22.05"), pytest.mark.stopped]
STAY = {"test_the_same_hooks_differ_in_nothing", "test_bounds_and_refusals"}

FILE = "/var/log/slurm/month.recording"
HOOKS = """
@hook.job_submit
def needs_account(job):
    if job.account is None:
        raise Reject("name an account", code="ESLURM_INVALID_ACCOUNT")
    job.comment = f"{job.user_name} {job.name} {sorted(job.groups)}"
    log.user("comment set")

@hook.job_modify
def stays_short(job, modify_uid):
    if job.time_limit is not None and job.time_limit > 60 and modify_uid != 0:
        raise Reject("too long", code="ESLURM_INVALID_TIME_LIMIT")
"""
NEW = """
from slurmhooks import Reject, hook

@hook.job_submit
def short_ones(job):
    if job.time_limit is not None and job.time_limit > 30:
        raise Reject("at most half an hour", code="ESLURM_INVALID_TIME_LIMIT")
    job.priority = 7
"""
READS = """
from slurmhooks import hook

@hook.job_submit
def reads_all(job):
    job.comment = f"{job.script and len(job.script)} {job.environment.get('COLOUR')}"
"""
ASKS = """
from slurmhooks import hook

@hook.job_submit
def asks(job, partitions):
    job.comment = f"{len(partitions)} {job.default_account} {job.user_name}"
"""


class Recorded:
    """A site whose requests were recorded; ``private``: the build answers questions on slurmctld's tables."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.private = site.cluster.has_sources
        self.said: list[str] = []

    def record(self, file: str, *options: str) -> None:
        """Record a few requests of each kind."""
        site = self.site
        site.shell(f"slurmhooks record {file} {' '.join(options)}", user="root")
        job = site.submit("--account=physics", "--job-name=one", "--time=10", "--export=ALL,COLOUR=red")
        site.submit("--account=art", "--job-name=two", "--time=50", user="bob")
        site.refused("--job-name=nameless")
        script = f"#!/bin/sh\n# {'long ' * 40000}\n"
        site.cluster.put(script, "/home/alice/long.sh")
        site.shell("sbatch --hold --account=physics --job-name=long --time=20 /home/alice/long.sh")
        self.said.append(site.said("scontrol", "update", f"JobId={job}", "TimeLimit=90"))
        self.said.append(site.said("scontrol", "update", f"JobId={job}", "TimeLimit=5"))
        self.said.append(site.shell("slurmhooks record --stop", user="root"))

    def replay(self, file: str, hooks: str, *options: str, user: str = "root") -> tuple[int, dict[str, Any]]:
        """Replay, and return exit code and report."""
        command = f"slurmhooks replay {file} --hooks {hooks} --json {' '.join(options)}"
        if user != "root":
            command = f"runuser -u {user} -- {command}"
        done = self.site.cluster.root("sh", "-c", command)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def new(self, source: str) -> str:
        """Return the path of a new hook file that is not in force."""
        self.site.cluster.root("mkdir", "-p", "/etc/slurm/new")
        self.site.cluster.put(source, "/etc/slurm/new/new.py", 0o644)
        return "/etc/slurm/new/new.py"


@pytest.fixture(scope="module")
def recorded(cluster: Cluster) -> Recorded:
    """A recording of six requests."""
    site = prepare(cluster, "JobSubmitPlugins=python\n")
    site.hooks(HOOKS)
    found = Recorded(site)
    found.record(FILE)
    return found


def test_the_same_hooks_differ_in_nothing(recorded: Recorded) -> None:
    """The hooks in force decide all requests as before, for root and SlurmUser; only SlurmUser can read the file."""
    assert "6 requests" in recorded.said[-1], recorded.said
    assert "it was stopped" in recorded.said[-1]
    assert recorded.site.shell(f"stat -c '%a %U' {FILE}", user="root").split() == ["600", "slurm"]
    for user in ("root", "slurm"):
        code, report = recorded.replay(FILE, "/etc/slurm", "--expect-same", user=user)
        assert code == 0, report
        assert (report["requests"], report["accepted"], report["refused"]) == (6, 4, 2)
        assert report["notes"] == []


def test_a_new_rule_differs_as_expected(recorded: Recorded) -> None:
    """The report names what a new rule refuses and changes, and nothing else."""
    new = recorded.new(NEW)
    code, report = recorded.replay(FILE, new, "--old", "/etc/slurm", "--expect-same")
    assert code == 1
    rules = {rule["rule"]: rule for rule in report["rules"]}
    assert {name: (rule["more"], rule["fewer"]) for name, rule in rules.items()} == {
        "new:short_ones": (1, 0),
        "life:needs_account": (0, 1),
        "life:stays_short": (0, 1),
    }
    (example,) = rules["new:short_ones"]["examples"]
    assert (example["user"], example["account"], example["name"]) == ("bob", "art", "two")
    fields = {field["field"]: field["requests"] for field in report["fields"]}
    assert fields == {"comment": 2, "priority": 2}


def test_secrets(recorded: Recorded) -> None:
    """If a rule reads scripts or environments, requests are compared only if these were recorded.

    Long ones are recorded whole.
    """
    new = recorded.new(READS)
    _, report = recorded.replay(FILE, new)
    assert {need["what"]: need["record_with"] for need in report["needs"]} == {"script": "--with script"}
    assert report["unknown"] == 4
    recorded.record(f"{FILE}.more", "--with script,environment")
    _, report = recorded.replay(f"{FILE}.more", new)
    assert report["needs"] == []
    (comment,) = (field for field in report["fields"] if field["field"] == "comment")
    values = {change["new"] for change in comment["values"]}
    assert any(value.endswith(" red") for value in values), values
    assert any(int(value.split()[0]) > 200000 for value in values), values


def test_nothing_secret_is_in_the_file(recorded: Recorded, tmp_path: Path) -> None:
    """The file has neither scripts nor command lines nor environments: not of requests, of updates, nor of tables."""
    secret = "hunter2"
    for number, options in enumerate(["--tables jobs", "--tables jobs --with script"]):
        file = f"{FILE}.secret{number}"
        recorded.site.shell(f"slurmhooks record {file} {options}", user="root")
        wrapped = f"--wrap='echo {secret}' --export=ALL,TOKEN={secret}"
        done = recorded.site.shell(f"sbatch --hold --account=physics --job-name=wrapped --time=10 {wrapped}")
        job = done.split()[-1]
        recorded.site.shell(f"scontrol update JobId={job} TimeLimit=5")
        recorded.site.shell("slurmhooks record --stop", user="root")
        copy = tmp_path / f"file{number}"
        copy.write_bytes(base64.b64decode(recorded.site.cluster.root("base64", file, check=True).stdout))
        with open(copy, "rb") as stream:
            contents = Contents(stream.fileno())
            found = [request for offset in contents.offsets for request in contents.requests(offset)]
        assert {request.hook for request in found} == {"job_submit", "job_modify"}
        whole = b"".join([*(request.encode() for request in found), *(rows.encode() for rows in contents.rows)])
        assert b"wrapped" in whole
        assert (secret.encode() in whole) == bool(number)


def test_questions_that_nobody_asked(recorded: Recorded) -> None:
    """A new rule gets rows of tables and facts about users for which no present rule asks."""
    if not recorded.private:
        pytest.skip("Debian has no sources of this release, without which slurmctld's structs cannot be read")
    _, report = recorded.replay(FILE, recorded.new(ASKS))
    assert report["needs"] == []
    (comment,) = (field for field in report["fields"] if field["field"] == "comment")
    count = recorded.site.shell("sinfo -h -o %R | sort -u | wc -l").strip()
    assert {change["new"] for change in comment["values"]} == {f"{count} None alice", f"{count} None bob"}


def test_another_release(recorded: Recorded, tmp_path: Path) -> None:
    """A recording is replayed for 26.05 on a machine without Slurm: a rule sees the fields as they were."""
    data = recorded.site.cluster.root("base64", FILE, check=True).stdout
    file, rule = tmp_path / "file", tmp_path / "rule.py"
    file.write_bytes(base64.b64decode(data))
    rule.write_text(NEW)
    release = recorded.site.cluster.release.partition("-")[0]  # of a release candidate
    report = compare(file, rule, release="26.05")
    assert any(note.startswith(f"recorded on Slurm {release}") for note in report.notes), report.notes
    assert {found.rule: (found.more, found.fewer) for found in report.rules} == {
        "rule:short_ones": (1, 0),
        "life:needs_account": (0, 1),
        "life:stays_short": (0, 1),
    }
    found = [(request.hook, request.job.name, request.job.time_limit) for request in replay(file, release="26.05")]
    assert found == [
        ("job_submit", "one", 10),
        ("job_submit", "two", 50),
        ("job_submit", "nameless", None),
        ("job_submit", "long", 20),
        ("job_modify", None, 90),
        ("job_modify", None, 5),
    ]


def test_bounds_and_refusals(recorded: Recorded) -> None:
    """One recording runs at a time, ends at its limits, and is for root and SlurmUser only."""
    site = recorded.site
    site.shell(f"slurmhooks record {FILE}.short --for 1s", user="root")
    site.cluster.wait(lambda: "its time is over" in site.said("slurmhooks", "record", "--status", user="root"))
    site.shell(f"slurmhooks record {FILE}.one", user="root")
    assert "is being recorded" in site.said("slurmhooks", "record", f"{FILE}.two", user="root")
    assert "only root and SlurmUser" in site.said("slurmhooks", "record", "--stop")
    site.shell("slurmhooks record --stop", user="root")
    assert "nothing is recorded" in site.said("slurmhooks", "record", "--stop", user="root")
    assert "File exists" in site.said("slurmhooks", "record", FILE, user="root")
    assert site.run("slurmhooks", "replay", FILE, "--hooks", HOOKS_D).returncode != 0
