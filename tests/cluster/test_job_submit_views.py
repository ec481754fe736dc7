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
from tests.cluster import accounting
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import FOLDER, Site, shown

NO_SOURCES = "Debian has no sources of this release, without which slurmctld's structs cannot be read"

LINES = """\
Licenses=matlab:10
GresTypes=gpu
AccountingStorageTRES=gres/gpu
PartitionName=rich Nodes=n1 State=UP DefaultTime=7 MaxTime=1-0 MinNodes=1 MaxNodes=2 GraceTime=30 PriorityTier=4 \\
    PriorityJobFactor=9 MaxCPUsPerNode=6 DefMemPerCPU=11 MaxMemPerCPU=99 AllowAccounts=physics,maths \\
    AllowQos=high,low OverSubscribe=FORCE:3 TRESBillingWeights=CPU=2.0 QOS=low Alternate=other AllocNodes=ctl
PartitionName=denied Nodes=n2 State=DRAIN DenyAccounts=maths DenyQos=high DefMemPerNode=500 MaxMemPerNode=900 Hidden=YES
PartitionName=mine Nodes=ALL State=UP AllowGroups=alice
PartitionName=strangers Nodes=ALL State=UP AllowGroups=bob,daemon
PartitionName=rooted Nodes=ALL State=UP RootOnly=YES
PartitionName=rootless Nodes=ALL State=UP DisableRootJobs=YES
"""

RECORD = """
    account admin_comment alloc_node argv array_job_id array_task_cnt array_task_id batch_features batch_host
    best_switch burst_buffer comment container cpus_per_tres delay_boot derived_ec direct_set_prio end_time
    exit_code features gres gres_req gres_used group_id het_job_id het_job_id_set het_job_offset pack_job_id
    pack_job_id_set pack_job_offset job_id job_state licenses max_cpus max_nodes mem_per_tres min_cpus
    min_mem_per_cpu min_mem_per_node min_nodes name nice nodes origin_cluster partition pn_min_cpus
    pn_min_memory priority qos reboot req_switch resizing restart_cnt resv_name script selinux_context
    site_factor spank_job_env spank_job_env_size start_time std_err std_in std_out submit_time time_limit
    time_min total_cpus total_nodes tres_alloc_str tres_bind tres_fmt_alloc_str tres_fmt_req_str tres_freq
    tres_per_job tres_per_node tres_per_socket tres_per_task tres_req_str user_id user_name wait4switch
    wait4switch_start wckey work_dir
""".split()  # noqa: SIM905 - a table of words
PARTITION = """
    allow_accounts allow_alloc_nodes allow_groups allow_qos alternate billing_weights_str default_time
    def_mem_per_cpu def_mem_per_node deny_accounts deny_qos flag_default flags max_cpus_per_node
    max_mem_per_cpu max_mem_per_node max_nodes max_oversubscribe max_share max_time min_nodes
    name nodes priority_job_factor priority_tier qos state_up total_cpus total_nodes
""".split()  # noqa: SIM905 - a table of words
RESERVATION = """
    accounts assoc_list duration end_time features flags flags_set_node full_nodes licenses node_cnt node_list
    partition start_time users
""".split()  # noqa: SIM905 - a table of words
LATER = {(23, 2): (["extra"], ["max_cpus_per_socket"]), (24, 5): (["curr_dependency", "orig_dependency"], [])}
"""Fields of records and partitions that job_submit/lua has since a release."""
USER = "default_account default_qos user_name"
USER_LATER = {(23, 2): " assoc_comment", (24, 11): " assoc_qos"}

NO_VALUE = {"NO_VAL": 0xFFFFFFFE, "NO_VAL16": 0xFFFE, "NO_VAL64": 0xFFFFFFFFFFFFFFFE}
UNLIMITED = {0xFFFFFFFF, 0xFFFF, 0xFFFFFFFFFFFFFFFF}

LUA = """
local function shown(value)
    if value == nil then return "n" end
    if type(value) == "number" then return string.format("d%.0f", value) end
    if type(value) == "boolean" then return value and "b1" or "b0" end
    if type(value) == "table" then
        local words = {}
        for i = 0, 99 do if value[i] ~= nil then words[#words + 1] = shown(value[i]) end end
        return "t" .. table.concat(words, ",")
    end
    return "s" .. (tostring(value):gsub(".", function(c) return string.format("%02x", c:byte()) end))
end
local function fields(out, what, key, record, names)
    for name in names:gmatch("%S+") do out:write(what, " ", key, " ", name, " ", shown(record[name]), "\\n") end
end
function slurm_job_submit(job, partitions, uid)
    if job.name ~= "look" then return slurm.SUCCESS end
    local out = io.open("@FOLDER@/lua", "w")
    for name, part in pairs(partitions) do fields(out, "partition", name, part, "@PARTITION@") end
    for name, resv in pairs(slurm.reservations) do fields(out, "reservation", name, resv, "@RESERVATION@") end
    for id, record in pairs(slurm.jobs) do fields(out, "job", id, record, "@RECORD@") end
    fields(out, "user", "user", job, "@USER@")
    for name, value in pairs(slurm) do
        if type(value) == "number" then out:write("constant slurm ", name, " ", shown(value), "\\n") end
    end
    out:write("constant slurm CLUSTER_NAME ", shown(slurm.CLUSTER_NAME), "\\n")
    if slurm.get_qos_priority then
        out:write("qos high priority ", shown(slurm.get_qos_priority("high")), "\\n")
    end
    out:close()
    return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid)
    local out = io.open("@FOLDER@/lua", "w")
    fields(out, "record", record.job_id, record, "@RECORD@")
    out:close()
    return slurm.SUCCESS
end
"""

PYTHON = """
from slurmhooks import UNLIMITED
from slurmhooks.job_submit import constants, slurmctld

def shown(value):
    if value is UNLIMITED:
        return "UNLIMITED"
    if isinstance(value, (bool, str)) or value is None:
        return value
    return int(value) if isinstance(value, int) else list(value)

CHOSEN = (
    {}, {"partition": "other"}, {"comment": "array"}, {"resizing": False}, {"time_limit": 50},
    {"min_nodes": 1}, {"work_dir": "/tmp", "nice": 7},
    {"job_state": constants.JobState.JOB_RUNNING}, {"job_state": constants.JobState.JOB_PENDING, "partition": "other"},
    {"comment": "nobody's"},
)

def chosen(jobs, fields):
    found = {record.job_id for record in jobs.where(**fields)}
    every = [record for record in jobs.values() if all(getattr(record, name) == fields[name] for name in fields)]
    return [len(found), found == {record.job_id for record in every}]

def fields(view):
    return {name: shown(getattr(view, name)) for name in dir(view)}

@hook.job_submit
def look(job, partitions, reservations, jobs):
    if job.name != "look":
        return
    tell(
        partition={name: fields(view) for name, view in partitions.items()},
        reservation={name: fields(view) for name, view in reservations.items()},
        job={str(number): fields(view) for number, view in jobs.items()},
        user={name: getattr(job, name) for name in
            ("default_account", "default_qos", "user_name", "assoc_comment", "assoc_qos", "group_name", "groups")},
        qos=[slurmctld.qos_priority(name) for name in ("high", "low", "normal", "none")],
        cluster=slurmctld.cluster_name(),
        chosen=[chosen(jobs, fields) for fields in CHOSEN],
        lab=[reservation.name for reservation in reservations.where(name="lab")],
        one=[partitions["rich"].name if "rich" in partitions else None, partitions.get("strangers") is None,
            partitions.get("nothing") is None, jobs.get(999999) is None, reservations.get("nothing") is None,
            len(partitions), len(jobs), len(reservations)],
    )

@hook.job_modify
def update(job, record, jobs, partitions):
    tell(record={str(record.job_id): fields(record)}, same=jobs[record.job_id].name == record.name,
        owners=sorted(partitions))
"""
CONSTANTS = """
from slurmhooks.job_submit import constants

@hook.job_submit
def look(job):
    if job.name == "constants":
        names = job.comment.split(",")
        tell(**{name: int(getattr(constants, name, -12345)) for name in names})
"""


class Views:
    """A site in whose slurmctld both plugins read the same objects.

    Attributes:
        lua: values from job_submit/lua, by kind, key and field.
        python: the same from Python handlers, and more.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.lua: dict[str, dict[str, dict[str, Any]]] = {}
        self.python: dict[str, Any] = {}

    def look(self, *command: str, user: str = "alice") -> None:
        """Make both plugins read, with a command that calls them."""
        done = self.site.run(*command, user=user)
        assert done.returncode == 0, done.stderr + self.site.logged()[-3000:]
        (self.python,) = self.site.told()
        self.lua = {}
        for line in self.site.cluster.root("cat", f"{FOLDER}/lua", check=True).stdout.splitlines():
            kind, key, name, value = line.split(" ")
            self.lua.setdefault(kind, {}).setdefault(key, {})[name] = _decoded(value)

    def submit(self, user: str = "alice") -> None:
        """Make both plugins read a submission."""
        self.look("sbatch", "--test-only", "--job-name=look", "--wrap=true", user=user)


def _decoded(value: str) -> Any:
    if value[0] == "d":
        return int(value[1:])
    if value[0] == "s":
        return bytes.fromhex(value[1:]).decode()
    if value[0] == "t":
        return [_decoded(word) for word in value[1:].split(",") if word]
    return {"n": None, "b0": False, "b1": True}[value]


RESERVATIONS = """
make="scontrol create reservation"
$make reservationname=lab start=now duration=90 nodes=n3 users=alice,bob flags=maint,ignore_jobs
$make reservationname=later start=now+1hour duration=5 nodecnt=1 accounts=physics licenses=matlab:3
"""
JOBS = """
first=$(sbatch --parsable --hold --array=3-7%2 --comment=array --mem=100 --output=/dev/null --wrap true)
sbatch --hold --job-name=full --account=maths --qos=low --begin=now+1hour --cpus-per-task=2 \\
    --dependency=afterok:$first --deadline=now+2days --delay-boot=3 --exclude=n2 --licenses=matlab:2 --mem-per-cpu=10 \\
    --mincpus=3 --nice=7 --no-requeue --ntasks=2 --nodes=1-2 --switches=1@5 --time=50 --time-min=30 --tmp=9 \\
    --partition=other --output=/o --error=/e --input=/i --chdir=/tmp --mail-type=END --mail-user=bob \\
    --reservation=lab --wrap true
sbatch --hold --output=/dev/null --comment=het -n1 : -n2 --wrap true
sbatch --output=/dev/null --exclusive --job-name=runs --wrap 'sleep 1000'
sbatch --output=/dev/null --job-name=ended --wrap 'exit 3'
"""


@pytest.fixture(scope="module")
def module_views(large_cluster: Cluster) -> Views:
    """A site with accounts, a reservation, and many kinds of partitions and jobs."""
    site = Site(large_cluster)
    if not large_cluster.has_sources:
        pytest.skip(NO_SOURCES)
    fields = [LATER[since] for since in LATER if since <= site.release]
    if site.release < (26, 5):
        fields.append(([], ["max_nodes_orig", "min_nodes_orig"]))
    names = {
        "@RECORD@": " ".join(RECORD + [name for record, _ in fields for name in record]),
        "@PARTITION@": " ".join(PARTITION + [name for _, partition in fields for name in partition]),
        "@RESERVATION@": " ".join(RESERVATION),
        "@USER@": USER + "".join(more for since, more in USER_LATER.items() if since <= site.release),
        "@FOLDER@": FOLDER,
    }
    source = LUA
    for word, text in names.items():
        source = source.replace(word, text)
    large_cluster.put(source, "/etc/slurm/job_submit.lua")
    large_cluster.without_spank()
    site.reset()
    accounting.start(large_cluster, *accounting.ACCOUNTS, more=LINES, plugins="lua,python")
    site.shell(RESERVATIONS, user="root")
    site.shell(JOBS)
    site.cluster.wait(lambda: "COMPLETING" not in site.said("squeue", "-h", "-o", "%T"), what="end of a job")
    site.cluster.wait(lambda: "runs RUNNING" in site.said("squeue", "-h", "-o", "%j %T"), what="running job")
    # job_submit/lua notices new jobs only after a change of any job in a later second.
    site.shell("sleep 1.1; scontrol update jobid=1 admincomment=later", user="root")
    site.hooks(PYTHON)
    return Views(site)


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
