# SPDX-License-Identifier: GPL-2.0-or-later
"""Partition, account, QOS and kind of a job as handlers see them beforehand, and as slurmctld then chooses them."""

import itertools
import re
from collections.abc import Iterator

import pytest

from tests.cluster import accounting
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import TOML, Site, lend, shown
from tests.cluster.turns import moved

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.stopped]
STAY = {"test_the_partition", "test_rules", "test_where_a_job_runs"}

LINES = """\
PartitionName=fb Nodes=ALL State=UP
PartitionName=rich Nodes=ALL State=UP
PartitionName=shut Nodes=ALL State=DOWN
"""
RESERVATIONS = """\
scontrol create reservation=course partition=fb nodes=n1 users=alice starttime=now duration=infinite flags=ignore_jobs
scontrol create reservation=anywhere nodes=n1 users=alice starttime=now duration=infinite flags=ignore_jobs,overlap
"""
TELLS = """
@hook.job_submit(order=10)
def submit(job, submit_uid):
    tell(name=job.name, partition=job.partition, default_partition=job.default_partition, account=job.account,
         default_account=job.default_account, charged=job.charged_account, default_qos=job.default_qos,
         interactive=job.interactive, script=job.script is not None, origin=job.origin)

@hook.job_modify(order=10)
def modify(job, record, modify_uid):
    tell(name=record.name, modify=True, default_qos=job.default_qos, interactive=job.interactive, origin=job.origin)
"""
RULES = """\
[hooks]
paths = ["hooks.d/*.py"]

[[rule]]
rule = "forbid"
partitions = ["fb"]
message = "{partition} is closed"
except_users = ["bob"]

[[rule]]
rule = "require_account"
partitions = ["rich"]

[[rule]]
rule = "interactive_limit"
forbid = true
"""


@pytest.fixture(scope="module")
def module_site(cluster: Cluster) -> Site:
    """A site with partitions and reservations, where slurmctld can be asked."""
    if not cluster.has_sources:
        pytest.skip(f"NOT TESTED ON {cluster.release}: Debian has no sources of it")
    site = Site(cluster)
    site.clear()
    site.conf(f"JobSubmitPlugins=python\nJobCompType=jobcomp/python\nPrEpPlugins=prep/script,prep/python\n{LINES}")
    cluster.root("sh", "-ec", RESERVATIONS, check=True)
    return site


@pytest.fixture
def site(module_site: Site) -> Iterator[Site]:
    """Lend the site to a test."""
    yield from lend(module_site)


def submit_all(site: Site, requests: list[str]) -> dict[str, dict[str, str]]:
    """Submit held jobs, and return what scontrol shows of each, by the job's name: its position."""
    lines = [
        f"sbatch --hold -o /dev/null -J {number} --parsable {options} --wrap=true || true"
        for number, options in enumerate(requests)
    ]
    site.shell("\n".join(lines))
    output = site.said("scontrol", "show", "jobs", "-o", user="root")
    found = [shown(line) for line in output.splitlines() if line.startswith("JobId=")]
    return {job["JobName"]: job for job in found if job["JobState"] == "PENDING"}


def test_the_partition(site: Site) -> None:
    """job.default_partition is the partition that slurmctld chooses, before those of several reservations."""
    site.hooks(TELLS)
    requests = ["", "-p rich", "-p rich,fb", "--reservation=course", "--reservation=anywhere",
                "--reservation=course,anywhere", "--reservation=anywhere,course", "-p rich --reservation=course",
                "--reservation="]  # fmt: skip
    jobs = submit_all(site, requests)
    told = {each["name"]: each for each in site.told()}
    for number, options in enumerate(requests):
        if str(number) in jobs:
            expected = told[str(number)]["partition"] or told[str(number)]["default_partition"].split(",")[0]
            assert jobs[str(number)]["Partition"] == expected, options
    assert {"0", "1", "2", "3", "8"} <= jobs.keys(), jobs.keys()
    assert jobs["3"]["Partition"] == "fb"


def test_rules(site: Site) -> None:
    """The partition of a reservation is closed, no empty account is one, batch components are not interactive."""
    site.hooks(TELLS)
    site.cluster.put(RULES, TOML)
    assert "fb is closed" in site.refused("--reservation=course")
    assert "fb is closed" in site.refused("-p", "debug,fb")
    site.submit("--reservation=course", "-p", "debug")
    for way in ("sbatch -p rich --account= --wrap=true", "SBATCH_ACCOUNT= sbatch -p rich --wrap=true"):
        assert "name a project with --account" in site.said("sh", "-c", way), way
    site.submit("-p", "rich", "--account=Physics")
    assert site.told()[-1]["account"] == "physics"
    script = "#!/bin/sh\n#SBATCH --hold -o /dev/null\n#SBATCH hetjob\n#SBATCH -n1\ntrue\n"
    site.cluster.put(script, "/tmp/het.sh", 0o755)
    het = site.said("sbatch", "/tmp/het.sh")
    match = re.search(r"Submitted batch job (\d+)", het)
    assert match, het
    for command in ("srun -n1 : -n1 true", "salloc -n1 : -n1 true", "srun true"):
        assert "interactive jobs" in site.said("sh", "-c", command), command
    told = [each for each in site.told() if "script" in each]
    assert [(each["script"], each["interactive"]) for each in told[:2]] == [(True, False), (False, False)]
    assert all(each["interactive"] and each["origin"] == "user" for each in told[2:])
    assert not site.said("scontrol", "update", f"jobid={match[1]}", "timelimit=2", user="alice").strip()
    updates = [each for each in site.told() if each.get("modify")]
    assert [(each["interactive"], each["origin"]) for each in updates] == [(False, "update")] * 2


FOR_OTHERS = """\
[hooks]
paths = ["hooks.d/*.py"]

[[rule]]
name = "exempt"
rule = "forbid"
partitions = ["rich"]

[[rule]]
name = "closed"
rule = "forbid"
partitions = ["fb"]
users = ["alice"]
except_admins = false
message = "{user} may not use {partition}"

[[rule]]
name = "group"
rule = "require_time"
groups = ["bob"]
except_admins = false
"""


def test_jobs_that_root_submits_for_others(site: Site) -> None:
    """Of a job by --uid, the user is that one, and root the sender, who is exempt by default; users cannot do so."""
    site.hooks(TELLS)
    site.cluster.put(FOR_OTHERS, TOML)

    def said(options: str, user: str = "root") -> str:
        return site.said("sh", "-c", f"cd /; sbatch --hold -o /dev/null {options} --wrap=true", user=user)

    assert "alice may not use fb" in said("-p fb --uid=alice --gid=alice")
    assert "name a time limit" in said("-p debug --uid=bob --gid=bob")
    assert "name a time limit" in said("-p debug --uid=bob")
    assert "Submitted" in said("-p rich --uid=alice --gid=bob")
    assert "Submitted" in said("-p fb")
    assert {each["origin"] for each in site.told()} == {"user"}
    for options in ("--uid=bob", "--uid=root", "--gid=bob", "--uid=bob --gid=bob"):
        assert "Submitted" not in said(f"-p rich {options}", user="alice"), options
    assert site.told() == []


def test_where_a_job_runs(site: Site) -> None:
    """Of several partitions, records of a job's prolog, start and end name the one in which it runs."""
    hooks = {"controller_prolog", "job_end"} | ({"job_start"} if site.release >= (25, 5) else set())
    tells = 'tell(hook="{0}", partition=record.partition, alloc=record.alloc_partition)'
    site.hooks("".join(f"@hook.{name}\ndef {name}(record): {tells.format(name)}\n" for name in sorted(hooks)))
    # slurmctld asks at its start whether there is a prolog.
    site.cluster.restart("slurmctld")
    job = re.search(r"\d+", site.said("sbatch", "-o", "/dev/null", "-p", "shut,debug", "--wrap=true"))
    assert job
    found = {}

    def told() -> bool:
        found.update({each["hook"]: each for each in site.told() if "alloc" in each})
        return hooks <= found.keys()

    # A slurmctld that has just started may look for a node only a minute later.
    site.cluster.wait(told, 150, f"records of {hooks}")
    for each in found.values():
        assert each["alloc"] == "debug", each
        assert set(each["partition"].split(",")) == {"shut", "debug"}, each


# Associations.

SHAPES = (
    "add resource name=matlab server=flex count=20 type=license percentallowed=50 cluster=CLUSTER",
    "add qos high",
    "add qos low",
    "add qos mid",
    *(f"add account a{number}" for number in range(10)),
    "modify account a6 set QosLevel=low,high",
    "modify account a6 set DefaultQOS=low",
    "modify account a7 set QosLevel=mid",
    "add user alice Account=a0 DefaultAccount=a0 QosLevel=normal",
    "add user alice Account=a1 QosLevel=low",
    "add user alice Account=a2 QosLevel=low,high",
    "add user alice Account=a3 QosLevel=normal,high DefaultQOS=high",
    "add user alice Account=a4 QosLevel=normal,high DefaultQOS=high",
    "add user alice Account=a4 Partition=rich QosLevel=low,normal DefaultQOS=low",
    "add user alice Account=a4 Partition=debug QosLevel=low,mid DefaultQOS=mid",
    "add user alice Account=a5 QosLevel=high DefaultQOS=high",
    "add user alice Account=a5 Partition=fb QosLevel=low",
    "add user alice Account=a6",
    "add user alice Account=a7",
    "add user alice Account=a8 Partition=rich QosLevel=low DefaultQOS=low",
    "add user alice Account=a9 QosLevel=normal,high,low",
)
"""Ten shapes of associations: with and without a default, with one QOS or several, inherited, for one partition."""
WAYS = ["", "-p debug", "-p rich", "-p rich,debug", "-p debug,rich", "-p fb", "--reservation=course"]


@pytest.mark.parametrize(
    ("enforce", "root"),
    [
        ("associations", "low"),
        ("", None),
        *moved(("associations", None), ("associations,limits,qos", None), ("", "low")),
    ],
)
def test_the_qos(large_cluster: Cluster, enforce: str, root: str | None) -> None:
    """job.default_qos and job.charged_account are what a job gets, for each shape of associations and enforcement.

    In an update, it is that of the job's association.
    """
    accounting.need_sources(large_cluster)
    site = _with_accounting(large_cluster)
    change = f"sacctmgr -i modify account root set DefaultQOS={root or -1}"
    line = f"AccountingStorageEnforce={enforce}" if enforce else ""
    settings = re.sub("AccountingStorageEnforce=.*", line, CONF[0])
    site.cluster.root("sh", "-c", change)
    site.clear()
    site.conf(settings)
    site.hooks(TELLS)
    site.shell("scancel --state=PENDING --user=alice")
    accounts = ["", *(f"-A a{number}" for number in range(10)), "-A A3", *(["-A nosuch"] if not enforce else [])]
    requests = [f"{account} {way}" for account, way in itertools.product(accounts, WAYS)]
    jobs = submit_all(site, requests)
    told = {each["name"]: each for each in site.told()}
    assert len(jobs) > len(requests) / 3
    expected = {number: job["QOS"] for number, job in jobs.items()}
    assert {requests[int(number)]: told[number]["default_qos"] for number in jobs} == {
        requests[int(number)]: qos for number, qos in expected.items()
    }
    assert {number: told[number]["charged"] for number in jobs} == {n: job["Account"] for n, job in jobs.items()}
    assert len(set(expected.values())) >= 3
    ids = " ".join(job["JobId"] for job in jobs.values())
    site.shell(f"for id in {ids}; do scontrol update jobid=$id comment=x; done")
    updated = {each["name"]: each["default_qos"] for each in site.told()}
    assert updated == expected
    _clear_the_qos(site, jobs)


def _clear_the_qos(site: Site, jobs: dict[str, dict[str, str]]) -> None:
    """Clear the QOS of each job, and compare what handlers see as its new QOS with what it gets."""
    numbers = {job["JobId"]: number for number, job in jobs.items()}
    site.shell(f"for id in {' '.join(numbers)}; do scontrol update jobid=$id qos= || true; done")
    told = {each["name"]: each["default_qos"] for each in site.told()}
    shown_now = [shown(line) for line in site.said("scontrol", "show", "jobs", "-o", user="root").splitlines()]
    now = {numbers[job["JobId"]]: job["QOS"] for job in shown_now if job.get("JobId") in numbers}
    assert {number: told[number] for number in now} == now


LICENSES = """
@hook.job_submit(order=10)
def submit(job):
    tell(name=job.name, licenses={name: count.most for name, count in job.bounds.licenses.items()})
"""
COUNTED = """\
[hooks]
paths = ["hooks.d/*.py"]

[[rule]]
rule = "licenses"
most = { "matlab@flex" = 2 }
"""


def test_licenses_of_servers(large_cluster: Cluster) -> None:
    """Licenses of slurmdbd count by their names with the server, as slurmctld gives them."""
    accounting.need_sources(large_cluster)
    site = _with_accounting(large_cluster)
    site.clear()
    site.conf(CONF[0])
    site.hooks(LICENSES)
    requests = ["-L matlab@flex", "-L matlab@flex:3", "-L matlab@flex:2,matlab@flex", "-L matlab", "-L matlab@nosuch",
                "-L 'matlab@flex;matlab@flex:4'", "-L matlab@FLEX:2", "-L flex@matlab"]  # fmt: skip
    jobs = submit_all(site, requests)
    told = {each["name"]: each["licenses"] for each in site.told()}
    assert {"0", "1", "2", "5"} <= jobs.keys()
    for number, job in jobs.items():
        if job["Licenses"] == "(null)":
            continue  # before 26.05 slurmctld accepts a name without its server, and counts nothing
        given: dict[str, int] = {}
        for name, count in re.findall(r"([\w@]+)(?::(\d+))?", job["Licenses"]):
            given[name] = given.get(name, 0) + int(count or 1)
        assert given == told[number], requests[int(number)]
    site.clear()
    site.cluster.put(COUNTED, TOML)
    assert "at most 2 of matlab@flex" in site.refused("-L", "matlab@flex:3")
    site.submit("-L", "matlab@flex:2")


SHORT = """\
[hooks]
paths = ["hooks.d/*.py"]

[[rule]]
rule = "time_ceiling"
limit = 10
qos = ["low"]

[[rule]]
rule = "guard_updates"
changes = ["wckey"]
"""


def test_lists_of_qos(large_cluster: Cluster) -> None:
    """A rule for a QOS is for a job that may get another one, too, at submission and in each update."""
    accounting.need_sources(large_cluster)
    if large_cluster.version < (24, 11):
        pytest.skip("--qos takes several from 24.11 on")
    site = _with_accounting(large_cluster)
    site.clear()
    site.conf(CONF[0])
    site.cluster.put(SHORT, TOML)
    for qos in ("normal,low", "low,normal", "high,normal", "HIGH,LOW", "normal"):
        concerned = "low" in qos.lower()
        way = ("-A", "a9", f"--qos={qos}")
        said = site.said("sbatch", "--hold", *way, "-t30", "--wrap=true")
        assert ("at most 00:10:00" in said) == concerned, said
        job = site.submit(*way, "-t5")
        said = site.said("scontrol", "update", f"jobid={job}", "timelimit=30")
        assert ("at most 00:10:00" in said) == concerned, (qos, said)
        assert not site.said("scontrol", "update", f"jobid={job}", "timelimit=9", "qos=low").strip()
        assert "at most 00:10:00" in site.said("scontrol", "update", f"jobid={job}", "timelimit=30")
        assert not site.said("scontrol", "update", f"jobid={job}", "timelimit=30", "qos=high,normal").strip()
        assert "at most 00:10:00" in site.said("scontrol", "update", f"jobid={job}", "qos=normal,low")
        assert "WCKey" in site.said("scontrol", "update", f"jobid={job}", "wckey=other")


CONF: list[str] = []


def _with_accounting(cluster: Cluster) -> Site:
    """Start accounting once, and return the site."""
    site = Site(cluster)
    if not CONF:
        accounting.start(cluster, *SHAPES, more=LINES)
        cluster.root("sh", "-ec", RESERVATIONS, check=True)
        CONF.append(cluster.root("cat", "/etc/slurm/local.conf", check=True).stdout)
    return site
