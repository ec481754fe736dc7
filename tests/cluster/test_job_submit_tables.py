# SPDX-License-Identifier: GPL-2.0-or-later
"""nodes, licenses, qos and associations in a slurmctld with a real slurmdbd, beside what scontrol and sacctmgr show."""

from typing import Any

import pytest

from slurmhooks.job_submit.rows import release_of, rows
from tests.cluster import accounting
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import Site, shown

NO_SOURCES = "Debian has no sources of this release, without which slurmctld's structs cannot be read"

NODES = """\
more="Gres=gpu:tesla:2 Feature=fast,big Weight=7 CoreSpecCount=1 MemSpecLimit=50"
sed -i "s/^\\(NodeName=n1 .*\\) State/\\1 $more State/" /etc/slurm/slurm.conf
echo 'NodeName=n1 Name=gpu Type=tesla File=/dev/null,/dev/zero' > /etc/slurm/gres.conf
"""
LINES = """\
PartitionName=rich Nodes=n1 State=UP
Licenses=local:10
GresTypes=gpu
AccountingStorageTRES=gres/gpu
PriorityType=priority/multifactor
"""
QOS = (
    "add qos full Description=everything Priority=78 GraceTime=30 Preempt=low,high PreemptMode=cancel"
    " PreemptExemptTime=00:00:50 Flags=DenyOnLimit,NoDecay UsageFactor=2.5 UsageThreshold=0.25 LimitFactor=1.5"
    " MinPrioThres=9 GrpTRES=cpu=101,gres/gpu=2,mem=1000 GrpTRESMins=cpu=102 GrpTRESRunMins=cpu=103 GrpJobs=11"
    " GrpJobsAccrue=12 GrpSubmitJobs=13 GrpWall=14 MaxTRESMinsPerJob=cpu=104 MaxTRESPerAccount=cpu=105"
    " MaxTRESPerJob=cpu=106 MaxTRESPerNode=cpu=107 MaxTRESPerUser=cpu=108 MaxTRESRunMinsPerAccount=cpu=109"
    " MaxTRESRunMinsPerUser=cpu=110 MinTRESPerJob=cpu=1 MaxJobsAccruePerAccount=21 MaxJobsAccruePerUser=22"
    " MaxJobsPerAccount=23 MaxJobsPerUser=24 MaxSubmitJobsPerAccount=25 MaxSubmitJobsPerUser=26 MaxWall=27"
)
ASSOCIATION = (
    "modify user alice where account=physics partition= set GrpTRES=cpu=201,mem=2000 GrpTRESMins=cpu=202"
    " GrpTRESRunMins=cpu=203 GrpJobs=31 GrpJobsAccrue=32 GrpSubmitJobs=33 GrpWall=34 MaxTRESMinsPerJob=cpu=204"
    " MaxTRESPerJob=cpu=205 MaxTRESPerNode=cpu=206 MaxJobs=37 MaxJobsAccrue=38 MaxSubmitJobs=39 MaxWall=40 Fairshare=41"
    " Priority=42 QosLevel+=full"
)
RESOURCE = "add resource name=matlab server=flex count=20 type=license percentallowed=50 cluster=CLUSTER"
JOBS = """
sbatch --output=/dev/null --job-name=gpu -q full --gres=gpu:1 --licenses=local:3 --mem=100 --time=5 \\
    --account=physics --wrap 'sleep 1000'
sbatch --output=/dev/null --job-name=waits --hold -q full --account=physics --mem=10 --time=5 --wrap true
"""
RESERVED = "scontrol create reservation reservationname=held start=now duration=90 nodes=n3 users=bob licenses=local:2"
NODE = "scontrol update nodename=n2 state=drain reason=broken comment=old extra=x=1"

PYTHON = """
from slurmhooks import StaleHandleError, UNLIMITED
from slurmhooks.job_submit import constants

def shown(value):
    if value is UNLIMITED:
        return "UNLIMITED"
    if isinstance(value, (bool, str, float)) or value is None:
        return value
    return int(value) if isinstance(value, int) else list(value)

def fields(view):
    return {name: shown(getattr(view, name)) for name in dir(view)}

def chosen(table, **wanted):
    found = table.where(**wanted)
    every = [view for view in table.values() if all(getattr(view, name) == wanted[name] for name in wanted)]
    return [len(found), sorted(map(repr, found)) == sorted(map(repr, every))]

kept = []

@hook.job_submit
def look(job, nodes, licenses, qos, associations):
    if job.name != "look":
        return
    stale = []
    for view in kept:
        try:
            len(view) if hasattr(type(view), "where") else view.name
            stale.append("alive")
        except StaleHandleError:
            stale.append("stale")
    tables = {"node": nodes, "license": licenses, "qos": qos, "association": associations}
    tell(
        **{name: {str(key): fields(view) for key, view in table.items()} for name, table in tables.items()},
        stale=stale,
        chosen=[
            chosen(nodes, name="n1"),
            chosen(nodes, gres="gpu:tesla:2"),
            chosen(nodes, cpus=8, state=constants.NodeState.NODE_STATE_IDLE),
            chosen(nodes, state=constants.NodeState.NODE_STATE_IDLE, state_flags=constants.NodeStateFlag(0)),
            chosen(licenses, remote=True),
            chosen(licenses, name="local", used=3),
            chosen(qos, priority=78),
            chosen(qos, usage_factor=2.5, grp_tres="cpu=101,gres/gpu=2,mem=1000M"),
            chosen(qos, max_wall_pj=UNLIMITED),
            chosen(associations, user="alice"),
            chosen(associations, user="alice", account="physics", is_default=True),
            chosen(associations, default_qos="low", max_jobs=UNLIMITED),
            chosen(associations, user="nobody"),
        ] if associations else None,
        of_user=sorted(view.id for view in associations.of_user(job.user_id)),
        missing=[table.get(key) is None for table, key in (
            (nodes, "ctl"), (nodes, "nothing"), (nodes, ""), (licenses, "nothing"), (qos, "nothing"), (qos, ""),
            (associations, 0), (associations, 999999), (associations, "alice"))],
        found=[nodes["n2"].name, *([licenses["local"].name, qos["full"].name, associations[2].id,
            associations["2"].id] if associations else ())],
    )
    kept[:] = [nodes, nodes["n1"], qos, *qos.values(), associations, *licenses.values()]
"""


class Tables:
    """A site whose handler looks at everything.

    Attributes:
        seen: what it saw: fields, by table and key, and more.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.seen: dict[str, Any] = {}

    def look(self) -> None:
        """Have the handler look."""
        done = self.site.run("sbatch", "--test-only", "--job-name=look", "--wrap=true")
        assert done.returncode == 0, done.stderr + self.site.logged()[-3000:]
        (self.seen,) = self.site.told()

    def listed(self, what: str, names: str) -> list[dict[str, str]]:
        """Return what sacctmgr lists, by the names of its columns."""
        said = self.site.cluster.root("sacctmgr", "-nP", "show", *what.split(), f"format={names}", check=True).stdout
        return [dict(zip(names.split(","), line.split("|"), strict=True)) for line in said.splitlines()]

    def scontrol(self, *what: str) -> list[dict[str, str]]:
        """Return what scontrol shows, line by line."""
        lines = self.site.cluster.root("scontrol", "-o", "-d", "show", *what, check=True).stdout.splitlines()
        return [shown(line) for line in lines if "=" in line]


def read(table: type, release: tuple[int, int]) -> set[str]:
    """Return the fields that a table has in a release."""
    return {name for name, row in rows(table).items() if row.since is None or release_of(row.since) <= release}


@pytest.fixture(scope="module")
def module_tables(large_cluster: Cluster) -> Tables:
    """Accounts, QOS and licenses of all sorts, a node with GPUs, jobs that use them; first, all without accounting."""
    site = Site(large_cluster)
    if site.release >= (26, 0):
        pytest.skip(NO_SOURCES)
    large_cluster.put("", "/etc/slurm/plugstack.conf")
    site.reset()
    site.hooks(PYTHON)
    tables = Tables(site)
    tables.look()
    without = tables.seen
    assert without["license"] == without["qos"] == without["association"] == {}
    assert set(without["node"]) == {"n1", "n2", "n3"}
    assert all(without["missing"]), without["missing"]
    large_cluster.root("sh", "-ec", NODES, check=True)
    accounting.start(large_cluster, *accounting.ACCOUNTS, RESOURCE, more=LINES)
    large_cluster.root("sh", "-ec", f"sacctmgr -i {QOS}; sacctmgr -i {ASSOCIATION}", check=True)
    large_cluster.wait(lambda: "QOS=full" in site.said("scontrol", "show", "assoc_mgr", "flags=qos"), what="the QOS")
    site.shell(f"{RESERVED}\n{NODE}", user="root")
    site.shell(JOBS)
    large_cluster.wait(lambda: "gpu RUNNING" in site.said("squeue", "-h", "-o", "%j %T"), what="running job")
    site.hooks(PYTHON)
    return tables


@pytest.fixture
def tables(module_tables: Tables) -> Tables:
    """The same, looked at again."""
    module_tables.look()
    return module_tables


def test_rows_are_chosen_by_slurmctld(tables: Tables) -> None:
    """What slurmctld sends for values of fields is what a handler would find by looking at all."""
    counts = [count for count, same in tables.seen["chosen"] if same]
    assert len(counts) == len(tables.seen["chosen"]), tables.seen["chosen"]
    assert all(counts[:-1]), counts
    assert counts[-1] == 0
    wanted = {line["ID"] for line in tables.listed("assoc", "ID,User") if line["User"] == "alice"}
    assert {str(number) for number in tables.seen["of_user"]} == wanted


def test_what_is_not_there_is_missing(tables: Tables) -> None:
    """A name or number that no record has, and a host name, find nothing."""
    assert all(tables.seen["missing"]), tables.seen["missing"]
    assert tables.seen["found"] == ["n2", "local", "full", 2, 2]


def test_tables_end_with_the_call(tables: Tables) -> None:
    """Tables and records that a handler keeps are stale in its next call."""
    tables.look()
    assert set(tables.seen["stale"]) == {"stale"}
