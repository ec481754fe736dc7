# SPDX-License-Identifier: GPL-2.0-or-later
"""A site in whose slurmctld job_submit/lua and Python handlers read the same objects."""

from typing import Any

from tests.cluster import accounting
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import FOLDER, Site

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
    """A site in whose slurmctld both plugins read the same objects: values by kind, key and field, of each."""

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


def prepare(cluster: Cluster) -> Views:
    """Return a site with accounts, reservations, and many kinds of partitions and jobs."""
    site = Site(cluster)
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
    cluster.put(source, "/etc/slurm/job_submit.lua")
    site.clear()
    accounting.start(cluster, *accounting.ACCOUNTS, more=LINES, plugins="lua,python")
    site.shell(RESERVATIONS, user="root")
    site.shell(JOBS)
    site.cluster.wait(lambda: "COMPLETING" not in site.said("squeue", "-h", "-o", "%T"), what="end of a job")
    site.cluster.wait(lambda: "runs RUNNING" in site.said("squeue", "-h", "-o", "%j %T"), what="running job")
    # job_submit/lua notices new jobs only after a change of any job in a later second.
    site.shell("sleep 1.1; scontrol update jobid=1 admincomment=later", user="root")
    site.hooks(PYTHON)
    return Views(site)
