# SPDX-License-Identifier: GPL-2.0-or-later
"""What users read of rules: all refusals at once, with their labels; notices once a day; the same with --test-only."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import CONF, HOOKS_D, TOML, Site

pytestmark = [pytest.mark.one_release("26.05"), pytest.mark.stopped]

RULES = """
[rules]
refusals = "all"

[rules.defaults]
default_partition = "debug"

[job_submit]
workers = 2

[[rule]]
rule = "require_time"
updates = "ignore"
message = "\\u001b[31mname a time\\u001b[0m"

[[rule]]
rule = "reserved_names"
updates = "ignore"
names = ["sys-*"]

[[rule]]
rule = "notice"
name = "hello"
message = "hello {user}"
"""
REFUSED = (
    "\x1b[31mname a time\x1b[0m (rule:require_time)",
    "the job name sys-x is reserved: choose another one with --job-name (rule:reserved_names)",
)
LOG = "/var/log/slurm/slurmhooks/job_submit.jsonl"


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Iterator[Site]:
    """The cluster with these rules, and no other hooks."""
    site = Site(cluster)
    site.clear()
    site.conf("JobSubmitPlugins=python\n")
    cluster.put(RULES, TOML)
    yield site
    site.clear()
    cluster.put("", CONF)


def lines(text: str, said: str) -> list[str]:
    """Return the lines of a command's output that contain a text."""
    return [line for line in text.splitlines() if said in line]


def sbatch(site: Site, *options: str, user: str = "alice") -> str:
    """Submit a batch job that stays pending; return what the user reads."""
    return site.said("sbatch", "--hold", "-o/dev/null", *options, "--wrap=true", user=user)


def decisions(site: Site, user: str | None = None) -> list[dict[str, Any]]:
    """Return the lines of the decision log, or those about one user."""
    text = site.cluster.root("sh", "-c", f"cat {LOG} || true").stdout
    made = [json.loads(line) for line in text.splitlines()]
    return [line for line in made if user in (None, line.get("user"))]


def test_all_refusals_at_once(site: Site) -> None:
    """A user reads each refusal in one line, with the label of its rule; who mends all is accepted."""
    for command in (("sbatch", "--wrap=true"), ("srun", "true"), ("salloc", "true")):
        said = site.said(command[0], "-J", "sys-x", *command[1:])
        assert [line.partition("error: ")[2] for line in lines(said, "(rule:")] == list(REFUSED), said
        assert "hello" not in said
    assert "\x1b" not in site.cluster.log() + site.cluster.root("cat", LOG).stdout
    assert "Submitted" in sbatch(site, "-t1", "-J", "other")


HANDLERS = """
@hook.job_submit(effects=False)
def comment(job):
    job.admin_comment = "never seen"
    if job.comment is None:
        raise Reject("say why with --comment")

@hook.job_submit(order=60)
def book(job):
    tell(booked=job.name)
"""


def test_refusals_of_hook_files_at_once(site: Site) -> None:
    """A handler without effects refuses together with the rules; one with effects runs only for accepted jobs."""
    site.cluster.put(RULES + '\n[hooks]\npaths = ["hooks.d/*.py"]\n', TOML)
    site.hooks(HANDLERS, "all.py")
    said = sbatch(site, "-J", "sys-x")
    assert [line.partition("error: ")[2] for line in lines(said, ")")] == [
        *REFUSED, "say why with --comment (all:comment)"
    ], said  # fmt: skip
    assert "say why" in sbatch(site, "-t1", "-J", "unbooked")
    assert site.told() == []
    assert "Submitted" in sbatch(site, "-t1", "-J", "booked", "--comment=why")
    assert site.told() == [{"booked": "booked"}]
    site.cluster.root("sh", "-c", f"rm {HOOKS_D}/all.py")
    site.cluster.put(RULES, TOML)


def test_preflight(site: Site) -> None:
    """--test-only asks the same rules: the same refusals, the same texts, and no job; the decision log marks it."""
    for command, accepted in (
        (("sbatch", "--test-only", "-J", "sys-x", "--wrap=true"), False),
        (("srun", "--test-only", "-J", "sys-x", "true"), False),
        (("sbatch", "--test-only", "-J", "probe", "-t1", "--wrap=true"), True),
        (("srun", "--test-only", "-J", "probe", "-t1", "true"), True),
    ):
        done = site.run(*command, user="bob")
        assert (done.returncode == 0) is accepted, done.stderr
        found = [text for text in REFUSED if text in done.stderr]
        assert found == ([] if accepted else list(REFUSED)), done.stderr
        assert ("to start at" in done.stderr) is accepted, done.stderr
    assert "Submitted" in sbatch(site, "-t1", "-J", "real", user="bob")
    site.cluster.wait(lambda: len(decisions(site, "bob")) == 5, what="decisions")
    made = decisions(site, "bob")
    assert [line.get("test_only", False) for line in made] == [True] * 4 + [False], made
    assert "probe" not in site.said("squeue", "-ho%j", user="root")


def test_notices_once_a_day(site: Site) -> None:
    """Each user reads a notice once a day, from either worker, also after a deployment."""
    user = "bob"
    site.cluster.put(RULES.replace('"hello"', '"once"'), TOML)
    said = [sbatch(site, "-t1", user=user) for _ in range(4)]
    assert [len(lines(text, f"hello {user}")) for text in said] == [1, 0, 0, 0], said
    assert "hello alice" in sbatch(site, "-t1", "-n1", user="alice")
    site.cluster.put(RULES.replace('"hello"', '"once"') + "# again\n", TOML)
    assert "hello" not in sbatch(site, "-t1", user=user)
    assert "hello" not in sbatch(site, "-t1", user="alice")


def test_a_dropped_answer_is_not_read(site: Site) -> None:
    """What a program has dropped that calls sbatch, the user reads with the next srun; after that it is read."""
    site.cluster.put(RULES.replace('"hello"', '"dropped"'), TOML)
    assert "Submitted" in site.run("sh", "-c", "exec sbatch -o/dev/null -t1 --wrap=true 2>/dev/null").stdout
    said = [site.run("srun", "-t1", "true").stderr for _ in range(2)]
    assert [len(lines(text, "hello alice")) for text in said] == [1, 0], said
    assert "hello" not in sbatch(site, "-t1")


def test_programs_read_no_notices(site: Site) -> None:
    """With --parsable there is no notice on standard error, and the next command without it shows it; refusals stay."""
    site.cluster.put(RULES.replace('"hello"', '"quiet"'), TOML)
    for options in (("--parsable",), ("--pars",)):
        done = site.run("sbatch", "--hold", "-o/dev/null", "-t1", *options, "--wrap=true")
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert done.stdout.strip().isdigit()
    site.cluster.put("#!/bin/sh\n#SBATCH --parsable --hold -o/dev/null -t1\n", "/tmp/quiet.sh")
    done = site.run("sbatch", "/tmp/quiet.sh")
    assert (done.stdout.strip().isdigit(), done.stderr) == (True, "")
    assert REFUSED[0] in site.run("sbatch", "--parsable", "--wrap=true").stderr
    assert "hello alice" in sbatch(site, "-t1")
    site.cluster.put(RULES.replace("[rules]", '[rules]\nnotices = "always"'), TOML)
    assert all("hello alice" in sbatch(site, "-t1", "--parsable") for _ in range(2))


FILLING = """
[rules.defaults]
default_partition = "debug"

[[rule]]
rule = "default_time"
updates = "ignore"
value = 120

[[rule]]
rule = "time_ceiling"
updates = "ignore"
limit = 60
except_users = ["bob"]
"""


def test_refusals_say_what_was_filled_in(site: Site) -> None:
    """Who is refused for what a rule has filled in reads both; only who is accepted reads what the job gets."""
    site.cluster.put(FILLING, TOML)
    try:
        assert [line.partition("error: ")[2] for line in sbatch(site).splitlines()][:-1] == [
            "at most 01:00:00 in partition debug; the job would have 02:00:00 (--time) (rule:time_ceiling)",
            "you gave no --time: 02:00:00 was filled in",
        ]
        said = sbatch(site, user="bob")
        assert "no --time given: limited to 02:00:00" in said
        assert "Submitted" in said
    finally:
        site.cluster.put(RULES, TOML)
