# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of jobs: handlers of slurmctld's hooks see the same values in Slurm and in `slurmhooks.testing`.

Each hook is called for real jobs; what its handler saw is given to the kit, whose handler must see the same. A field
that nothing has set must be unset in the same way in a stand-in without it.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slurmhooks.fields import RecordFields
from slurmhooks.fields.rows import Computed, rows
from slurmhooks.testing import FakeJob, FakeRecord, run
from slurmhooks.values import UNLIMITED
from slurmhooks.workshop.testing.job_tables import MAKERS
from tests.cluster import kit_pairs
from tests.cluster.kit_pairs import Allowed, differences
from tests.cluster.spank.site import Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.stopped, pytest.mark.moved]

HOOKS = (
    kit_pairs.RECORDER
    + """
from slurmhooks import hook

@hook.job_submit
def tables(partitions, nodes, licenses):
    for name, table in (("partitions", partitions), ("nodes", nodes), ("licenses", licenses)):
        record(place="table", name=name, rows={key: dict(row) for key, row in table.items()})

@hook.job_modify
def modify(job, record, modify_uid):
    record_of("job_modify", record, modify_uid)
    globals()["record"](place="update", fields=dict(job), record=dict(record))

@hook.priority
def rate(record):
    if record.name == "kit":
        record_of("priority", record)

@hook.controller_prolog
def starts(record):
    record_of("controller_prolog", record)

@hook.controller_epilog
def ends(record):
    record_of("controller_epilog", record)

@hook.job_end
def ended(record, event):
    record_of("job_end", record, event.name)

def record_of(place, record, *more):
    globals()["record"](place=place, fields=dict(record), more=list(more))
"""
)
JOBS = (
    ("-J", "kit", "--wrap", "true"),
    ("-J", "kit", "-n2", "-t5", "--mem=10", "--comment=two words", "-a", "1-2", "--wrap", "true"),
    ("-J", "kit", "--gres=gpu:1", "--mem-per-gpu=10", "--wrap", "true"),
    ("-J", "kit", "-n2", "--gpus=2", "--cpus-per-gpu=1", "--gpu-bind=closest", "--wrap", "true"),
    ("-J", "kit", "-n1", "--gpus-per-task=1", "--gpus-per-node=1", "--wrap", "true"),
)
TASKS = 6
"""How many records of an end the jobs have."""
GRES = """
echo 'NodeName=n1 Name=gpu File=/dev/null,/dev/zero' > /etc/slurm/gres.conf
sed -i '/^NodeName=n1/s/$/ Gres=gpu:2/' /etc/slurm/slurm.conf
"""
CONF = """
GresTypes=gpu
PartitionName=plain Nodes=ALL
Licenses=matlab:10
JobCompType=jobcomp/python
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PrioritySiteFactorPlugin=site_factor/python
PrEpPlugins=prep/script,prep/python
"""
HOOKS_OF_RECORDS = ("job_modify", "priority", "controller_prolog", "controller_epilog", "job_end")


@pytest.fixture(scope="module")
def seen(cluster: "Cluster") -> list[dict[str, Any]]:
    """Return what handlers saw of some jobs, from their submission to their end."""
    if not cluster.has_sources:
        pytest.skip("records need a build with Slurm's sources")
    prepared = site(cluster)
    prepared.hooks(kit=HOOKS.replace("@FOLDER@", kit_pairs.FOLDER))
    kit_pairs.prepare(cluster)
    before = prepared.root("cat /etc/slurm/local.conf")
    cluster.put(f"{before}{CONF}", "/etc/slurm/local.conf")
    cluster.root("sh", "-ec", GRES, check=True)
    cluster.restart()
    return submitted(prepared)


def submitted(prepared: Site) -> list[dict[str, Any]]:
    """Submit, update and release the jobs; return what handlers saw once all tasks have ended."""
    for words in JOBS:
        job = prepared.shell(f"cd /tmp; sbatch -H --parsable {' '.join(map(repr, words))}").stdout.strip()
        prepared.shell(f"scontrol update jobid={job} comment=x; scontrol release {job}")
    found: list[dict[str, Any]] = []

    def over() -> bool:
        text = prepared.root(f"cat {kit_pairs.FOLDER}/records")
        found[:] = [json.loads(line) for line in text.splitlines()]
        return [row["place"] for row in found].count("job_end") >= TASKS

    prepared.cluster.wait(over, what="end of the jobs")
    return found


def given(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields as the kit takes them."""
    return {name: UNLIMITED if value == "UNLIMITED" else value for name, value in fields.items()}


def test_records(cluster: "Cluster", seen: list[dict[str, Any]], tmp_path: Path) -> None:
    """A handler of the kit sees each field of a real record as the handler in Slurm did."""
    assert {row["place"] for row in seen} >= {*HOOKS_OF_RECORDS}
    seen = [row for row in seen if row["place"] in HOOKS_OF_RECORDS]
    hooks = tmp_path / "kit.py"
    hooks.write_text(HOOKS.replace("@FOLDER@", str(tmp_path)))
    wrong = []
    for row in seen:
        (tmp_path / "records").write_text("")
        record = FakeRecord(release=".".join(cluster.release.split(".")[:2]), **given(row["fields"]))
        job: Any = {"job": FakeJob(release=cluster.release, comment="x")} if row["place"] == "job_modify" else {}
        result = run(hooks, row["place"], record=record, **job)
        assert result.accepted, result
        lines = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()]
        (mine,) = [line for line in lines if line["place"] == row["place"]]
        wrong += [f"{row['place']}: {text}" for text in differences(mine, row, ())]
    assert not wrong, "\n".join(dict.fromkeys(wrong))


def test_fields_that_nothing_sets(cluster: "Cluster", seen: list[dict[str, Any]]) -> None:
    """A field that is unset, zero or empty in a plain job is the same in a stand-in that does not name it."""
    held, allowed = {"priority"}, Allowed("Records", cluster.version)
    plain = next(row["fields"] for row in seen if row["place"] == "job_modify")
    kit = dict(FakeRecord(release=".".join(cluster.release.split(".")[:2])))
    computed = {name for name, row in rows(RecordFields).items() if isinstance(row, Computed)}
    wrong = []
    for name, value in plain.items():
        if value in (None, 0, "", [], {}, False) and name not in computed | held and kit[name] != value:
            wrong += [name] if f"unset.{name}" not in allowed else []
    assert not allowed.unseen, f"no longer different: {allowed.unseen}"
    assert not wrong, [(name, plain[name], kit[name]) for name in wrong]


def test_updates(cluster: "Cluster", seen: list[dict[str, Any]], tmp_path: Path) -> None:
    """A handler of the kit sees each field of an update by scontrol as the handler in Slurm did."""
    hooks = tmp_path / "kit.py"
    hooks.write_text(HOOKS.replace("@FOLDER@", str(tmp_path)))
    release = ".".join(cluster.release.split(".")[:2])
    real = next(row for row in seen if row["place"] == "update" and row["fields"]["comment"] == "x")
    job, record = FakeJob(release=release, comment="x"), FakeRecord(release=release, **given(real["record"]))
    assert run(hooks, "job_modify", job=job, record=record).accepted
    mine = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()][-1]
    for row in (mine, real):
        row["fields"] = {name: value for name, value in row["fields"].items() if name not in OF_CLUSTER}
    wrong = list(differences(mine["fields"], real["fields"], ()))
    assert not wrong, "\n".join(wrong)


CONFIGURED = {
    "partitions": ("nodes", "total_cpus", "total_nodes", "tres_fmt_str"),
    "nodes": ("arch", "comm_name", "cpus", "gres_used", "node_hostname", "os", "partitions", "port", "real_memory",
              "resv_name", "tres_fmt_str", "version"),
    "licenses": ("total",),
}  # fmt: skip
"""Fields that the configuration or the machine of these rows decide."""
OF_TIME = (
    *("boot_time", "cpu_load", "free_mem", "last_busy", "last_response", "last_update", "reason_uid"),
    "slurmd_start_time",
)
"""Fields that depend on what has happened to the node."""
OF_CLUSTER = ("alloc_node", "default_partition", "groups")
"""Fields of an update that the client's machine and the configuration decide."""


def plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields as the handler writes them."""
    return {name: "UNLIMITED" if value is UNLIMITED else value for name, value in fields.items()}


def test_rows_of_tables(cluster: "Cluster", seen: list[dict[str, Any]]) -> None:
    """A row of a table in the kit, with what slurm.conf says, is that of slurmctld."""
    release = ".".join(cluster.release.split(".")[:2])
    wrong = []
    for row in [row for row in seen if row["place"] == "table"][:3]:
        table = row["name"]
        key = {"partitions": "plain", "nodes": "n2", "licenses": "matlab"}[table]
        real = row["rows"][key]
        fields = {name: value for name, value in given(real).items() if name in CONFIGURED[table]}
        kit = dict(MAKERS[table]({key: fields}, release=release)[key])
        wrong += [f"{table}: {text}" for text in differences(plain(kit), real, OF_TIME)]
    assert not wrong, "\n".join(wrong)
