# SPDX-License-Identifier: GPL-2.0-or-later
"""record, jobs, partitions, reservations, users and constants, compared with job_submit/lua in the same slurmctld.

Both plugins are loaded, and each records every field of every object in the same call. Fields that job_submit/lua lacks
are compared with the output of scontrol.
"""

from typing import Any

import pytest

from slurmhooks.fields import PartitionFields, RecordFields, ReservationFields
from slurmhooks.fields.number_rows import Offset
from slurmhooks.fields.rows import rows
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import shown
from tests.cluster.lua_views import CONSTANTS, PYTHON, Views, prepare

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.stopped]

NO_SOURCES = "Debian has no sources of this release, without which slurmctld's structs cannot be read"


NO_VALUE = {"NO_VAL": 0xFFFFFFFE, "NO_VAL16": 0xFFFE, "NO_VAL64": 0xFFFFFFFFFFFFFFFE}
UNLIMITED = {0xFFFFFFFF, 0xFFFF, 0xFFFFFFFFFFFFFFFF}


@pytest.fixture(scope="module")
def module_views(large_cluster: Cluster) -> Views:
    """A site with accounts, a reservation, and many kinds of partitions and jobs."""
    if not large_cluster.has_sources:
        pytest.skip(NO_SOURCES)
    return prepare(large_cluster)


@pytest.fixture
def views(module_views: Views) -> Views:
    """Start each test without hooks."""
    return module_views


def test_records_are_chosen_by_slurmctld(views: Views) -> None:
    """slurmctld sends the same records for values of fields that a handler would select from all records."""
    views.submit()
    counts = [count for count, same in views.python["chosen"] if same]
    assert len(counts) == len(views.python["chosen"]), views.python["chosen"]
    assert all(counts[:-1]), counts
    assert counts[-1] == 0
    assert views.python["lab"] == ["lab"]


def _same(lua: Any, python: Any, row: Any) -> bool:
    """Return whether a Lua value and a Python value mean the same."""
    if isinstance(lua, int) and not isinstance(lua, bool):
        if python is None:
            return lua in NO_VALUE.values()
        if python == "UNLIMITED":
            return lua in UNLIMITED
        if isinstance(row, Offset) and lua >= 1 << 30:
            return bool(python == lua - (1 << 31))
        # Lua's numbers are doubles, and it has 1 and 0 instead of True and False.
        return float(lua) == (float("nan") if isinstance(python, str) else float(python))
    return bool((lua or None) == (python or None))


def _differences(views: Views, kind: str, table: type) -> list[str]:
    differences = []
    lua, python = views.lua.get(kind, {}), views.python[kind]
    assert set(lua) == set(python)
    for key, fields in lua.items():
        for name, value in fields.items():
            row = rows(table).get(name)
            if name not in python[key]:
                differences.append(f"{kind} {key}: Python has no {name}, in Lua {value!r}")
            elif value is None and name == "user_name":
                continue  # job_submit/lua does not look up a name that slurmctld does not have
            elif not _same(value, python[key][name], row):
                differences.append(f"{kind} {key}.{name}: Lua {value!r}, Python {python[key][name]!r}")
    return differences


def test_partitions(views: Views) -> None:
    """Every field of every partition is the same as in job_submit/lua."""
    views.submit()
    assert _differences(views, "partition", PartitionFields) == []
    rich = views.python["partition"]["rich"]
    assert rich["max_time"] == 1440
    assert rich["grace_time"] == 30
    assert rich["tres_fmt_str"] == shown(views.site.said("scontrol", "show", "partition", "-o", "rich"))["TRES"]
    assert views.python["one"][:5] == ["rich", True, True, True, True]


@pytest.mark.parametrize("user", ["alice", "bob", "root"])
def test_partitions_that_a_user_may_use(views: Views, user: str) -> None:
    """Groups, RootOnly and DisableRootJobs decide for each user, as in job_submit/lua's part_list."""
    views.submit(user)
    always = {"debug", "other", "rich", "denied"}
    more = {"alice": {"mine", "rootless"}, "bob": {"strangers", "rootless"}, "root": {"mine", "strangers", "rooted"}}
    assert set(views.python["partition"]) == always | more[user]
    assert set(views.lua["partition"]) == always | more[user]
    assert views.python["one"][5] == len(always | more[user])


def test_reservations(views: Views) -> None:
    """Every field of every reservation is the same as in job_submit/lua, and its TRES as in scontrol."""
    views.submit()
    assert _differences(views, "reservation", ReservationFields) == []
    lab = views.python["reservation"]["lab"]
    assert lab["duration"] == 90
    assert lab["node_list"] == "n3"
    assert lab["tres_fmt_str"] == shown(views.site.said("scontrol", "show", "reservation", "-o", "lab"))["TRES"]


def test_jobs(views: Views) -> None:
    """Every field of every job is the same as in job_submit/lua."""
    views.submit()
    assert len(views.python["job"]) == 6
    assert _differences(views, "job", RecordFields) == []


SHOWN = {
    "batch_flag": "BatchFlag",
    "job_id": "JobId",
    "name": "JobName",
    "submit_line": "SubmitLine",
    "requeue": "Requeue",
    "network": "Network",
    "state_reason": "Reason",
    "cpus_per_task": "CPUs/Task",
    "mail_user": "MailUser",
}


@pytest.mark.parametrize("name", ["full", "runs"])
def test_record(views: Views, name: str) -> None:
    """In an update, record has the job as in job_submit/lua, and more fields as in scontrol."""
    job_id = views.site.said("squeue", "-h", f"--name={name}", "-o", "%A").strip()
    views.look("scontrol", "update", f"jobid={job_id}", "comment=looked")
    assert _differences(views, "record", RecordFields) == []
    assert views.python["same"]
    assert "mine" in views.python["owners"]
    record = views.python["record"][job_id]
    text = views.site.show(job_id)
    assert record["state_reason"] is not None
    for field, label in SHOWN.items():
        if label in text and field != "state_reason":
            value = record[field]
            assert ("(null)" if value is None else str(value)) == text[label], field
    if name == "full":
        assert record["deadline"] - record["submit_time"] in range(2 * 86400 - 5, 2 * 86400 + 5)


def test_user(views: Views) -> None:
    """Name, groups, default account and QOS, the association's QOS, a QOS's priority, and the cluster's name."""
    views.submit()
    user = views.python["user"]
    assert user == {
        "default_account": "physics",
        "default_qos": "high",
        "user_name": "alice",
        "assoc_comment": None,
        "assoc_qos": "high,low,normal",
        "group_name": "alice",
        "groups": {"alice": 2001},
    }
    assert {name: user[name] for name in views.lua["user"]["user"]} == views.lua["user"]["user"]
    assert views.python["qos"] == [77, 3, 0, None]
    assert views.python["cluster"] == views.lua["constant"]["slurm"]["CLUSTER_NAME"]
    if "qos" in views.lua:
        assert views.lua["qos"]["high"]["priority"] == 77


def test_constants_of_lua(views: Views) -> None:
    """Each number of job_submit/lua's table slurm exists under the same name."""
    views.submit()
    lua = views.lua["constant"]["slurm"]
    # Return values of scripts, a misspelling of TIME90, and one of errno.h.
    names = set(lua) - {"ERROR", "FAILURE", "SUCCESS", "MAIL_JOB_TIME890", "CLUSTER_NAME", "EINPROGRESS"}
    assert len(names) > 30
    views.site.hooks(CONSTANTS)
    try:
        views.site.said("sbatch", "--test-only", "--job-name=constants", "--comment=" + ",".join(names), "--wrap=true")
        (python,) = views.site.told()
    finally:
        views.site.hooks(PYTHON)
    # Lua's numbers are doubles.
    wrong = {name: (lua[name], python[name]) for name in sorted(names) if float(python[name]) != float(lua[name])}
    assert wrong == {}
