# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that read what Slurm fills in hold at updates, on real slurmctlds with accounts, QOS and reservations."""

import json
import random
import re
from pprint import pformat

import pytest

from tests.cluster import accounting
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import DEFAULT_TOML, HOOKS_D, TOML, Site
from tests.cluster.own_readers import seeded
from tests.cluster.test_job_rules import EXAMPLES, not_held, with_gpus
from tests.cluster.turns import moved

pytestmark = [pytest.mark.stopped, pytest.mark.moved]

CONF = """\
GresTypes=gpu
PartitionName=day Nodes=n[1-2] MaxTime=INFINITE DefaultTime=20 State=UP
PartitionName=gpu Nodes=n[1-2] MaxTime=INFINITE DefaultTime=50 State=UP
PartitionName=night Nodes=n[1-2] MaxTime=INFINITE DefaultTime=1000 State=UP
PartitionName=endless Nodes=n[1-2] MaxTime=INFINITE State=UP
PartitionName=shut Nodes=n[1-2] DefaultTime=5 State=DRAIN
"""
ACCOUNTS = (
    "add qos high,low",
    "add account physics,maths,phys",
    "add user alice Account=physics DefaultAccount=physics QosLevel=normal,high,low DefaultQOS=high",
    "add user alice Account=maths QosLevel=low DefaultQOS=low",
    "add user alice Account=phys QosLevel=normal,low DefaultQOS=normal",
    "add user alice Account=physics Partition=night QosLevel=normal,low DefaultQOS=low",
)
RESERVATIONS = {
    "later": "partition=gpu nodes=n1 starttime=now+2days duration=1-0 flags=overlap",
    "course": "partition=night nodes=n1 starttime=now duration=infinite flags=ignore_jobs,overlap",
    "flexible": "nodes=n2 starttime=now duration=infinite flags=ignore_jobs,flex,overlap",
    "floating": "nodes=n1 starttime=now+60minutes duration=120 flags=time_float,overlap",
    "daily": "nodes=n2 starttime=now+2hours duration=60 flags=daily,overlap",
    "attracts": "partition=day nodes=n2 starttime=now+3days duration=60 flags=magnetic,overlap",
    "anywhere": "nodes=ALL starttime=now+4days duration=60 flags=part_nodes,overlap partition=endless",
}
OPTIONS = [
    ["", "-p debug", "-p day", "-p gpu", "-p night", "-p endless", "-p shut,gpu", "-p night,gpu", "-p night,debug"],
    ["", "", "-t 10", "-t 40", "-t 100", "-t 20:00:00", "-t UNLIMITED", "-t 100 --time-min=5", "-t 100 --time-min=50"],
    ["", "", "-A maths", "-A physics", "-A phys", "-A maths --qos=low", "--qos=low", "--qos=high", "--qos=normal"],
    ["", "", "", *(f"--reservation={name}" for name in RESERVATIONS)],
    ["", "", "--gpus=2", "-N2", "-a1-3", "-a1-9", "--deadline=now+30minutes", "--exclusive", "--comment=x"],
]
CHANGES = [
    *(f"Partition={name}" for name in ("debug", "day", "gpu", "night", "endless", "day,debug", "gpu,night")),
    "TimeLimit=10", "TimeLimit=50", "TimeLimit=+30", "TimeLimit=-15", "TimeLimit=UNLIMITED", "TimeMin=1", "TimeMin=50",
    "Account=physics", "Account=maths", "Account=phys", "QOS=low", "QOS=high", "QOS=normal", "QOS=", "Account=",
    *(f"ReservationName={name}" for name in ("", *RESERVATIONS)), "NumNodes=2", "Comment=y", "Nice=5", "NumNodes=1",
    "Deadline=now+20minutes",
]  # fmt: skip
JOBS = 30
SERVICE = "/var/tmp/budget"
BROKE = '#!/bin/sh\ntest "$2" != maths && test "$1" != UNLIMITED && test "$1" -le 100\n'
"""The budget's program: of time limit and account."""
RULES = {
    "time_ceiling of partitions": 'rule = "time_ceiling"\nlimit = 45\npartitions = ["debug", "gpu", "endless"]',
    "time_ceiling without unset": 'rule = "time_ceiling"\nlimit = 45\nunset = "refuse"\nqos = ["high"]',
    "time_ceiling that keeps": 'rule = "time_ceiling"\nlimit = 45\nunset = "accept"\npartitions = ["debug", "gpu"]',
    "time_ceiling of an account": 'rule = "time_ceiling"\nlimit = 45\naccounts = ["maths"]',
    "require_time": 'rule = "require_time"\npartitions = ["night", "endless"]',
    "budget": 'rule = "budget"\ncommand = ["/etc/slurm/broke", "{time_limit}", "{account}"]\ncache = 0.0\nretry = 0.0\n'
    "deadline = 1.5",
    "forbid by account and partition": 'rule = "forbid"\npartitions = ["gpu", "night"]\nexcept_accounts = ["maths"]',
    "forbid by QOS": 'rule = "forbid"\nqos = ["high"]\nexcept_partitions = ["day", "debug"]',
    "require_qos of a partition": 'rule = "require_qos"\nallowed = ["low", "normal"]\ndefault_counts = true\n'
    'partitions = ["gpu", "night"]',
    "reservation": 'rule = "reservation"\nrequired = true\npartitions = ["gpu"]',
    "node_count": 'rule = "node_count"\nmost = 1\nqos = ["high"]',
    "array_size": 'rule = "array_size"\nmost = 4\naccounts = ["physics"]',
}
"""Ready-made rules, each with what it reads of what Slurm fills in."""
OFTEN = ("time_ceiling of partitions", "budget", "reservation", "default_account")
"""Those of which each reads something else."""
REPLACED = {
    "allowed_qos": {},
    "budget_service": {"http://budget.example.org/projects/": "http://127.0.0.1:7654/", "timeout=0.5": "timeout=1.9"},
    "default_account": {'"physics": "phys"': '"alice": "phys"'},
    "hello": {},
}
"""Examples about accounts and QOS, and what is written in them for this site."""


@pytest.fixture(scope="module")
def made(large_cluster: Cluster) -> Site:
    """A cluster with these accounts, partitions and reservations, and with the services that rules ask."""
    cluster = large_cluster
    accounting.need_sources(cluster)
    with_gpus(cluster)
    accounting.start(cluster, *ACCOUNTS, more=CONF)
    cluster.put(BROKE, "/etc/slurm/broke", 0o755)
    for account in ("physics", "maths", "phys"):
        cluster.put(json.dumps({"hours_left": int(account != "maths")}), f"{SERVICE}/{account}")
    serve = f"setsid python3 -m http.server --bind 127.0.0.1 -d {SERVICE} 7654 >/dev/null 2>&1 </dev/null &"
    create = "\n".join(f"scontrol create reservation={name} users=alice {of}" for name, of in RESERVATIONS.items())
    cluster.root("sh", "-ec", f"{serve}\n{create}", check=True)
    return Site(cluster)


@pytest.fixture
def site(made: Site) -> Site:
    """The same without hooks and jobs."""
    made.reset()
    return made


@pytest.mark.parametrize("rule", [*OFTEN, *moved(*(name for name in (*RULES, *REPLACED) if name not in OFTEN))])
def test_updates_are_judged_as_submissions(site: Site, rule: str) -> None:
    """Of random jobs and updates of them, each job that results is one that the rule accepts as a new job."""
    _, random_ = seeded()
    if rule in RULES:
        site.cluster.put(f"{DEFAULT_TOML}[[rule]]\n{RULES[rule]}\n", TOML)
    else:
        text = (EXAMPLES / f"{rule}.py").read_text()
        for old, new in REPLACED[rule].items():
            assert old in text
            text = text.replace(old, new)
        site.cluster.put(text, f"{HOOKS_D}/{rule}.py")
    jobs = {f"j{number}": drawn(random_) for number in range(JOBS)}
    wrong, parts, again = not_held(site, jobs)
    assert not wrong, pformat(wrong, width=250)
    assert len(again) >= JOBS / 8, pformat(parts, width=250)
    assert any("rc=0" in text for head, text in parts if " update " in head), parts


def drawn(random_: random.Random) -> tuple[str, list[str]]:
    """Return the options of a job, and updates of it."""
    options = " ".join(filter(None, map(random_.choice, OPTIONS)))
    if re.search("deadline", options):
        options = re.sub(r"-t \S+( --time-min=\S+)?", "", options)
    return options, random_.sample(CHANGES, random_.randint(1, 5))
