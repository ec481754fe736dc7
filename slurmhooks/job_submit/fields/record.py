# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of ``record`` and of ``jobs``: jobs as slurmctld knows them."""

from __future__ import annotations

from slurmhooks.job_submit.constants import JobFlag, JobState, JobStateFlag, MailType, StateReason
from slurmhooks.job_submit.flag_rows import Bit, Flag, OneOf
from slurmhooks.job_submit.number_rows import Number, Offset, Plain, Tagged, Time
from slurmhooks.job_submit.rows import Computed, Sluid, Status, Strings, Text, Truth

JOB_STATE_BASE = 0xFF
JOB_STATE_FLAGS = 0xFFFFFF00


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
