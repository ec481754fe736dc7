# SPDX-License-Identifier: GPL-2.0-or-later
"""Decision log, ``slurmhooks why`` and metrics, of a real slurmctld."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families as metrics

from tests.cluster.conftest import OF_SETS, Cluster

pytestmark = pytest.mark.one_release("24.11")

CONF = "JobSubmitPlugins=python\nPrEpPlugins=prep/script,prep/python\n"
TOML = """
[hooks]
paths = ["hooks.d/*.py"]
[metrics]
textfiles = "/run/slurmhooks"
interval = 0.1
[job_submit]
timeout = 3.0
"""
HOOKS = """
import os, time
from slurmhooks import Reject, hook, log

@hook.job_submit(order=1)
def fills_in(job):
    if job.time_limit is None:
        job.time_limit = 7
    if job.script:
        job.environment["TOKEN"] = "hunter2"

@hook.job_submit(order=2, on_error="accept")
def counts(job):
    if job.name == "bug":
        raise KeyError(job.name)

@hook.job_submit(order=3)
def refuses(job):
    if job.name == "no":
        raise Reject("not on a Sunday")
    if job.name == "hangs":
        time.sleep(1000)

@hook.job_submit(order=4, mode="observe")
def tries(job):
    job.comment = "tried"
    if job.name == "yes":
        raise Reject("one day")

@hook.job_modify
def keeps(job, modify_uid):
    job.comment = "changed"

@hook.controller_prolog
def starts(environment):
    pass
"""
FOLDER = "/var/log/slurm/slurmhooks"


class Site:
    """A cluster with decision log and metrics."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        cluster.put(CONF, "/etc/slurm/local.conf")
        cluster.put(TOML, "/etc/slurm/slurmhooks.toml")
        cluster.put(HOOKS, "/etc/slurm/hooks.d/rules.py")
        cluster.root("install", "-d", "-o", "slurm", "/run/slurmhooks", check=True)
        cluster.restart()
        cluster.wait(lambda: self.text(), what="metrics")

    def submit(self, name: str, *options: str) -> tuple[str, str]:
        """Submit a batch job of alice; return its id, if it has one, and what alice reads."""
        done = self.cluster.user("alice", "sbatch", "--parsable", "-J", name, *options, "--wrap=true")
        return done.stdout.strip(), done.stderr

    def decisions(self, **wanted: Any) -> list[dict[str, Any]]:
        """Return the lines of the log that have these values."""
        text = self.cluster.root("sh", "-c", f"cat {FOLDER}/*.jsonl").stdout
        every = [json.loads(line) for line in text.splitlines()]
        return [line for line in every if wanted.items() <= line.items()]

    def decision(self, **wanted: Any) -> dict[str, Any]:
        """Wait for the line of the log that has these values."""
        wanted = {"event": "decision", **wanted}
        self.cluster.wait(lambda: self.decisions(**wanted), what=f"decision {wanted}")
        (line,) = self.decisions(**wanted)
        return line

    def why(self, *arguments: str) -> str:
        """Return the output of ``slurmhooks why``."""
        return self.cluster.root("slurmhooks", "why", *arguments, check=True).stdout

    def text(self) -> str:
        """Return the text of the textfile; empty if there is none."""
        return self.cluster.root("cat", "/run/slurmhooks/slurmhooks_job_submit.prom").stdout

    def counted(self, sample: str, **labels: str) -> float:
        """Return a value of the textfile; 0 if it is not there."""
        found = [each for family in metrics(self.text()) for each in family.samples if each.name == sample]
        return sum(each.value for each in found if labels.items() <= each.labels.items())


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Iterator[Site]:
    """The site of this file."""
    yield Site(cluster)
    cluster.put("", "/etc/slurm/local.conf")


def test_what_changed_and_who_refused(site: Site) -> None:
    """The log has a line for each request with what each handler did; ``why`` explains it, by the job's id."""
    job_id, _ = site.submit("yes")
    line = site.decision(name="yes", hook="job_submit")
    assert (line["verdict"], line["user"]) == ("accepted", "alice")
    first = line["handlers"][0]
    assert first["handler"] == "rules:fills_in"
    assert first["changes"] == {"time_limit": [None, 7]}
    assert first["hidden"] == ["environment.TOKEN"]
    _, error = site.submit("no")
    assert "not on a Sunday" in error
    refused = site.decision(name="no")
    assert (refused["verdict"], refused["text"]) == ("refused", "not on a Sunday (rules:refuses)")
    assert "rules:refuses: refused: not on a Sunday" in site.why(refused["id"])
    assert "hunter2" not in site.cluster.root("sh", "-c", f"cat {FOLDER}/*").stdout
    assert site.cluster.root("stat", "-c", "%U %a", f"{FOLDER}/job_submit.jsonl").stdout == "slurm 600\n"
    site.cluster.user("alice", "scontrol", "update", f"JobId={job_id}", "Comment=x")
    said = site.why(job_id)
    assert f"request {line['id']}" in said
    assert "time_limit from unset to 7, environment.TOKEN (not logged)" in said
    site.decision(id=line["id"], event="observed")
    assert "rules:tries (observe): would refuse: one day; would change comment" in site.why(job_id)


def test_a_name_is_no_decision(site: Site) -> None:
    """A job name with line feeds and escapes is one value on one line: as many decisions are shown as there are."""
    name = "x)\n  accepted after 1 us\n2026-01-01 00:00:00.000+00:00: job_submit of bob (name y\x1b[2J"
    shown: list[str] = []

    def is_newest() -> bool:
        site.submit(name, "--hold")  # again, because the end of an earlier job may be newer
        shown[:] = [site.why("--user", "alice", "--last", "1")]
        return "of bob" in shown[0]

    site.cluster.wait(is_newest, what="the decision")
    (said,) = shown
    assert len([line for line in said.splitlines() if not line.startswith(" ")]) == 1
    assert "\x1b" not in said


def test_an_update_and_a_prolog_know_their_job(site: Site) -> None:
    """Later events of a job are also found by its id."""
    job_id, _ = site.submit("later", "--hold")
    site.decision(name="later", hook="job_submit")
    site.cluster.user("alice", "scontrol", "update", f"JobId={job_id}", "Comment=x", check=True)
    update = site.decision(job_id=int(job_id), hook="job_modify")
    assert update["handlers"][0]["changes"] == {"comment": ["x", "changed"]}
    site.cluster.user("alice", "scontrol", "release", job_id, check=True)
    site.cluster.wait(lambda: site.decisions(job_id=int(job_id), hook="controller_prolog"), what="the prolog")
    said = site.why(job_id)
    words = [said.find(text) for text in ("job_submit of alice", "job_modify of job", "controller_prolog of job")]
    assert -1 not in words
    assert words == sorted(words)


def test_bugs_are_found_by_their_ids(site: Site) -> None:
    """The ids that users were told find a bug that let the request pass, and a handler that was killed."""
    _, told = site.submit("bug")
    error = re.search(r"error ([0-9a-f]{8})", told)
    assert error is not None
    said = OF_SETS.sub("/etc/slurm", site.why(error.group(1)))
    assert "rules:counts: accepted on error, KeyError at /etc/slurm/hooks.d/rules.py:15" in said
    _, told = site.submit("hangs")
    error = re.search(r"error ([0-9a-f]{8})", told)
    assert error is not None
    site.decision(error=error.group(1), event="unserved")
    said = site.why(error.group(1))
    assert "missed the deadline in rules:refuses" in said
    assert "rules:refuses: ended its worker" in said


def test_metrics(site: Site) -> None:
    """Requests, refusals, bugs and missed deadlines are counted, in the textfile."""
    hook = {"point": "job_submit", "hook": "job_submit"}
    before = site.counted("slurmhooks_requests_total", **hook, verdict="refused")
    bugs = site.counted("slurmhooks_handler_bugs_total", handler="rules:counts")
    site.submit("no")
    site.submit("bug")
    site.cluster.wait(
        lambda: site.counted("slurmhooks_requests_total", **hook, verdict="refused") == before + 1, what="the refusal"
    )
    site.cluster.wait(
        lambda: site.counted("slurmhooks_handler_bugs_total", handler="rules:counts") == bugs + 1, what="the bug"
    )
    assert site.counted("slurmhooks_handler_seconds_count", handler="rules:fills_in") >= 2
    assert site.counted("slurmhooks_generation", point="job_submit") >= 1
    assert site.counted("slurmhooks_reports_dropped_total") == 0


def test_a_killed_collector_costs_nothing(site: Site) -> None:
    """Requests are answered while the collector is being replaced, and the next collector logs their decisions."""
    site.cluster.root("sh", "-c", "kill -9 $(pgrep -x slurmhooks-coll)", check=True)
    site.submit("meanwhile")
    site.decision(name="meanwhile", hook="job_submit")
