# SPDX-License-Identifier: GPL-2.0-or-later
"""nodes, licenses, qos and associations in a slurmctld with a real slurmdbd, compared with scontrol and sacctmgr."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from slurmhooks.fields import AssociationFields, LicenseFields, NodeFields, QosFields
from slurmhooks.fields.rows import release_of, rows
from slurmhooks.job_submit.constants import NodeState, NodeStateFlag
from tests.cluster import accounting
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import Site, shown
from tests.cluster.table_labels import (
    ASSOCIATION_COLUMNS,
    ASSOCIATION_GROUP,
    GROUP,
    LICENSE,
    NODE,
    QOS_COLUMNS,
    SHARES,
    USAGE,
    time_text,
    used,
    used_tres,
    words,
)

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
    " MaxTRESPerJob=cpu=106 MaxTRESPerNode=cpu=107 MaxTRESPerUser=cpu=108 MaxTRESRunMinsPA=cpu=109"
    " MaxTRESRunMinsPU=cpu=110 MinTRESPerJob=cpu=1 MaxJobsAccruePerAccount=21 MaxJobsAccruePerUser=22"
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
sbatch --output=/dev/null --job-name=ended -q full --account=physics --mem=10 --time=5 --wrap 'sleep 2'
sbatch --output=/dev/null --job-name=waits --hold -q full --account=physics --mem=10 --time=5 --wrap true
"""
RESERVED = "scontrol create reservation reservationname=held start=now duration=90 nodes=n3 users=bob licenses=local:2"
UPDATE = "scontrol update nodename=n2 state=drain reason=broken comment=old extra=x=1"

PYTHON = """
from collections import Counter
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
        counted=[qos.counts("flags") == Counter((row.flags,) for row in qos.values()), len(qos.counts("flags"))],
        chosen=[
            chosen(nodes, name="n1"),
            chosen(nodes, gres="gpu:tesla:2"),
            chosen(nodes, cpus=8, state=constants.NodeState.NODE_STATE_IDLE),
            chosen(nodes, state=constants.NODE_STATE_IDLE, state_flags=constants.NODE_STATE_DRAIN),
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
    """A site whose handler reads everything; ``seen`` are its records: fields, by table and key, and more."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.seen: dict[str, Any] = {}

    def look(self) -> None:
        """Make the handler read all tables."""
        done = self.site.run("sbatch", "--test-only", "--job-name=look", "--wrap=true")
        assert done.returncode == 0, done.stderr + self.site.logged()[-3000:]
        (self.seen,) = self.site.told()

    def listed(self, what: str, names: str) -> list[dict[str, str]]:
        """Return the rows that sacctmgr lists, by the names of its columns."""
        said = self.site.cluster.root("sacctmgr", "-nP", "show", *what.split(), f"format={names}", check=True).stdout
        return [dict(zip(names.split(","), line.split("|"), strict=True)) for line in said.splitlines()]

    def scontrol(self, *what: str) -> list[dict[str, str]]:
        """Return the lines that scontrol shows."""
        lines = self.site.cluster.root("scontrol", "-o", "-d", "show", *what, check=True).stdout.splitlines()
        return [shown(line) for line in lines if "=" in line]


def fields_of(table: type, release: tuple[int, ...]) -> set[str]:
    """Return the names of the fields of a table in a release."""
    return {name for name, row in rows(table).items() if row.since is None or release_of(row.since) <= release}


@pytest.fixture(scope="module")
def module_tables(large_cluster: Cluster) -> Tables:
    """A site with many kinds of accounts, QOS and licenses, a node with GPUs and jobs; at first without accounting."""
    site = Site(large_cluster)
    if not large_cluster.has_sources:
        pytest.skip(NO_SOURCES)
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
    site.shell(f"{RESERVED}\n{UPDATE}", user="root")
    site.shell(JOBS)
    large_cluster.wait(lambda: "gpu RUNNING" in site.said("squeue", "-h", "-o", "%j %T"), what="running job")
    large_cluster.wait(lambda: "ended" not in site.said("squeue", "-h", "-o", "%j"), what="end of a job")
    site.hooks(PYTHON)
    return tables


@pytest.fixture
def tables(module_tables: Tables) -> Tables:
    """The same, read again."""
    module_tables.look()
    return module_tables


def test_rows_are_chosen_by_slurmctld(tables: Tables) -> None:
    """slurmctld sends the same records for values of fields that a handler would select from all records."""
    counts = [count for count, same in tables.seen["chosen"] if same]
    assert len(counts) == len(tables.seen["chosen"]), tables.seen["chosen"]
    assert all(counts[:-1]), counts
    assert counts[-1] == 0
    wanted = {line["ID"] for line in tables.listed("assoc", "ID,User") if line["User"] == "alice"}
    assert {str(number) for number in tables.seen["of_user"]} == wanted


def test_what_is_not_there_is_missing(tables: Tables) -> None:
    """A name or number without a record, and a host name, have no entry."""
    assert all(tables.seen["missing"]), tables.seen["missing"]
    assert tables.seen["found"] == ["n2", "local", "full", 2, 2]


def test_tables_end_with_the_call(tables: Tables) -> None:
    """Tables and records that a handler keeps are stale in the next call."""
    tables.look()
    assert set(tables.seen["stale"]) == {"stale"}


NODE_STATES = {
    NodeState.NODE_STATE_IDLE: {"IDLE"},
    NodeState.NODE_STATE_ALLOCATED: {"ALLOCATED", "MIXED"},
}
NODE_ELSE = {
    "comp_job_cnt", "gpu_spec", "instance_id", "instance_type", "last_response", "no_share_job_cnt", "reason",
    "reason_time", "reason_uid", "res_cores_per_gpu", "run_job_cnt", "state", "state_flags", "sus_job_cnt", "tot_cores",
}  # fmt: skip
"""Fields that the test compares in another way."""
LOOKS = 20
"""How often the test looks at most, until nothing changes meanwhile: slurmctld updates load and reservations."""


def test_nodes(tables: Tables) -> None:
    """Every field of every node is the same as in scontrol, while no node changes."""
    release = tables.site.release
    assert set(tables.seen["node"]["n1"]) == fields_of(NodeFields, release)
    assert fields_of(NodeFields, release) - set(NODE) == {
        name for name in NODE_ELSE if name in fields_of(NodeFields, release)
    }
    for _ in range(LOOKS):
        before = tables.scontrol("node")
        tables.look()
        if before == tables.scontrol("node"):
            break
    after = {line["NodeName"]: line for line in before}
    assert set(tables.seen["node"]) == set(after)
    wrong = []
    for key, node in tables.seen["node"].items():
        for name, (label, convert) in NODE.items():
            if name not in node or (label not in after[key] and not node[name]):
                continue
            if convert(node[name]) != after[key].get(label):
                wrong.append(f"{key}.{name}: {node[name]!r}, scontrol shows {after[key].get(label)!r}")
        state, *flags = after[key]["State"].split("+")
        if state not in NODE_STATES[NodeState(node["state"])]:
            wrong.append(f"{key}: {node['state']}, not {state}")
        if ("DRAIN" in flags) != (NodeStateFlag.NODE_STATE_DRAIN in NodeStateFlag(node["state_flags"])):
            wrong.append(f"{key}: {node['state_flags']}, not {flags}")
        if node["tot_cores"] != node["cores"] * node["tot_sockets"]:
            wrong.append(f"{key}: {node['tot_cores']} cores")
    assert wrong == []
    n1, n2, n3 = (tables.seen["node"][name] for name in ("n1", "n2", "n3"))
    assert f"{n2['reason']} [root@{time_text(n2['reason_time'])}]" == after["n2"]["Reason"]
    assert [node["reason_uid"] for node in (n1, n2, n3)] == [None, 0, None]
    assert [node["run_job_cnt"] for node in (n1, n2, n3)] == [1, 0, 0]
    assert (n1["gres"], n1["cpus_efctv"], n1["weight"]) == ("gpu:tesla:2", 7, 7)
    assert n1["gres_used"].startswith("gpu:tesla:1(")
    for name in ("comp_job_cnt", "sus_job_cnt", "no_share_job_cnt"):
        assert [node[name] for node in (n1, n2, n3)] == [0, 0, 0]
    assert all(node["last_response"] >= node["slurmd_start_time"] for node in (n1, n2, n3))


def test_licenses(tables: Tables) -> None:
    """Every field of every license is the same as in scontrol, with uses by jobs, reservations and remote licenses."""
    assert set(LICENSE) == set(rows(LicenseFields))
    lines = {line["LicenseName"]: line for line in tables.scontrol("license")}
    seen = tables.seen["license"]
    assert set(seen) == set(lines) == {"local", "matlab@flex"}
    for key, line in lines.items():
        assert set(seen[key]) == fields_of(LicenseFields, tables.site.release)
        shown_fields = {name: label for name, (label, _) in LICENSE.items() if label in line}
        assert {name: LICENSE[name][1](seen[key][name]) for name in shown_fields} == {
            name: line[label] for name, label in shown_fields.items()
        }
    local = seen["local"]
    assert (local["total"], local["used"], local["reserved"]) == (10, 3, 2)


def _as_listed(row: Mapping[str, Any], columns: Mapping[str, tuple[str, Callable[[str], Any]]]) -> dict[str, Any]:
    """Return the fields that sacctmgr lists, with names in its order."""
    return {name: sorted(row[name]) if isinstance(row[name], list) else row[name] for name in columns}


def test_qos(tables: Tables) -> None:
    """Every field of every QOS is the same as in sacctmgr, and its usage as in slurmctld."""
    release = tables.site.release
    usage = {*GROUP, "grp_used_tres", "grp_used_wall", "usage_raw"}
    assert fields_of(QosFields, release) == {*QOS_COLUMNS, *usage}
    listed = tables.listed("qos", ",".join(label for label, _ in QOS_COLUMNS.values()))
    wanted = {
        line["Name"]: {name: convert(line[label]) for name, (label, convert) in QOS_COLUMNS.items()} for line in listed
    }
    assert {key: _as_listed(row, QOS_COLUMNS) for key, row in tables.seen["qos"].items()} == wanted
    assert tables.seen["counted"] == [True, len({row["flags"] for row in tables.seen["qos"].values()})]
    for line in tables.site.said("scontrol", "-o", "show", "assoc_mgr", "flags=qos").splitlines():
        if not (found := re.match(r"QOS=(\w+)\(", line)):
            continue
        row = tables.seen["qos"][found[1]]
        assert {name: str(row[name]) for name in GROUP} == {name: used(line, label) for name, label in GROUP.items()}
        assert words(row["grp_used_tres"]) == used_tres(line)
        assert f"UsageRaw={row['usage_raw']:f}" in line
        assert f"{row['grp_used_wall'] / 60:.2f}" == used(line, "GrpWall")
    full = tables.seen["qos"]["full"]
    assert full["grp_used_jobs"] == 1
    assert full["usage_raw"] >= 2 * 2.5
    assert full["grp_used_wall"] >= 2


def test_associations(tables: Tables) -> None:
    """Every field of every association is the same as in sacctmgr, and its usage as in slurmctld."""
    release = tables.site.release
    elsewhere = {*ASSOCIATION_GROUP, *SHARES, *USAGE, "grp_used_tres", "grp_used_wall", "is_default", "user_id"}
    elsewhere |= {"min_prio_thresh", *fields_of(AssociationFields, release).intersection({"comment", "lineage"})}
    assert fields_of(AssociationFields, release) == {*ASSOCIATION_COLUMNS, *elsewhere}
    seen = tables.seen["association"]
    listed = tables.listed("assoc", ",".join(label for label, _ in ASSOCIATION_COLUMNS.values()))
    wanted = {
        line["ID"]: {name: convert(line[label]) for name, (label, convert) in ASSOCIATION_COLUMNS.items()}
        for line in listed
    }
    for row in wanted.values():
        if row["user"] is None:
            row["qos"] = []
    assert {key: _as_listed(row, ASSOCIATION_COLUMNS) for key, row in seen.items()} == wanted
    shown_ids = set()
    for line in tables.site.said("scontrol", "-o", "show", "assoc_mgr", "flags=assoc").splitlines():
        if not (found := re.search(r"\bID=(\d+) SharesRaw/Norm/Level/Factor=(\S+) UsageRaw/Norm/Efctv=(\S+)", line)):
            continue
        number, shares, usage = found.groups()
        shown_ids.add(number)
        row = seen[number]
        assert {name: str(row[name]) for name in ASSOCIATION_GROUP} == {
            name: used(line, label) for name, label in ASSOCIATION_GROUP.items()
        }
        assert words(row["grp_used_tres"]) == used_tres(line)
        assert f"{row['grp_used_wall'] / 60:.2f}" == used(line, "GrpWall")
        for places, text in ((SHARES, shares), (USAGE, usage)):
            for name, place in places.items():
                assert row[name] is None or f"{row[name]:.2f}" == text.split("/")[place], (name, line)
        assert f" DefAssoc={'Yes' if row['is_default'] else 'No'} " in line
        owner = re.search(r"UserName=\w*(?:\((\d+)\))?", line)
        assert owner is not None
        assert row["user_id"] == (int(owner[1]) if owner[1] else None)
        if "lineage" in row:
            assert f" Lineage={row['lineage']} " in line
        assert row.get("comment") is None
        assert row["min_prio_thresh"] == "UNLIMITED"
    assert shown_ids == set(seen)
    alice = next(row for row in seen.values() if row["max_jobs"] == 37)
    assert (alice["used_jobs"], alice["used_submit_jobs"], alice["qos"]) == (1, 2, ["full", "high", "low", "normal"])
    assert alice["usage_raw"] >= 2


def test_a_build_without_sources_says_so(large_cluster: Cluster) -> None:
    """A hook file that takes these tables is refused, and the error says how to get them."""
    if large_cluster.has_sources:
        pytest.skip("this release has sources")
    site = Site(large_cluster)
    site.reset()
    site.hooks("@hook.job_submit\ndef look(job, nodes, licenses, qos, associations): pass\n")
    said = site.cluster.refusal()
    assert "takes associations, licenses, nodes, qos: this build has only Slurm's public headers" in said
    assert "slurmhooks build --fetch-source" in said
