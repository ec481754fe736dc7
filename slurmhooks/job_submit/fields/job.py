# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of ``job``: the request of a submission or an update."""

from __future__ import annotations

from slurmhooks.job_submit.constants import (
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
from slurmhooks.job_submit.flag_rows import Bit, Flag, OneOf
from slurmhooks.job_submit.number_rows import Identity, Number, Offset, Plain, Tagged, Time
from slurmhooks.job_submit.rows import Computed, Gres, Sluid, Text

CRON_JOB = JobFlag.CRON_JOB
TASK_DIST_BASE = 0xFFFF
TASK_DIST_FLAGS = 0xFF0000


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
