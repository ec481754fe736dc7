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
from tests.cluster import kit_pairs
from tests.cluster.kit_pairs import Allowed, differences
from tests.cluster.spank.site import Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped

HOOKS = (
    kit_pairs.RECORDER
    + """
from slurmhooks import hook

@hook.job_modify
def modify(job, record, modify_uid):
    record_of("job_modify", record, modify_uid)

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
)
TASKS = 3
"""How many records of an end the jobs have."""
CONF = """
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
    hooks = tmp_path / "kit.py"
    hooks.write_text(HOOKS.replace("@FOLDER@", str(tmp_path)))
    wrong = []
    for row in seen:
        (tmp_path / "records").write_text("")
        record = FakeRecord(release=".".join(cluster.release.split(".")[:2]), **given(row["fields"]))
        job: Any = {"job": FakeJob(release=cluster.release, comment="x")} if row["place"] == "job_modify" else {}
        result = run(hooks, row["place"], record=record, **job)
        assert result.accepted, result
        (mine,) = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()]
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
