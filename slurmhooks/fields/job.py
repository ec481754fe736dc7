# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of ``job``: the request of a submission or an update."""

from __future__ import annotations

from slurmhooks.fields.constants import (
    AllocHold,
    CpuBind,
    CpuFreq,
    JobFlag,
    MailType,
    MemBind,
    OpenMode,
    PowerFlag,
    Profile,
    Shared,
    TaskDist,
    TaskDistFlag,
    WarnFlag,
    X11Flag,
)
from slurmhooks.fields.flag_rows import Bit, Flag, OneOf
from slurmhooks.fields.number_rows import Identity, Number, Offset, Plain, Tagged, Time
from slurmhooks.fields.rows import Computed, Gres, Lowered, Sluid, Text, Tres

CRON_JOB = JobFlag.CRON_JOB
TASK_DIST_BASE = 0xFFFF
TASK_DIST_FLAGS = 0xFF0000


class JobFields:
    """``job``: the request, ``job_desc_msg_t`` of slurm.h.

    Fields about the request itself (who sent it, where answers go) are read-only, and so are the counters, which
    follow their arrays.
    """

    __slots__ = ()

    # Who: user, account, policy
    account = Lowered("Account to charge, in lower case, as slurmctld will write it.")
    admin_comment = Text("Comment that only administrators may write.")
    assoc_comment = Computed(str, "Comment of the association of user, account and partition; None before 23.02.")
    assoc_qos = Computed(str, "Names of all QOS that this association may use, separated by commas.")
    charged_account = Computed(str, "Account that slurmctld will charge, which need not be the named one.")
    comment = Text("Comment of the user.")
    default_account = Computed(str, "Account that is charged if the request names none.")
    default_partition = Computed(str, "Partition if the request names none: that of its reservation, or the default.")
    default_qos = Computed(str, "QOS that Slurm chooses if the request names none.")
    # In 22.05 slurmctld stores the pointer itself and also frees it with the request: it aborts at the second time.
    extra = Text("Text that Slurm stores and may compare with that of nodes (--extra).", since="23.02")
    group_id = Identity(32, "Group that the job runs as.", writable=False)
    group_name = Computed(str, "Name of the group.", private=False)
    groups = Computed(dict[str, int], "All groups of the user: group ids by name.", private=False)
    mcs_label = Text("Label for sharing nodes (--mcs-label).")
    qos = Text("Quality of service.")
    reservation = Text("Reservations to use, separated by commas.")
    user_id = Identity(32, "User that the job runs as.", writable=False)
    user_name = Computed(str, "Name of the user.", private=False)
    wckey = Lowered("Workload characterization key, in lower case.")

    # What: name, script, container
    acctg_freq = Text("Sampling intervals of accounting: type=seconds, separated by commas.")
    argc = Plain(32, "Number of the script's arguments, including its name.", writable=False)
    array_inx = Text("Tasks of a job array, such as 0-10:2%3 (see strings.ArraySpec).")
    burst_buffer = Text("Burst buffer directives.")
    container = Text("OCI bundle to run in.")
    container_id = Text("Name for the container.", since="23.02")
    container_type = Text("Container plugin to run it with.", since="26.05", until="26.05")
    env_size = Plain(32, "Number of variables in the environment.", writable=False)
    name = Text("Name of the job.")
    runtime = Text("Runtime plugin to run it with, such as runtime/oci.", since="26.11")
    script = Text("The batch script; None for srun and salloc.")
    spank_job_env_size = Plain(32, "Number of variables in spank_job_env.", writable=False)
    submit_line = Text("The command line of the user.")
    work_dir = Text("Working directory.")

    # Where: partition, nodes, clusters
    batch_features = Text("Features that the node of the batch script must have.")
    cluster_features = Text("Features that a cluster must have, for jobs sent to several clusters.")
    clusters = Text("Clusters on which the job may run, separated by commas.")
    contiguous = Number(16, "1: the nodes must be adjacent.")
    exc_nodes = Text("Nodes not to use, as a node list.")
    features = Text("Features that nodes must have (--constraint).")
    network = Text("Requirements on the interconnect.")
    oversubscribe = OneOf(16, Shared, "Newer name of shared.", member="shared")
    partition = Text("Partitions, separated by commas; None: the default partition.")
    prefer = Text("Features that nodes should have.")
    reboot = Number(16, "1: boot the nodes before the job starts.")
    req_nodes = Text("Nodes that the job must get, as a node list.")
    req_switch = Number(32, "Maximum number of leaf switches.")
    segment_size = Number(16, "Nodes in each segment, with topology/block.", since="24.05")
    shared = OneOf(16, Shared, "With whom the nodes are shared.")
    wait4switch = Number(32, "How long to wait for that number of switches.", unit="seconds")

    # How much: nodes, tasks, CPUs
    boards_per_node = Number(16, "Minimum number of boards per node.")
    core_spec = Tagged(
        16, "Cores per node reserved for the system; None if threads are.", member="core_spec", tagged=False
    )
    cores_per_socket = Number(16, "Minimum number of cores per socket.")
    cpus_per_task = Number(16, "CPUs per task; Slurm allocates by min_cpus, pn_min_cpus and tres_per_task, too.")
    job_size_str = Text("Acceptable numbers of nodes, such as 1,4-8:2 (--nodes).", since="23.02")
    max_cpus = Number(32, "Maximum number of CPUs.")
    max_nodes = Number(32, "Maximum number of nodes.")
    min_cpus = Number(32, "Minimum number of CPUs.")
    min_nodes = Number(32, "Minimum number of nodes.")
    ntasks_per_board = Number(16, "Maximum number of tasks per board.")
    ntasks_per_core = Number(16, "Maximum number of tasks per core.")
    ntasks_per_gpu = Number(16, "Older name of ntasks_per_tres.", member="ntasks_per_tres")
    ntasks_per_node = Number(16, "Number of tasks per node.")
    ntasks_per_socket = Number(16, "Maximum number of tasks per socket.")
    ntasks_per_tres = Number(16, "Number of tasks per GPU.")
    num_tasks = Number(32, "Number of tasks.")
    overcommit = Number(8, "1: several tasks may share a CPU.")
    plane_size = Number(16, "Tasks per block, for SLURM_DIST_PLANE.")
    pn_min_cpus = Number(16, "Minimum number of CPUs per node.")
    sockets_per_board = Number(16, "Minimum number of sockets per board.")
    sockets_per_node = Number(16, "Minimum number of sockets per node.")
    thread_spec = Tagged(
        16, "Threads per node reserved for the system; None if cores are.", member="core_spec", tagged=True
    )
    threads_per_core = Number(16, "Threads to use per core.")

    # How much: memory, disk, TRES
    cpus_per_tres = Tres("CPUs per TRES, such as gres/gpu:2.")
    gres = Gres("Older name of tres_per_node; assigned values need no 'gres/'.", member="tres_per_node")
    licenses = Text("Licenses that the job needs.")
    licenses_tot = Text(
        "All licenses, including those requested as TRES; unset at submission.", writable=False, since="23.02"
    )
    mem_per_tres = Tres("Memory per TRES in MiB, such as gres/gpu:1024.")
    mem_update_delay = Number(16, "Delay before unused memory is reclaimed.", unit="minutes", since="26.05")
    mem_update_margin = Number(16, "Unused memory that is not reclaimed.", unit="percent", since="26.05")
    min_mem_per_cpu = Tagged(
        64, "Memory per CPU; None if requested per node.", member="pn_min_memory", tagged=True, unit="MiB"
    )
    min_mem_per_node = Tagged(
        64, "Memory per node; None if requested per CPU.", member="pn_min_memory", tagged=False, unit="MiB"
    )
    pn_min_memory = Number(64, "The two above as one number: per CPU if the highest bit is set.", unit="MiB")
    pn_min_tmp_disk = Number(32, "Minimum temporary disk space per node.", unit="MiB")
    tres_bind = Text("How tasks are bound to TRES.")
    tres_freq = Text("Frequencies of TRES.")
    tres_per_job = Tres("TRES of the whole job (see strings.Tres).")
    tres_per_node = Tres("TRES per node.")
    tres_per_socket = Tres("TRES per socket.")
    tres_per_task = Tres("TRES per task.")

    # When: times, order
    begin_time = Time("Earliest start; 0: now.")
    deadline = Time("Remove the job if it cannot end by this time; 0: no deadline.")
    delay_boot = Number(32, "How long to wait for nodes that need no reboot.", unit="seconds")
    dependency = Text("Jobs to wait for (see strings.Dependencies).")
    end_time = Time("When the job must end, in updates; 0: unset.")
    immediate = Number(16, "1: start at once or fail.")
    nice = Offset(32, "Adjustment of the priority; positive numbers lower it.")
    priority = Number(32, "Priority; 0 holds the job.")
    site_factor = Offset(32, "Part of the priority that only plugins set.")
    time_limit = Number(32, "Time limit.", unit="minutes")
    time_min = Number(32, "Minimum time limit that the user accepts.", unit="minutes")
    wait_all_nodes = Number(16, "1: start only when all nodes have booted.")

    # How: flags, signals, mail, ends
    alloc_sid = OneOf(32, AllocHold, "Session id of the client; in an update that holds the job, who holds it.")
    bitflags = Flag(64, JobFlag, "Properties of the job.", optional=False)
    cron_job = Bit(CRON_JOB, "Whether the job comes from scrontab.", member="bitflags")
    kill_on_node_fail = Number(16, "0: the job continues when a node fails.")
    mail_type = Flag(16, MailType, "Events on which Slurm sends mail.")
    mail_user = Text("Recipient of mail.")
    oom_kill_step = Number(16, "1: a task that runs out of memory ends its step.", since="24.11")
    power_flags = Flag(8, PowerFlag, "Power management.", until="23.11")
    profile = Flag(32, Profile, "What to profile.", optional=False)
    requeue = Number(16, "1: the job may be requeued.")
    restart_cnt = Plain(16, "How often the job was restarted.", writable=False)
    resv_port_cnt = Number(16, "Ports to reserve on each node, for MPI.", since="24.05")
    warn_flags = Flag(16, WarnFlag, "Who gets the signal before the end of the job.", optional=False)
    warn_signal = Plain(16, "Signal before the end of the job; 0: none.")
    warn_time = Plain(16, "How long before the end of the job the signal is sent.", unit="seconds")

    # How: input, output, X11
    open_mode = OneOf(
        8, OpenMode, "What happens to an existing output file; 0: the default of the site.", optional=False
    )
    std_err = Text("File for standard error.")
    std_in = Text("File for standard input.")
    std_out = Text("File for standard output.")
    x11 = Flag(16, X11Flag, "Which nodes get X11 forwarding.", optional=False)
    x11_magic_cookie = Text("Authentication cookie of the user's X server.", writable=False)
    x11_target = Text("Host of the user's X server, or its socket.", writable=False)
    x11_target_port = Plain(16, "Port of the user's X server; 0: a socket.", writable=False)

    # How: binding, clock rates
    cpu_bind = Text("Map or mask for CpuBind.CPU_BIND_MAP and CPU_BIND_MASK.")
    cpu_bind_type = Flag(16, CpuBind, "How tasks are bound to CPUs.")
    cpu_freq_gov = OneOf(32, CpuFreq, "Frequency governor of the CPUs.")
    cpu_freq_max = OneOf(32, CpuFreq, "Maximum frequency of the CPUs, in kHz or named.")
    cpu_freq_min = OneOf(32, CpuFreq, "Minimum frequency of the CPUs, in kHz or named.")
    mem_bind = Text("Map or mask for MemBind.MEM_BIND_MAP and MEM_BIND_MASK.")
    mem_bind_type = Flag(16, MemBind, "How tasks are bound to memory.")
    req_context = Text("SELinux context that the user requests.")
    selinux_context = Text("SELinux context that the job gets.")
    task_dist = OneOf(32, TaskDist, "Distribution of tasks over nodes, sockets and cores.", mask=TASK_DIST_BASE)
    task_dist_flags = Flag(32, TaskDistFlag, "Whether tasks fill up nodes.", member="task_dist", mask=TASK_DIST_FLAGS)

    # The request itself
    alloc_node = Text("Host that the request comes from.", writable=False)
    alloc_resp_port = Plain(16, "Port of the client that waits for the allocation.", writable=False)
    alloc_tls_cert = Text("TLS certificate of that client.", writable=False, since="25.05")
    fed_siblings_active = Plain(64, "Clusters of the federation that have the job, as bits.", writable=False)
    fed_siblings_viable = Plain(64, "Clusters of the federation that may run the job, as bits.", writable=False)
    het_job_offset = Number(32, "Number of the component of a heterogeneous job, from 0.", writable=False)
    interactive = Computed(
        bool, "Whether srun or salloc asks for the job, or for the job that an update changes.", private=False
    )
    job_id = Number(32, "Job id, in updates.", member=("job_id", "step_id.job_id"), writable=False)
    job_id_str = Text("Job id, in updates, as the user wrote it.", writable=False)
    origin = Computed(
        str,
        "Who sent the request: user, update, or in a federation sibling or requeue.",
        private=False,
    )
    origin_cluster = Text("Cluster that the job was submitted to.", writable=False)
    other_port = Plain(16, "Port of the client that gets messages about the job.", writable=False)
    pack_job_offset = Number(32, "Older name of het_job_offset.", member="het_job_offset", writable=False)
    resp_host = Text("Host of the client, set by slurmctld.", writable=False)
    sluid = Sluid("Unique id of the job (SLUID), in updates.", member="step_id.sluid", since="25.11")
