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
from slurmhooks.fields.facts import NO_LUA, RW, InLua, R
from slurmhooks.fields.flag_rows import Bit, Flag, OneOf
from slurmhooks.fields.number_rows import Identity, Number, Offset, Plain, Switch, Tagged, Time
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

    ASKED_FOR = ("lua", "secret")
    """The facts that each row states; see facts.py. Only texts may be secret."""

    # Who: user, account, policy
    account = Lowered("Account to charge, in lower case, as slurmctld will write it.", lua=RW, secret=None)
    admin_comment = Text("Comment that only administrators may write.", lua=RW, secret=None)
    assoc_comment = Computed(str, "Comment of the association of user, account and partition; None before 23.02.",
                             lua=R.since("23.02"), secret=None)  # fmt: skip
    assoc_qos = Computed(str, "Names of all QOS that this association may use, separated by commas.",
                         lua=R.since("24.11"), secret=None)  # fmt: skip
    charged_account = Computed(str, "Account that slurmctld will charge, which need not be the named one.", lua=NO_LUA,
                               secret=None)  # fmt: skip
    comment = Text("Comment of the user.", lua=RW, secret=None)
    default_account = Computed(str, "Account that is charged if the request names none.", lua=R, secret=None)
    default_partition = Computed(str, "Partition if the request names none: that of its reservation, or the default.",
                                 lua=NO_LUA, secret=None)  # fmt: skip
    default_qos = Computed(str, "QOS that Slurm chooses if the request names none.", lua=R, secret=None)
    # In 22.05 slurmctld does not copy a text that a plugin has set, as it does with all others.
    extra = Text("Text that Slurm stores and may compare with that of nodes (--extra).", since="23.02", lua=RW,
                 secret=None)  # fmt: skip
    group_id = Identity(32, "Group that the job runs as.", writable=False, lua=R)
    group_name = Computed(str, "Name of the group.", private=False, lua=NO_LUA, secret=None)
    groups = Computed(dict[str, int], "All groups of the user: group ids by name.", private=False, lua=NO_LUA)
    mcs_label = Text("Label for sharing nodes (--mcs-label).", lua=RW.since("23.11"), secret=None)
    qos = Text("Quality of service.", lua=RW, secret=None, in_record=("qos_req", "qos"))
    reservation = Text("Reservations to use, separated by commas.", lua=RW, secret=None, in_record=("resv_name",))
    user_id = Identity(32, "User that the job runs as.", writable=False, lua=R)
    user_name = Computed(str, "Name of the user.", private=False, lua=R, secret=None)
    wckey = Lowered("Workload characterization key, in lower case.", lua=RW, secret=None)

    # What: name, script, container
    acctg_freq = Text("Sampling intervals of accounting: type=seconds, separated by commas.", lua=RW, secret=None)
    argc = Plain(32, "Number of the script's arguments, including its name.", writable=False, lua=R)
    array_inx = Text("Tasks of a job array, such as 0-10:2%3 (see strings.ArraySpec).", lua=RW, secret=None)
    burst_buffer = Text("Burst buffer directives.", lua=RW, secret=None)
    container = Text("OCI bundle to run in.", lua=RW, secret=None)
    container_id = Text("Name for the container.", since="23.02", lua=NO_LUA, secret=None)
    container_type = Text("Container plugin to run it with.", since="26.05", until="26.05", lua=NO_LUA, secret=None)
    env_size = Plain(32, "Number of variables in the environment.", writable=False, lua=NO_LUA)
    name = Text("Name of the job.", lua=RW, secret=None)
    runtime = Text("Runtime plugin to run it with, such as runtime/oci.", since="26.11", lua=NO_LUA, secret=None)
    script = Text("The batch script; None for srun and salloc.", lua=RW, secret="script")
    spank_job_env_size = Plain(32, "Number of variables in spank_job_env.", writable=False, lua=R)
    submit_line = Text("The command line of the user.", lua=NO_LUA, secret="script")
    work_dir = Text("Working directory.", lua=RW, secret=None)

    # Where: partition, nodes, clusters
    batch_features = Text("Features that the node of the batch script must have.", lua=RW, secret=None)
    cluster_features = Text("Features that a cluster must have, for jobs sent to several clusters.", lua=NO_LUA,
                            secret=None)  # fmt: skip
    clusters = Text("Clusters on which the job may run, separated by commas.", lua=RW, secret=None)
    contiguous = Switch(16, "1: the nodes must be adjacent.", lua=RW)
    exc_nodes = Text("Nodes not to use, as a node list.", lua=RW, secret=None)
    features = Text("Features that nodes must have (--constraint).", lua=RW, secret=None)
    network = Text("Requirements on the interconnect.", lua=R, secret=None)
    oversubscribe = OneOf(16, Shared, "Newer name of shared.", member="shared", lua=RW)
    partition = Text("Partitions, separated by commas; None: the default partition.", lua=RW, secret=None)
    prefer = Text("Features that nodes should have.", lua=RW, secret=None)
    reboot = Number(16, "1: boot the nodes before the job starts.", lua=RW)
    req_nodes = Text("Nodes that the job must get, as a node list.", lua=RW, secret=None)
    req_switch = Number(32, "Maximum number of leaf switches.", lua=RW)
    segment_size = Number(16, "Nodes in each segment, with topology/block.", since="24.05", lua=RW.since("25.11"),
                          in_updates=0)  # fmt: skip
    shared = OneOf(16, Shared, "With whom the nodes are shared.", lua=RW)
    wait4switch = Number(32, "How long to wait for that number of switches.", unit="seconds", lua=RW)

    # How much: nodes, tasks, CPUs
    boards_per_node = Number(16, "Minimum number of boards per node.", lua=R, in_updates=0)
    core_spec = Tagged(16, "Cores per node reserved for the system; None if threads are.", member="core_spec",
                       tagged=False, lua=RW.since("26.05"))  # fmt: skip
    cores_per_socket = Number(16, "Minimum number of cores per socket.", lua=RW)
    cpus_per_task = Number(16, "CPUs per task; Slurm allocates by min_cpus, pn_min_cpus and tres_per_task, too.",
                           lua=RW)  # fmt: skip
    job_size_str = Text("Acceptable numbers of nodes, such as 1,4-8:2 (--nodes).", since="23.02", lua=NO_LUA,
                        secret=None)  # fmt: skip
    max_cpus = Number(32, "Maximum number of CPUs.", lua=RW)
    max_nodes = Number(32, "Maximum number of nodes.", lua=RW)
    min_cpus = Number(32, "Minimum number of CPUs.", lua=RW)
    min_nodes = Number(32, "Minimum number of nodes.", lua=RW)
    ntasks_per_board = Number(16, "Maximum number of tasks per board.", lua=R, in_updates=0)
    ntasks_per_core = Number(16, "Maximum number of tasks per core.", lua=R)
    ntasks_per_gpu = Number(16, "Older name of ntasks_per_tres.", member="ntasks_per_tres", lua=RW,
                            in_record=("ntasks_per_tres",))  # fmt: skip
    ntasks_per_node = Number(16, "Number of tasks per node.", lua=RW)
    ntasks_per_socket = Number(16, "Maximum number of tasks per socket.", lua=RW)
    ntasks_per_tres = Number(16, "Number of tasks per GPU.", lua=RW)
    num_tasks = Number(32, "Number of tasks.", lua=RW)
    overcommit = Switch(8, "1: several tasks may share a CPU.", lua=NO_LUA)
    plane_size = Number(16, "Tasks per block, for SLURM_DIST_PLANE.", lua=NO_LUA)
    pn_min_cpus = Number(16, "Minimum number of CPUs per node.", lua=RW)
    sockets_per_board = Number(16, "Minimum number of sockets per board.", lua=R, in_updates=0)
    sockets_per_node = Number(16, "Minimum number of sockets per node.", lua=RW)
    thread_spec = Tagged(16, "Threads per node reserved for the system; None if cores are.", member="core_spec",
                         tagged=True, lua=RW.since("26.05"))  # fmt: skip
    threads_per_core = Number(16, "Threads to use per core.", lua=RW)

    # How much: memory, disk, TRES
    cpus_per_tres = Tres("CPUs per TRES, such as gres/gpu:2.", lua=RW, secret=None)
    gres = Gres("Older name of tres_per_node; assigned values need no 'gres/'.", member="tres_per_node", lua=RW,
                secret=None)  # fmt: skip
    licenses = Text("Licenses that the job needs.", lua=RW, secret=None)
    licenses_tot = Text("All licenses, including those requested as TRES; unset at submission.", writable=False,
                        since="23.02", lua=NO_LUA, secret=None)  # fmt: skip
    mem_per_tres = Tres("Memory per TRES in MiB, such as gres/gpu:1024.", lua=RW, secret=None)
    mem_update_delay = Number(16, "Delay before unused memory is reclaimed.", unit="minutes", since="26.05", lua=NO_LUA,
                              in_updates=0)  # fmt: skip
    mem_update_margin = Number(16, "Unused memory that is not reclaimed.", unit="percent", since="26.05", lua=NO_LUA,
                               in_updates=0)  # fmt: skip
    min_mem_per_cpu = Tagged(64, "Memory per CPU; None if requested per node.", member="pn_min_memory", tagged=True,
                             unit="MiB", lua=RW)  # fmt: skip
    min_mem_per_node = Tagged(64, "Memory per node; None if requested per CPU.", member="pn_min_memory", tagged=False,
                              unit="MiB", lua=RW)  # fmt: skip
    pn_min_memory = Number(64, "The two above as one number: per CPU if the highest bit is set.", unit="MiB", lua=RW)
    pn_min_tmp_disk = Number(32, "Minimum temporary disk space per node.", unit="MiB", lua=RW)
    tres_bind = Text("How tasks are bound to TRES.", lua=RW, secret=None)
    tres_freq = Text("Frequencies of TRES.", lua=RW, secret=None)
    tres_per_job = Tres("TRES of the whole job (see strings.Tres).", lua=RW, secret=None)
    tres_per_node = Tres("TRES per node.", lua=RW, secret=None)
    tres_per_socket = Tres("TRES per socket.", lua=RW, secret=None)
    tres_per_task = Tres("TRES per task.", lua=RW, secret=None)

    # When: times, order
    begin_time = Time("Earliest start; 0: now.", lua=RW, zero_leaves=True)
    deadline = Time("Remove the job if it cannot end by this time; 0: no deadline.", lua=NO_LUA, zero_leaves=True)
    delay_boot = Number(32, "How long to wait for nodes that need no reboot.", unit="seconds", lua=RW)
    dependency = Text("Jobs to wait for (see strings.Dependencies).", lua=RW, secret=None,
                      in_record=("orig_dependency",))  # fmt: skip
    end_time = Time("When the job must end, in updates; 0: unset.", lua=RW, zero_leaves=True)
    immediate = Number(16, "1: start at once or fail.", lua=RW, in_updates=0)
    nice = Offset(32, "Adjustment of the priority; positive numbers lower it.", lua=RW)
    priority = Number(32, "Priority; 0 holds the job.", lua=RW)
    site_factor = Offset(32, "Part of the priority that only plugins set.", lua=RW)
    time_limit = Number(32, "Time limit.", unit="minutes", lua=RW)
    time_min = Number(32, "Minimum time limit that the user accepts.", unit="minutes", lua=RW)
    wait_all_nodes = Number(16, "1: start only when all nodes have booted.", lua=NO_LUA)

    # How: flags, signals, mail, ends
    alloc_sid = OneOf(32, AllocHold, "Session id of the client; in an update that holds the job, who holds it.",
                      lua=NO_LUA)  # fmt: skip
    bitflags = Flag(64, JobFlag, "Properties of the job.", optional=False, lua=RW)
    cron_job = Bit(CRON_JOB, "Whether the job comes from scrontab.", member="bitflags", lua=R)
    kill_on_node_fail = Switch(16, "0: the job continues when a node fails.", lua=NO_LUA)
    mail_type = Flag(16, MailType, "Events on which Slurm sends mail.", lua=RW)
    mail_user = Text("Recipient of mail.", lua=RW, secret=None)
    oom_kill_step = Number(16, "1: a task that runs out of memory ends its step.", since="24.11", lua=NO_LUA,
                           in_updates=0)  # fmt: skip
    power_flags = Flag(8, PowerFlag, "Power management.", until="23.11", lua=RW, in_updates=0)
    profile = Flag(32, Profile, "What to profile.", optional=False, lua=NO_LUA)
    requeue = Switch(16, "1: the job may be requeued.", lua=RW)
    restart_cnt = Plain(16, "How often the job was restarted.", writable=False, lua=NO_LUA)
    resv_port_cnt = Number(16, "Ports to reserve on each node, for MPI.", since="24.05", lua=NO_LUA, in_updates=0)
    warn_flags = Flag(16, WarnFlag, "Who gets the signal before the end of the job.", optional=False, lua=NO_LUA)
    warn_signal = Plain(16, "Signal before the end of the job; 0: none.", lua=NO_LUA)
    warn_time = Plain(16, "How long before the end of the job the signal is sent.", unit="seconds", lua=NO_LUA)

    # How: input, output, X11
    open_mode = OneOf(8, OpenMode, "What happens to an existing output file; 0: the default of the site.",
                      optional=False, lua=NO_LUA)  # fmt: skip
    std_err = Text("File for standard error.", lua=RW, secret=None)
    std_in = Text("File for standard input.", lua=RW, secret=None)
    std_out = Text("File for standard output.", lua=RW, secret=None)
    x11 = Flag(16, X11Flag, "Which nodes get X11 forwarding.", optional=False, lua=NO_LUA)
    x11_magic_cookie = Text("Authentication cookie of the user's X server.", writable=False, lua=NO_LUA,
                            secret="environment")  # fmt: skip
    x11_target = Text("Host of the user's X server, or its socket.", writable=False, lua=NO_LUA, secret=None)
    x11_target_port = Plain(16, "Port of the user's X server; 0: a socket.", writable=False, lua=NO_LUA)

    # How: binding, clock rates
    cpu_bind = Text("Map or mask for CpuBind.CPU_BIND_MAP and CPU_BIND_MASK.", lua=NO_LUA, secret=None)
    cpu_bind_type = Flag(16, CpuBind, "How tasks are bound to CPUs.", lua=NO_LUA)
    cpu_freq_gov = OneOf(32, CpuFreq, "Frequency governor of the CPUs.", lua=RW)
    cpu_freq_max = OneOf(32, CpuFreq, "Maximum frequency of the CPUs, in kHz or named.", lua=RW)
    cpu_freq_min = OneOf(32, CpuFreq, "Minimum frequency of the CPUs, in kHz or named.", lua=RW)
    mem_bind = Text("Map or mask for MemBind.MEM_BIND_MAP and MEM_BIND_MASK.", lua=NO_LUA, secret=None)
    mem_bind_type = Flag(16, MemBind, "How tasks are bound to memory.", lua=NO_LUA)
    req_context = Text("SELinux context that the user requests.", lua=R, secret=None)
    selinux_context = Text("SELinux context that the job gets.", lua=InLua(read="23.02", write=""), secret=None)
    task_dist = OneOf(32, TaskDist, "Distribution of tasks over nodes, sockets and cores.", mask=TASK_DIST_BASE,
                      lua=NO_LUA)  # fmt: skip
    task_dist_flags = Flag(32, TaskDistFlag, "Whether tasks fill up nodes.", member="task_dist", mask=TASK_DIST_FLAGS,
                           lua=NO_LUA)  # fmt: skip

    # The request itself
    alloc_node = Text("Host that the request comes from.", writable=False, lua=R, secret=None)
    alloc_resp_port = Plain(16, "Port of the client that waits for the allocation.", writable=False, lua=NO_LUA)
    alloc_tls_cert = Text("TLS certificate of that client.", writable=False, since="25.05", lua=NO_LUA, secret=None)
    fed_siblings_active = Plain(64, "Clusters of the federation that have the job, as bits.", writable=False,
                                lua=NO_LUA)  # fmt: skip
    fed_siblings_viable = Plain(64, "Clusters of the federation that may run the job, as bits.", writable=False,
                                lua=NO_LUA)  # fmt: skip
    het_job_offset = Number(32, "Number of the component of a heterogeneous job, from 0; also 0 for jobs of scrontab.",
                            writable=False, lua=R, in_updates=0)  # fmt: skip
    interactive = Computed(bool, "Whether srun, salloc or the like asks for the job, or for that of an update.",
                           private=False, lua=NO_LUA)  # fmt: skip
    job_id = Number(32, "Job id, in updates.", member=("job_id", "step_id.job_id"), writable=False, lua=NO_LUA)
    job_id_str = Text("Job id, in updates, as the user wrote it.", writable=False, lua=NO_LUA, secret=None)
    origin = Computed(str, "Who sent the request: user, update, or in a federation sibling or requeue.", private=False,
                      lua=NO_LUA, secret=None)  # fmt: skip
    origin_cluster = Text("Cluster that the job was submitted to.", writable=False, lua=NO_LUA, secret=None)
    other_port = Plain(16, "Port of the client that gets messages about the job.", writable=False, lua=NO_LUA)
    pack_job_offset = Number(32, "Older name of het_job_offset.", member="het_job_offset", writable=False, lua=R)
    resp_host = Text("Host of the client, set by slurmctld.", writable=False, lua=NO_LUA, secret=None)
    sluid = Sluid("Unique id of the job (SLUID), in updates.", member="step_id.sluid", since="25.11", lua=NO_LUA)
