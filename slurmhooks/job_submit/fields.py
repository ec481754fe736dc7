# SPDX-License-Identifier: GPL-2.0-or-later
"""One row a field of what job_submit handlers see; a new one is a row here.

Names are those of job_submit/lua where it has one, else those of the C member; an alias is a row with the same member.
``None`` is unset. Within each group rows are in alphabetical order.
"""

from __future__ import annotations

from slurmhooks.job_submit.constants import (
    AllocHold,
    CpuBind,
    CpuFreq,
    JobFlag,
    JobState,
    JobStateFlag,
    MailType,
    MemBind,
    OpenMode,
    PartitionFlag,
    PartitionState,
    PowerFlag,
    Profile,
    ReservationFlag,
    Shared,
    StateReason,
    TaskDist,
    TaskDistFlag,
    WarnFlag,
    X11Flag,
)
from slurmhooks.job_submit.flag_rows import Bit, Flag, OneOf
from slurmhooks.job_submit.number_rows import Identity, Number, Offset, Plain, Tagged, Time
from slurmhooks.job_submit.rows import Computed, Gres, Sluid, Status, Strings, Text, Truth

CRON_JOB = JobFlag.CRON_JOB
RESV_CTLD_FULL_NODE = 0x4
RESV_CTLD_NODE_FLAGS_SET = 0x8
TASK_DIST_BASE = 0xFFFF
TASK_DIST_FLAGS = 0xFF0000
JOB_STATE_BASE = 0xFF
JOB_STATE_FLAGS = 0xFFFFFF00


class JobFields:
    """``job``: the request, ``job_desc_msg_t`` of slurm.h.

    What the client and slurmctld say about the request itself (who sent it, where answers go) is read-only; so are
    the counters, which follow their arrays.
    """

    __slots__ = ()

    # Who: user, account, policy
    account = Text("Account to charge.")
    admin_comment = Text("Comment that only administrators may write.")
    assoc_comment = Computed(
        str, "Comment of the association of user, account and partition; before 23.02 it has none."
    )
    assoc_qos = Computed(str, "Names of all QOS that this association may use, separated by commas.")
    comment = Text("Comment of the user.")
    default_account = Computed(str, "Account that the user is charged to when none is named.")
    default_qos = Computed(str, "QOS that a job of this user, account and partition gets when none is named.")
    extra = Text("Text that Slurm keeps and, if so configured, matches with nodes' (--extra).")
    group_id = Identity(32, "Group that the job runs as.", writable=False)
    group_name = Computed(str, "Name of that group.", private=False)
    groups = Computed(dict, "All groups of the user: a mapping of names to numbers.", private=False)
    mcs_label = Text("Label for sharing nodes (--mcs-label).")
    qos = Text("Quality of service.")
    reservation = Text("Reservations to use, separated by commas.")
    user_id = Identity(32, "User that the job runs as.", writable=False)
    user_name = Computed(str, "Name of that user.", private=False)
    wckey = Text("Workload characterization key.")

    # What: name, script, container
    acctg_freq = Text("How often accounting looks, as type=seconds, separated by commas.")
    argc = Plain(32, "How many arguments the script has, its name included.", writable=False)
    array_inx = Text("Which tasks a job array has, as 0-10:2%3 (see strings.ArraySpec).")
    burst_buffer = Text("Burst buffer directives.")
    container = Text("OCI bundle to run in.")
    container_id = Text("Name for the container.", since="23.02")
    container_type = Text("Container plugin to run it with.", since="26.05")
    env_size = Plain(32, "How many variables the environment has.", writable=False)
    name = Text("Name of the job.")
    script = Text("The batch script; None for srun and salloc.")
    spank_job_env_size = Plain(32, "How many variables SPANK plugins made.", writable=False)
    submit_line = Text("The command with all its options, as the user typed it.")
    work_dir = Text("Working directory.")

    # Where: partition, nodes, clusters
    batch_features = Text("Features that the node of the batch script must have.")
    cluster_features = Text("Features that a cluster must have, for jobs sent to several.")
    clusters = Text("Clusters that the job may go to, separated by commas.")
    contiguous = Number(16, "1: the nodes must be next to each other.")
    exc_nodes = Text("Nodes not to use, as a node list.")
    features = Text("Features that nodes must have (--constraint).")
    network = Text("Demands on the interconnect.")
    oversubscribe = OneOf(16, Shared, "The newer name of shared.", member="shared")
    partition = Text("Partitions, separated by commas; None for the default one.")
    prefer = Text("Features that nodes should have.")
    reboot = Number(16, "1: boot the nodes first.")
    req_nodes = Text("Nodes that the job must get, as a node list.")
    req_switch = Number(32, "Most leaf switches to spread over.")
    segment_size = Number(16, "Nodes in each segment, with topology/block.", since="24.05")
    shared = OneOf(16, Shared, "Whom the nodes are shared with.")
    wait4switch = Number(32, "How long to wait for that few switches.", unit="seconds")

    # How much: nodes, tasks, CPUs
    boards_per_node = Number(16, "Boards on each node.")
    core_spec = Tagged(
        16, "Cores on each node left to the system; None if threads are.", member="core_spec", tagged=False
    )
    cores_per_socket = Number(16, "Fewest cores in each socket.")
    cpus_per_task = Number(16, "CPUs for each task.")
    job_size_str = Text("Numbers of nodes that would do, as 1,4-8:2 (--nodes).", since="23.02")
    max_cpus = Number(32, "Most CPUs that the job may get.")
    max_nodes = Number(32, "Most nodes that the job may get.")
    min_cpus = Number(32, "Fewest CPUs that the job needs.")
    min_nodes = Number(32, "Fewest nodes that the job needs.")
    ntasks_per_board = Number(16, "Most tasks on each board.")
    ntasks_per_core = Number(16, "Most tasks on each core.")
    ntasks_per_gpu = Number(16, "The older name of ntasks_per_tres.", member="ntasks_per_tres")
    ntasks_per_node = Number(16, "Tasks on each node.")
    ntasks_per_socket = Number(16, "Most tasks on each socket.")
    ntasks_per_tres = Number(16, "Tasks for each GPU.")
    num_tasks = Number(32, "Tasks to start.")
    overcommit = Number(8, "1: more tasks than CPUs will do.")
    plane_size = Number(16, "Tasks in each block, with SLURM_DIST_PLANE.")
    pn_min_cpus = Number(16, "Fewest CPUs on each node.")
    sockets_per_board = Number(16, "Fewest sockets on each board.")
    sockets_per_node = Number(16, "Fewest sockets on each node.")
    thread_spec = Tagged(
        16, "Threads on each node left to the system; None if cores are.", member="core_spec", tagged=True
    )
    threads_per_core = Number(16, "Threads to use of each core.")

    # How much: memory, disk, TRES
    cpus_per_tres = Text("CPUs for each TRES, as gres/gpu:2.")
    gres = Gres("The older name of tres_per_node; 'gres/' may be left out when it is assigned.", member="tres_per_node")
    licenses = Text("Licenses that the job needs.")
    licenses_tot = Text("All licenses, those asked for as TRES included; set later.", writable=False, since="23.02")
    mem_per_tres = Text("Memory for each TRES, as gres/gpu:1024, in MiB.")
    mem_update_delay = Number(16, "When to take back unused memory.", unit="minutes", since="26.05")
    mem_update_margin = Number(16, "How much unused memory to leave.", unit="percent", since="26.05")
    min_mem_per_cpu = Tagged(
        64, "Memory for each CPU; None if asked for by node.", member="pn_min_memory", tagged=True, unit="MiB"
    )
    min_mem_per_node = Tagged(
        64, "Memory on each node; None if asked for by CPU.", member="pn_min_memory", tagged=False, unit="MiB"
    )
    pn_min_memory = Number(64, "The two above as one number: by CPU if its highest bit is set.", unit="MiB")
    pn_min_tmp_disk = Number(32, "Fewest temporary disk space on each node.", unit="MiB")
    tres_bind = Text("How tasks are bound to TRES.")
    tres_freq = Text("Clock rates of TRES.")
    tres_per_job = Text("TRES of the whole job (see strings.Tres).")
    tres_per_node = Text("TRES on each node.")
    tres_per_socket = Text("TRES in each socket.")
    tres_per_task = Text("TRES of each task.")

    # When: times, order
    begin_time = Time("Do not start before; 0 for now.")
    deadline = Time("Drop the job if it cannot end by then; 0 for none.")
    delay_boot = Number(32, "How long to wait for nodes that need no boot.", unit="seconds")
    dependency = Text("Jobs to wait for (see strings.Dependencies).")
    end_time = Time("When the job must end, in updates; 0 for none.")
    immediate = Number(16, "1: start now or fail.")
    nice = Offset(32, "Change of the priority, positive is lower.")
    priority = Number(32, "Priority; 0 holds the job.")
    site_factor = Offset(32, "Part of the priority that only plugins set; unset before them.")
    time_limit = Number(32, "Longest run time.", unit="minutes")
    time_min = Number(32, "Shortest run time that the user accepts.", unit="minutes")
    wait_all_nodes = Number(16, "1: start when all nodes have booted.")

    # How: flags, signals, mail, ends
    alloc_sid = OneOf(32, AllocHold, "Session that asks; in an update that holds the job, who holds it.")
    bitflags = Flag(64, JobFlag, "Properties of the job.", optional=False)
    cron_job = Bit(CRON_JOB, "Whether it comes from scrontab.", member="bitflags")
    kill_on_node_fail = Number(16, "0: the job goes on when a node fails.")
    mail_type = Flag(16, MailType, "Which events send mail.")
    mail_user = Text("Whom to mail.")
    oom_kill_step = Number(16, "1: a task out of memory ends its whole step.", since="24.11")
    power_flags = Flag(8, PowerFlag, "Power management.", until="23.11")
    profile = Flag(32, Profile, "What to profile.", optional=False)
    requeue = Number(16, "1: the job may be started again.")
    restart_cnt = Plain(16, "How often it was started again.", writable=False)
    resv_port_cnt = Number(16, "Ports to reserve on each node, for MPI.", since="24.05")
    warn_flags = Flag(16, WarnFlag, "Who gets the signal before the end.", optional=False)
    warn_signal = Plain(16, "Signal before the end; 0 for none.")
    warn_time = Plain(16, "How long before the end it is sent.", unit="seconds")

    # How: input, output, X11
    open_mode = OneOf(
        8, OpenMode, "What happens to an output file that exists; 0 is the site's default.", optional=False
    )
    std_err = Text("File for errors.")
    std_in = Text("File for input.")
    std_out = Text("File for output.")
    x11 = Flag(16, X11Flag, "Which nodes get X11 forwarding.", optional=False)
    x11_magic_cookie = Text("Key to the user's X server.", writable=False)
    x11_target = Text("Host of the user's X server, or its socket.", writable=False)
    x11_target_port = Plain(16, "Port of the user's X server; 0 for a socket.", writable=False)

    # How: binding, clock rates
    cpu_bind = Text("Map or mask for CpuBind.CPU_BIND_MAP and CPU_BIND_MASK.")
    cpu_bind_type = Flag(16, CpuBind, "How tasks are bound to CPUs.")
    cpu_freq_gov = OneOf(32, CpuFreq, "Governor of the CPUs' clock rate.")
    cpu_freq_max = OneOf(32, CpuFreq, "Highest clock rate of the CPUs, kHz or a word.")
    cpu_freq_min = OneOf(32, CpuFreq, "Lowest clock rate of the CPUs, kHz or a word.")
    mem_bind = Text("Map or mask for MemBind.MEM_BIND_MAP and MEM_BIND_MASK.")
    mem_bind_type = Flag(16, MemBind, "How tasks are bound to memory.")
    req_context = Text("SELinux context that the user asks for.")
    selinux_context = Text("SELinux context that the job gets.")
    task_dist = OneOf(32, TaskDist, "How tasks are spread over nodes, sockets and cores.", mask=TASK_DIST_BASE)
    task_dist_flags = Flag(32, TaskDistFlag, "Whether tasks fill nodes up.", member="task_dist", mask=TASK_DIST_FLAGS)

    # The request itself
    alloc_node = Text("Host that the request comes from.", writable=False)
    alloc_resp_port = Plain(16, "Port of the client that waits for the allocation.", writable=False)
    alloc_tls_cert = Text("Certificate of that client.", writable=False, since="25.05")
    fed_siblings_active = Plain(64, "Clusters of the federation that the job is at, as bits.", writable=False)
    fed_siblings_viable = Plain(64, "Clusters of the federation that it may go to, as bits.", writable=False)
    het_job_offset = Number(32, "Which component of a heterogeneous job it is, from 0.", writable=False)
    job_id = Number(32, "Job id, in updates.", member=("job_id", "step_id.job_id"), writable=False)
    job_id_str = Text("Job id, in updates, as the user wrote it.", writable=False)
    origin_cluster = Text("Cluster that the job was submitted to.", writable=False)
    other_port = Plain(16, "Port of the client that is told what happens to the job.", writable=False)
    pack_job_offset = Number(32, "The older name of het_job_offset.", member="het_job_offset", writable=False)
    resp_host = Text("Host of that client; set by slurmctld.", writable=False)
    sluid = Sluid("Id that is never used again, in updates.", member="step_id.sluid", since="25.11")


class RecordFields:
    """``record``: a job as slurmctld knows it, ``job_record_t`` and what it points to; read-only."""

    __slots__ = ()

    # Who
    account = Text("Account that is charged.", writable=False)
    admin_comment = Text("Comment of administrators.", writable=False)
    comment = Text("Comment of the user.", writable=False)
    extra = Text("Text that Slurm keeps (--extra).", member=("extra", "details.extra"), writable=False)
    group_id = Plain(32, "Group that the job runs as.", writable=False)
    mcs_label = Text("Label for sharing nodes.", writable=False)
    qos = Text("Quality of service.", member="qos_ptr.name", writable=False)
    resv_name = Text("Reservations that it uses.", writable=False)
    system_comment = Text("Comment of Slurm itself.", writable=False)
    user_id = Plain(32, "User that the job runs as.", writable=False)
    user_name = Computed(str, "Name of that user.")
    wckey = Text("Workload characterization key.", writable=False)

    # What
    alloc_node = Text("Host that it was submitted from.", writable=False)
    argv = Strings("The script's name and arguments.", member="details.argv", count="details.argc")
    array_job_id = Plain(32, "Job id of the job array; 0 if it is in none.", writable=False)
    array_task_cnt = Plain(32, "Tasks of the array that have no record of their own.", member="array_recs.task_cnt",
                           writable=False)  # fmt: skip
    array_task_id = Number(32, "Which task of the array it is.", writable=False)
    batch_flag = Plain(16, "1: a batch job; more: how often it was started again.", writable=False)
    bitflags = Flag(64, JobFlag, "Properties of the job.", member="bit_flags", optional=False, writable=False)
    burst_buffer = Text("Burst buffer directives.", writable=False)
    container = Text("OCI bundle that it runs in.", writable=False)
    container_id = Text("Name of the container.", writable=False, since="23.02")
    het_job_id = Plain(32, "Job id of the first component of a heterogeneous job; 0 if it is none.", writable=False)
    het_job_id_set = Text("Job ids of all its components.", writable=False)
    het_job_offset = Plain(32, "Which of its components it is, from 0.", writable=False)
    job_id = Plain(32, "Slurm's job id.", writable=False)
    name = Text("Name of the job.", writable=False)
    origin_cluster = Text("Cluster that it was submitted to.", writable=False)
    original_sluid = Sluid("Id of its first start, never used again.", member="step_id.sluid", since="25.11")
    pack_job_id = Plain(32, "The older name of het_job_id.", member="het_job_id", writable=False)
    pack_job_id_set = Text("The older name of het_job_id_set.", member="het_job_id_set", writable=False)
    pack_job_offset = Plain(32, "The older name of het_job_offset.", member="het_job_offset", writable=False)
    script = Computed(str, "The batch script, from slurmctld's state folder; None for srun and salloc.")
    sluid = Sluid("Id of this start, never used again.", member="db_index", since="24.11")
    spank_job_env = Strings("Variables of SPANK plugins, as NAME=value.", member="spank_job_env",
                            count="spank_job_env_size")  # fmt: skip
    spank_job_env_size = Plain(32, "How many those are.", writable=False)
    submit_line = Text("The command that submitted it.", member="details.submit_line", writable=False)
    work_dir = Text("Working directory.", member="details.work_dir", writable=False)

    # Where
    batch_features = Text("Features that the node of the batch script must have.", writable=False)
    batch_host = Text("Node that the batch script runs on.", writable=False)
    best_switch = Truth("Whether it got as few switches as it asked for.", writable=False)
    features = Text("Features that nodes must have.", member="details.features", writable=False)
    network = Text("Demands on the interconnect.", writable=False)
    nodes = Text("Nodes that it has, as a node list.", writable=False)
    partition = Text("Partitions, separated by commas.", writable=False)
    prefer = Text("Features that nodes should have.", member="details.prefer", writable=False)
    reboot = Plain(8, "1: nodes are booted first.", writable=False)
    req_nodes = Text("Nodes that it must get.", member="details.req_nodes", writable=False)
    req_switch = Plain(32, "Most leaf switches to spread over; 0 for any.", writable=False)
    segment_size = Number(16, "Nodes in each segment.", member="details.segment_size", writable=False, since="24.05")
    wait4switch = Plain(32, "How long to wait for that few switches.", unit="seconds", writable=False)
    wait4switch_start = Time("When it began to wait for them; 0 if it did not.", writable=False)

    # How much
    core_spec = Tagged(16, "Cores on each node left to the system; None if threads are.", member="details.core_spec",
                       tagged=False, writable=False)  # fmt: skip
    cpus_per_task = Number(16, "CPUs for each task.", member="details.cpus_per_task", writable=False)
    cpus_per_tres = Text("CPUs for each TRES.", writable=False)
    gres = Text("The older name of tres_per_node.", member="tres_per_node", writable=False)
    gres_req = Text("The older name of tres_fmt_req_str.", member="tres_fmt_req_str", writable=False)
    gres_used = Text("GRES that it has.", writable=False)
    licenses = Text("Licenses that it needs.", writable=False)
    max_cpus = Number(32, "Most CPUs.", member="details.max_cpus", writable=False)
    max_nodes = Number(32, "Most nodes; 0 for no limit.", member="details.max_nodes", writable=False)
    mem_per_tres = Text("Memory for each TRES.", writable=False)
    min_cpus = Number(32, "Fewest CPUs.", member="details.min_cpus", writable=False)
    min_mem_per_cpu = Tagged(64, "Memory for each CPU; None if asked for by node.", member="details.pn_min_memory",
                             tagged=True, unit="MiB", writable=False)  # fmt: skip
    min_mem_per_node = Tagged(64, "Memory on each node; None if asked for by CPU.", member="details.pn_min_memory",
                              tagged=False, unit="MiB", writable=False)  # fmt: skip
    min_nodes = Number(32, "Fewest nodes.", member="details.min_nodes", writable=False)
    num_tasks = Number(32, "Tasks.", member="details.num_tasks", writable=False)
    pn_min_cpus = Number(32, "Fewest CPUs on each node.", member="details.pn_min_cpus", writable=False)
    pn_min_memory = Number(64, "The two min_mem_per_ as one number.", member="details.pn_min_memory", unit="MiB",
                           writable=False)  # fmt: skip
    thread_spec = Tagged(16, "Threads on each node left to the system; None if cores are.",
                         member="details.core_spec", tagged=True, writable=False)  # fmt: skip
    total_cpus = Plain(32, "CPUs that it has.", writable=False)
    total_nodes = Plain(32, "Nodes that it has.", writable=False)
    tres_alloc_str = Text("TRES that it has, as id=count.", writable=False)
    tres_bind = Text("How tasks are bound to TRES.", writable=False)
    tres_fmt_alloc_str = Text("TRES that it has, as name=count.", writable=False)
    tres_fmt_req_str = Text("TRES that it asked for, as name=count.", writable=False)
    tres_freq = Text("Clock rates of TRES.", writable=False)
    tres_per_job = Text("TRES of the whole job.", writable=False)
    tres_per_node = Text("TRES on each node.", writable=False)
    tres_per_socket = Text("TRES in each socket.", writable=False)
    tres_per_task = Text("TRES of each task.", writable=False)
    tres_req_str = Text("TRES that it asked for, as id=count.", writable=False)

    # When
    begin_time = Time("Do not start before; 0 for none.", member="details.begin_time", writable=False)
    curr_dependency = Text("Jobs that it still waits for.", member="details.dependency", writable=False)
    deadline = Time("Drop the job if it cannot end by then; 0 for none.", writable=False)
    delay_boot = Number(32, "How long to wait for nodes that need no boot.", unit="seconds", writable=False)
    direct_set_prio = Plain(16, "1: somebody set the priority.", writable=False)
    end_time = Time("When it ended or will; 0 if that is not known.", writable=False)
    nice = Offset(32, "Change of the priority, positive is lower.", member="details.nice", writable=False)
    orig_dependency = Text("Jobs that it was to wait for.", member="details.orig_dependency", writable=False)
    priority = Number(32, "Priority; 0 is held.", writable=False)
    restart_cnt = Plain(16, "How often it was started again.", writable=False)
    site_factor = Offset(32, "Part of the priority that plugins set.", writable=False)
    start_time = Time("When it started or will; 0 if that is not known.", writable=False)
    submit_time = Time("When it was submitted.", member="details.submit_time", writable=False)
    time_limit = Number(32, "Longest run time.", unit="minutes", writable=False)
    time_min = Number(32, "Shortest run time that the user accepts.", unit="minutes", writable=False)

    # How
    derived_ec = Status("How the worst of its steps ended.", writable=False)
    exit_code = Status("How its script or step ended.", writable=False)
    job_state = OneOf(32, JobState, "What it does.", mask=JOB_STATE_BASE, optional=False, writable=False)
    job_state_flags = Flag(32, JobStateFlag, "What else is going on with it.", member="job_state",
                           mask=JOB_STATE_FLAGS, optional=False, writable=False)  # fmt: skip
    mail_type = Flag(16, MailType, "Which events send mail.", writable=False)
    mail_user = Text("Whom to mail.", writable=False)
    requeue = Number(16, "1: it may be started again.", member="details.requeue", writable=False)
    resizing = Bit(JobStateFlag.JOB_RESIZING, "Whether its size is about to change.", member="job_state")
    selinux_context = Text("SELinux context.", writable=False)
    state_desc = Text("Why it is not running, in words.", writable=False)
    state_reason = OneOf(32, StateReason, "Why it is not running, or ended.", optional=False, writable=False)
    std_err = Text("File for errors.", member="details.std_err", writable=False)
    std_in = Text("File for input.", member="details.std_in", writable=False)
    std_out = Text("File for output.", member="details.std_out", writable=False)


class PartitionFields:
    """A partition, ``part_record_t``; read-only."""

    __slots__ = ()

    allow_accounts = Text("Accounts that may use it; None for all.", writable=False)
    allow_alloc_nodes = Text("Nodes that jobs may be submitted from; None for all.", writable=False)
    allow_groups = Text("Groups that may use it; None for all.", writable=False)
    allow_qos = Text("QOS that may use it; None for all.", writable=False)
    alternate = Text("Partition to use when this one is down.", writable=False)
    billing_weights_str = Text("Weights of TRES.", writable=False)
    def_mem_per_cpu = Tagged(64, "Memory for each CPU of jobs that name none.", member="def_mem_per_cpu", tagged=True,
                             unit="MiB", writable=False)  # fmt: skip
    def_mem_per_node = Tagged(64, "Memory on each node of jobs that name none; 0 for no limit.",
                              member="def_mem_per_cpu", tagged=False, unit="MiB", writable=False)  # fmt: skip
    default_time = Number(32, "Time limit of jobs that name none.", unit="minutes", writable=False)
    deny_accounts = Text("Accounts that may not use it.", writable=False)
    deny_qos = Text("QOS that may not use it.", writable=False)
    flag_default = Bit(PartitionFlag.PART_FLAG_DEFAULT, "Whether it is the default.", member="flags")
    flags = Flag(32, PartitionFlag, "Its properties.", optional=False, writable=False)
    grace_time = Number(32, "Time to end in when preempted.", unit="seconds", writable=False)
    max_cpus_per_node = Number(32, "Most CPUs of each node that all jobs may get.", writable=False)
    max_cpus_per_socket = Number(32, "Most CPUs of each socket.", writable=False, since="23.02")
    max_mem_per_cpu = Tagged(64, "Most memory for each CPU.", member="max_mem_per_cpu", tagged=True, unit="MiB",
                             writable=False)  # fmt: skip
    max_mem_per_node = Tagged(64, "Most memory on each node; 0 for no limit.", member="max_mem_per_cpu", tagged=False,
                              unit="MiB", writable=False)  # fmt: skip
    max_nodes = Number(32, "Most nodes of a job.", writable=False)
    max_nodes_orig = Number(32, "The same before Slurm translated it.", writable=False, until="25.11")
    max_oversubscribe = Plain(16, "The newer name of max_share.", member="max_share", writable=False)
    max_share = Plain(16, "Jobs that may share a resource; the highest bit: users cannot refuse it.", writable=False)
    max_time = Number(32, "Longest time limit.", unit="minutes", writable=False)
    min_nodes = Number(32, "Fewest nodes of a job.", writable=False)
    min_nodes_orig = Number(32, "The same before Slurm translated it.", writable=False, until="25.11")
    name = Text("Its name.", writable=False)
    nodes = Text("Its nodes, as a node list.", writable=False)
    priority_job_factor = Plain(16, "What it adds to its jobs' priority.", writable=False)
    priority_tier = Plain(16, "Jobs of a higher one are looked at first.", writable=False)
    qos = Text("QOS whose limits are the partition's.", member="qos_char", writable=False)
    state_up = OneOf(16, PartitionState, "Whether it takes and starts jobs.", optional=False, writable=False)
    total_cpus = Plain(32, "How many CPUs it has.", writable=False)
    total_nodes = Plain(32, "How many nodes it has.", writable=False)
    tres_fmt_str = Text("What it has, as name=count.", writable=False)


class ReservationFields:
    """A reservation, ``slurmctld_resv_t``; read-only."""

    __slots__ = ()

    accounts = Text("Accounts that may use it; those after '-' may not.", writable=False)
    assoc_list = Text("Associations that may use it, as ids.", writable=False)
    burst_buffer = Text("Burst buffers that it holds.", writable=False)
    comment = Text("Comment.", writable=False, since="23.02")
    duration = Number(32, "How long it is.", unit="minutes", writable=False)
    end_time = Time("When it ends.", writable=False)
    features = Text("Features that its nodes have.", writable=False)
    flags = Flag(64, ReservationFlag, "Its properties.", optional=False, writable=False)
    flags_set_node = Bit(RESV_CTLD_NODE_FLAGS_SET, "Whether its nodes show as reserved now.", member="ctld_flags")
    full_nodes = Bit(RESV_CTLD_FULL_NODE, "Whether it holds whole nodes.", member="ctld_flags")
    groups = Text("Groups that may use it.", writable=False)
    licenses = Text("Licenses that it holds.", writable=False)
    name = Text("Its name.", writable=False)
    node_cnt = Plain(32, "How many nodes it holds.", writable=False)
    node_list = Text("Its nodes, as a node list.", writable=False)
    partition = Text("Its partition.", writable=False)
    start_time = Time("When it begins.", writable=False)
    tres_fmt_str = Text("What it holds, as name=count.", writable=False)
    users = Text("Users who may use it; those after '-' may not.", writable=False)


TABLES: dict[str, type] = {
    "job": JobFields,
    "record": RecordFields,
    "partition": PartitionFields,
    "reservation": ReservationFields,
}
"""The classes by the names that messages have for their structs; a message refers to them by their places here."""
COUNTERS = {"argv": "argc", "environment": "env_size", "spank_job_env": "spank_job_env_size"}
"""The arrays of texts of a request, each with the member that counts it."""
