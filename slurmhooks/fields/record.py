# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of ``record`` and of the items of ``jobs``: jobs as slurmctld knows them."""

from __future__ import annotations

from slurmhooks.fields.constants import JobFlag, JobState, JobStateFlag, MailType, StateReason
from slurmhooks.fields.facts import NO_LUA, R
from slurmhooks.fields.flag_rows import Bit, Flag, OneOf
from slurmhooks.fields.number_rows import Number, Offset, Plain, Tagged, Time
from slurmhooks.fields.rows import Computed, Sluid, Status, Strings, Text, Truth

JOB_STATE_BASE = 0xFF
JOB_STATE_FLAGS = 0xFFFFFF00


class RecordFields:
    """``record``: a job as slurmctld knows it, ``job_record_t`` and the structs that it points to; read-only."""

    __slots__ = ()

    ASKED_FOR = ("lua", "secret")
    """The facts that each row states; see facts.py. Only texts may be secret."""

    # Who
    account = Text("Account that is charged.", writable=False, lua=R, secret=None)
    admin_comment = Text("Comment of administrators.", writable=False, lua=R, secret=None)
    cluster = Text("Cluster of the job's association; None without accounting.", member="assoc_ptr.cluster",
                   writable=False, lua=NO_LUA, secret=None)  # fmt: skip
    comment = Text("Comment of the user.", writable=False, lua=R, secret=None)
    extra = Text("Text that Slurm stores (--extra).", writable=False, since="23.02", lua=R, secret=None)
    group_id = Plain(32, "Group that the job runs as.", writable=False, lua=R)
    mcs_label = Text("Label for sharing nodes.", writable=False, lua=R.since("23.11"), secret=None)
    qos = Text("Quality of service; of several, the one that Slurm has chosen for now.", member="qos_ptr.name",
               writable=False, lua=R, secret=None)  # fmt: skip
    qos_req = Text("All QOS that the user named, separated by commas.", member="details.qos_req", writable=False,
                   since="24.11", lua=R, secret=None)  # fmt: skip
    resv_name = Text("Reservations that the job uses.", writable=False, lua=R, secret=None)
    system_comment = Text("Comment of Slurm itself.", writable=False, lua=NO_LUA, secret=None)
    user_id = Plain(32, "User that the job runs as.", writable=False, lua=R)
    user_name = Computed(str, "Name of the user.", lua=R, secret=None)
    wckey = Text("Workload characterization key.", writable=False, lua=R, secret=None)

    # What
    alloc_partition = Text("Partition in which the job runs or ran; before it starts, one of those of partition.",
                           member=("alloc_partition", "part_ptr.name"), writable=False, lua=NO_LUA,
                           secret=None)  # fmt: skip
    alloc_node = Text("Host from which the job was submitted.", writable=False, lua=R, secret=None)
    alloc_sid = Plain(32, "Session id of the command that submitted the job.", writable=False, lua=NO_LUA)
    argv = Strings("The script's name and arguments.", member="details.argv", count="details.argc", lua=R,
                   secret="script")  # fmt: skip
    array_job_id = Plain(32, "Job id of the job array; 0: not an array.", writable=False, lua=R)
    array_task_cnt = Plain(32, "Number of tasks of the array without own records; None: there are none.",
                           member="array_recs.task_cnt", writable=False, lua=R)  # fmt: skip
    array_task_id = Number(32, "Task id in the job array.", writable=False, lua=R)
    batch_flag = Plain(16, "0: no batch job; 1: a batch job; more: how often it was restarted.", writable=False,
                       lua=NO_LUA)  # fmt: skip
    bitflags = Flag(64, JobFlag, "Properties of the job.", member="bit_flags", optional=False, writable=False,
                    lua=NO_LUA)  # fmt: skip
    burst_buffer = Text("Burst buffer directives.", writable=False, lua=R, secret=None)
    container = Text("OCI bundle in which the job runs.", writable=False, lua=R, secret=None)
    container_id = Text("Name of the container.", writable=False, since="23.02", lua=NO_LUA, secret=None)
    het_job_id = Plain(32, "Job id of the first component; 0: no heterogeneous job.", writable=False, lua=R)
    het_job_id_set = Text("Job ids of all components.", writable=False, lua=R, secret=None)
    het_job_offset = Plain(32, "Number of the component, from 0.", writable=False, lua=R)
    job_id = Plain(32, "Job id.", writable=False, lua=R)
    name = Text("Name of the job.", writable=False, lua=R, secret=None)
    origin_cluster = Text("Cluster to which the job was submitted.", writable=False, lua=R, secret=None)
    original_sluid = Sluid("Unique id (SLUID) of the first start.", member="step_id.sluid", since="25.11",
                           lua=R.since("26.05"))  # fmt: skip
    pack_job_id = Plain(32, "Older name of het_job_id.", member="het_job_id", writable=False, lua=R)
    pack_job_id_set = Text("Older name of het_job_id_set.", member="het_job_id_set", writable=False, lua=R, secret=None)
    pack_job_offset = Plain(32, "Older name of het_job_offset.", member="het_job_offset", writable=False, lua=R)
    runtime = Text("Runtime plugin that it runs with, such as runtime/oci.", writable=False, since="26.11", lua=NO_LUA,
                   secret=None)  # fmt: skip
    script = Computed(str, "The batch script, from slurmctld's state folder; None for srun and salloc.", lua=R,
                      secret="script")  # fmt: skip
    sluid = Sluid("Unique id (SLUID) of this start.", member="db_index", since="24.11", lua=R.since("26.05"))
    spank_job_env = Strings("Variables of SPANK plugins, as NAME=value.", member="spank_job_env",
                            count="spank_job_env_size", lua=R, secret="environment")  # fmt: skip
    spank_job_env_size = Plain(32, "Number of variables in spank_job_env.", writable=False, lua=R)
    submit_line = Text("The command line that submitted the job.", member="details.submit_line", writable=False,
                       lua=NO_LUA, secret="script")  # fmt: skip
    work_dir = Text("Working directory.", member="details.work_dir", writable=False, lua=R, secret=None)

    # Where
    batch_features = Text("Features that the node of the batch script must have.", writable=False, lua=R, secret=None)
    batch_host = Text("Node that the batch script runs on.", writable=False, lua=R, secret=None)
    cluster_features = Text("Features that a cluster must have.", member="details.cluster_features", writable=False,
                            lua=NO_LUA, secret=None)  # fmt: skip
    best_switch = Truth("Whether the job got no more switches than requested.", writable=False, lua=R)
    contiguous = Plain(16, "1: the nodes must be adjacent.", member="details.contiguous", writable=False, lua=NO_LUA)
    exc_nodes = Text("Nodes that the job must not get, as a node list.", member="details.exc_nodes", writable=False,
                     lua=NO_LUA, secret=None)  # fmt: skip
    failed_node = Text("Node whose failure ended the job.", writable=False, since="23.11", lua=NO_LUA, secret=None)
    features = Text("Features that nodes must have.", member="details.features", writable=False, lua=R, secret=None)
    network = Text("Requirements on the interconnect.", writable=False, lua=NO_LUA, secret=None)
    nodes = Text("Nodes of the job, as a node list.", writable=False, lua=R, secret=None)
    partition = Text("Partitions that the user named, in any order; alloc_partition is the one it runs in.",
                     writable=False, lua=R, secret=None)  # fmt: skip
    prefer = Text("Features that nodes should have.", member="details.prefer", writable=False, lua=NO_LUA, secret=None)
    reboot = Plain(8, "1: the nodes are booted before the job starts.", writable=False, lua=R)
    req_nodes = Text("Nodes that the job must get, as a node list.", member="details.req_nodes", writable=False,
                     lua=NO_LUA, secret=None)  # fmt: skip
    req_switch = Plain(32, "Maximum number of leaf switches; 0: no maximum.", writable=False, lua=R)
    resv_ports = Text("Ports that are reserved for the job.", writable=False, since="23.11", lua=NO_LUA, secret=None)
    segment_size = Number(16, "Nodes in each segment.", member="details.segment_size", writable=False, since="24.05",
                          lua=R.since("25.11"))  # fmt: skip
    wait4switch = Plain(32, "How long to wait for that number of switches.", unit="seconds", writable=False, lua=R)
    wait4switch_start = Time("When the job began to wait for switches; 0: it did not wait.", writable=False, lua=R)

    # How much
    core_spec = Tagged(16, "Cores per node reserved for the system; None if threads are.", member="details.core_spec",
                       tagged=False, writable=False, lua=R.since("26.05"))  # fmt: skip
    cores_per_socket = Number(16, "Minimum number of cores per socket.", member="details.mc_ptr.cores_per_socket",
                              writable=False, lua=NO_LUA)  # fmt: skip
    cpus_per_task = Number(16, "CPUs per task.", member="details.cpus_per_task", writable=False, lua=NO_LUA)
    cpus_per_tres = Text("CPUs per TRES.", writable=False, lua=R, secret=None)
    gres = Text("Older name of tres_per_node.", member="tres_per_node", writable=False, lua=R, secret=None)
    gres_req = Text("Older name of tres_fmt_req_str.", member="tres_fmt_req_str", writable=False, lua=R, secret=None)
    gres_used = Text("GRES that the job has.", writable=False, lua=R, secret=None)
    licenses = Text("Licenses that the job needs.", writable=False, lua=R, secret=None)
    max_cpus = Number(32, "Maximum number of CPUs.", member="details.max_cpus", writable=False, lua=R)
    max_nodes = Number(32, "Maximum number of nodes; 0: no maximum.", member="details.max_nodes", writable=False, lua=R)
    mem_per_tres = Text("Memory per TRES.", writable=False, lua=R, secret=None)
    min_cpus = Number(32, "Minimum number of CPUs.", member="details.min_cpus", writable=False, lua=R)
    min_mem_per_cpu = Tagged(64, "Memory per CPU; None if requested per node.", member="details.pn_min_memory",
                             tagged=True, unit="MiB", writable=False, lua=R)  # fmt: skip
    min_mem_per_node = Tagged(64, "Memory per node; None if requested per CPU.", member="details.pn_min_memory",
                              tagged=False, unit="MiB", writable=False, lua=R)  # fmt: skip
    min_nodes = Number(32, "Minimum number of nodes.", member="details.min_nodes", writable=False, lua=R)
    ntasks_per_core = Number(16, "Maximum number of tasks per core.", member="details.mc_ptr.ntasks_per_core",
                             writable=False, lua=NO_LUA)  # fmt: skip
    ntasks_per_node = Number(16, "Number of tasks per node; 0: unset.", member="details.ntasks_per_node",
                             writable=False, lua=NO_LUA)  # fmt: skip
    ntasks_per_socket = Number(16, "Maximum number of tasks per socket.", member="details.mc_ptr.ntasks_per_socket",
                               writable=False, lua=NO_LUA)  # fmt: skip
    ntasks_per_tres = Number(16, "Number of tasks per GPU; 0: unset.", member="details.ntasks_per_tres", writable=False,
                             lua=NO_LUA)  # fmt: skip
    num_tasks = Number(32, "Number of tasks.", member="details.num_tasks", writable=False, lua=NO_LUA)
    overcommit = Number(8, "1: several tasks may share a CPU.", member="details.overcommit", writable=False, lua=NO_LUA)
    pn_min_cpus = Number(32, "Minimum number of CPUs per node.", member="details.pn_min_cpus", writable=False, lua=R)
    pn_min_memory = Number(64, "Both min_mem_per_ fields as one number.", member="details.pn_min_memory", unit="MiB",
                           writable=False, lua=R)  # fmt: skip
    pn_min_tmp_disk = Plain(32, "Minimum temporary disk space per node.", member="details.pn_min_tmp_disk", unit="MiB",
                            writable=False, lua=NO_LUA)  # fmt: skip
    share_res = Number(8, "1: the nodes may be shared with other jobs.", member="details.share_res", writable=False,
                       lua=NO_LUA)  # fmt: skip
    sockets_per_node = Number(16, "Minimum number of sockets per node.", member="details.mc_ptr.sockets_per_node",
                              writable=False, lua=NO_LUA)  # fmt: skip
    thread_spec = Tagged(16, "Threads per node reserved for the system; None if cores are.", member="details.core_spec",
                         tagged=True, writable=False, lua=R.since("26.05"))  # fmt: skip
    threads_per_core = Number(16, "Threads to use per core.", member="details.mc_ptr.threads_per_core", writable=False,
                              lua=NO_LUA)  # fmt: skip
    total_cpus = Plain(32, "Number of CPUs of the job.", writable=False, lua=R)
    total_nodes = Plain(32, "Number of nodes of the job.", writable=False, lua=R)
    tres_alloc_str = Text("TRES of the job, as id=count.", writable=False, lua=R, secret=None)
    tres_bind = Text("How tasks are bound to TRES.", writable=False, lua=R, secret=None)
    tres_fmt_alloc_str = Text("TRES of the job, as name=count.", writable=False, lua=R, secret=None)
    tres_fmt_req_str = Text("Requested TRES, as name=count.", writable=False, lua=R, secret=None)
    tres_freq = Text("Frequencies of TRES.", writable=False, lua=R, secret=None)
    tres_per_job = Text("TRES of the whole job.", writable=False, lua=R, secret=None)
    tres_per_node = Text("TRES per node.", writable=False, lua=R, secret=None)
    tres_per_socket = Text("TRES per socket.", writable=False, lua=R, secret=None)
    tres_per_task = Text("TRES per task.", writable=False, lua=R, secret=None)
    tres_req_str = Text("Requested TRES, as id=count.", writable=False, lua=R, secret=None)
    whole_node = Plain(8, "Bit 1: the job gets whole nodes; other bits keep only some jobs away.",
                       member="details.whole_node", writable=False, lua=NO_LUA)  # fmt: skip

    # When
    accrue_time = Time("When the job began to age in priority; 0: not yet.", member="details.accrue_time",
                       writable=False, lua=NO_LUA)  # fmt: skip
    begin_time = Time("Earliest start; 0: unset.", member="details.begin_time", writable=False, lua=NO_LUA)
    curr_dependency = Text("Dependencies that are not fulfilled yet.", member="details.dependency", writable=False,
                           lua=R.since("24.05"), secret=None)  # fmt: skip
    db_flags = Plain(32, "What accounting notes of the job, such as how it was scheduled: SLURMDB_JOB_FLAG_...",
                     writable=False, lua=NO_LUA)  # fmt: skip
    deadline = Time("Remove the job if it cannot end by this time; 0: no deadline.", writable=False, lua=NO_LUA)
    delay_boot = Number(32, "How long to wait for nodes that need no reboot.", unit="seconds", writable=False, lua=R)
    direct_set_prio = Plain(16, "1: the priority was set by a user or administrator.", writable=False, lua=R)
    end_time = Time("When the job ended or will end; 0: unknown.", writable=False, lua=R)
    last_sched_eval = Time("When the scheduler last looked at the job; 0: never.", writable=False, lua=NO_LUA)
    nice = Offset(32, "Adjustment of the priority; positive numbers lower it.", member="details.nice", writable=False,
                  lua=R)  # fmt: skip
    orig_dependency = Text("Dependencies at submission.", member="details.orig_dependency", writable=False,
                           lua=R.since("24.05"), secret=None)  # fmt: skip
    pre_sus_time = Plain(64, "How long the job ran before it was last suspended.", unit="seconds", writable=False,
                         lua=NO_LUA)  # fmt: skip
    preempt_time = Time("When the job was told that it is preempted; 0: it was not.", writable=False, lua=NO_LUA)
    priority = Number(32, "Priority; 0: held.", writable=False, lua=R)
    resize_time = Time("When the job was last resized; 0: never.", writable=False, lua=NO_LUA)
    restart_cnt = Plain(16, "How often the job was restarted.", writable=False, lua=R)
    site_factor = Offset(32, "Part of the priority that plugins set.", writable=False, lua=R)
    start_time = Time("When the job started or will start; 0: unknown.", writable=False, lua=R)
    submit_time = Time("When the job was submitted.", member="details.submit_time", writable=False, lua=R)
    suspend_time = Time("When the job was last suspended or resumed; 0: never.", writable=False, lua=NO_LUA)
    time_limit = Number(32, "Time limit.", unit="minutes", writable=False, lua=R)
    time_min = Number(32, "Minimum time limit that the user accepts.", unit="minutes", writable=False, lua=R)

    tot_sus_time = Plain(64, "How long the job was suspended, without the present suspension.", unit="seconds",
                         writable=False, lua=NO_LUA)  # fmt: skip

    # How
    derived_ec = Status("Highest exit status of all steps.", writable=False, lua=R)
    exit_code = Status("Exit status of the script or step.", writable=False, lua=R)
    job_state = OneOf(32, JobState, "State of the job.", mask=JOB_STATE_BASE, optional=False, writable=False, lua=R)
    job_state_flags = Flag(32, JobStateFlag, "Flags of the state.", member="job_state", mask=JOB_STATE_FLAGS,
                           optional=False, writable=False, lua=NO_LUA)  # fmt: skip
    kill_on_node_fail = Plain(16, "1: the failure of one node ends the job.", writable=False, lua=NO_LUA)
    mail_type = Flag(16, MailType, "Events on which Slurm sends mail.", writable=False, lua=NO_LUA)
    mail_user = Text("Recipient of mail.", writable=False, lua=NO_LUA, secret=None)
    requeue = Number(16, "1: the job may be requeued.", member="details.requeue", writable=False, lua=NO_LUA)
    resizing = Bit(JobStateFlag.JOB_RESIZING, "Whether the job is being resized.", member="job_state", lua=R)
    selinux_context = Text("SELinux context.", writable=False, lua=R, secret=None)
    state_desc = Text("Text for the reason why the job does not run.", writable=False, lua=NO_LUA, secret=None)
    state_reason = OneOf(32, StateReason, "Reason why the job does not run, or ended.", optional=False, writable=False,
                         lua=NO_LUA)  # fmt: skip
    state_reason_prev_db = OneOf(32, StateReason, "Last reason why the job waited.", optional=False, writable=False,
                                 lua=NO_LUA)  # fmt: skip
    std_err = Text("File for standard error.", member="details.std_err", writable=False, lua=R, secret=None)
    std_in = Text("File for standard input.", member="details.std_in", writable=False, lua=R, secret=None)
    std_out = Text("File for standard output.", member="details.std_out", writable=False, lua=R, secret=None)
