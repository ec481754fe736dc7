# SPDX-License-Identifier: GPL-2.0-or-later
"""One row a field of the nodes, licenses, QOS and associations that handlers may look up; see fields.py.

All are read-only. Limits are what slurmctld enforces; ``UNLIMITED`` is none. Of TRES they are texts as sacctmgr shows
them (``cpu=4,gres/gpu=2,mem=1000M``), for :class:`slurmhooks.job_submit.strings.Tres`; ``None`` is none.
"""

from __future__ import annotations

from functools import partial

from slurmhooks.job_submit.constants import NodeState, NodeStateFlag, PreemptMode, QosFlag
from slurmhooks.job_submit.rows import Flag, Identity, Names, Number, OneOf, Plain, Real, Text, Time, Truth

NODE_STATE_BASE = 0xF
NODE_STATE_FLAGS = 0xFFFFFFF0

_Text = partial(Text, writable=False)
_Time = partial(Time, writable=False)
_Number = partial(Number, writable=False)
_Plain = partial(Plain, writable=False)


class NodeFields:
    """A node, ``node_record_t``; read-only."""

    __slots__ = ()

    # What it is
    arch = _Text("Architecture of its CPUs.")
    boards = _Plain(16, "Boards.", member="config_ptr.boards")
    comm_name = _Text("Its address (NodeAddr).")
    comment = _Text("Comment.")
    core_spec_cnt = _Plain(16, "Cores left to the system.")
    cores = _Plain(16, "Cores in each socket.", member="config_ptr.cores")
    cpu_spec_list = _Text("CPUs left to the system, as numbers.")
    cpus = _Plain(16, "CPUs.", member="config_ptr.cpus")
    cpus_efctv = _Plain(16, "CPUs that jobs may get: all but those left to the system.")
    extra = _Text("Text that Slurm keeps and, if so configured, matches with jobs' --extra.")
    features = _Text("Features that it can have, separated by commas.")
    features_act = _Text("Features that it has now.")
    gpu_spec = _Text("Cores that only jobs with GPUs may get.", since="24.05")
    gres = _Text("GRES, as gpu:tesla:4(S:0-1).")
    instance_id = _Text("Id of the cloud's instance.", since="23.11")
    instance_type = _Text("Type of the cloud's instance.", since="23.11")
    mem_spec_limit = _Plain(64, "Memory left to the system.", unit="MiB")
    name = _Text("Its name.")
    node_hostname = _Text("Its host name.")
    os = _Text("Its operating system.")
    partitions = Names("Partitions that it is in.")
    port = _Plain(16, "Port of its slurmd.")
    real_memory = _Plain(64, "Memory.", unit="MiB", member="config_ptr.real_memory")
    res_cores_per_gpu = _Plain(16, "Cores that only jobs with GPUs may get, for each GPU.", since="24.05")
    threads = _Plain(16, "Threads of each core.", member="config_ptr.threads")
    tmp_disk = _Plain(32, "Temporary disk space.", unit="MiB", member="config_ptr.tmp_disk")
    topology_str = _Text("Its place in the topology.", since="25.05")
    tot_cores = _Plain(16, "Cores.")
    tot_sockets = _Plain(16, "Sockets.", member="config_ptr.tot_sockets")
    tres_fmt_str = _Text("What it has, as name=count.")
    version = _Text("Slurm's release on it.")
    weight = _Plain(32, "Nodes of a lower one are used first.", member="config_ptr.weight")

    # What goes on
    boot_time = _Time("When it booted; 0 if that is not known.")
    comp_job_cnt = _Plain(16, "Jobs that are completing.")
    cpu_load = _Number(32, "Load.", unit="hundredths of a CPU")
    free_mem = _Number(64, "Memory that its system has free, whatever jobs have asked for.", unit="MiB")
    gres_used = _Text("GRES that jobs have, as gpu:tesla:2(IDX:0-1).")
    last_busy = _Time("When the last job ended; 0 if that is not known.")
    last_response = _Time("When its slurmd was last heard of.")
    mcs_label = _Text("Label of the jobs that it is shared by.")
    no_share_job_cnt = _Plain(16, "Jobs that share it with no other.")
    owner = Identity(32, "The only user whose jobs it takes now.", writable=False)
    reason = _Text("Why it is down or drained.")
    reason_time = _Time("When that was said.")
    reason_uid = Identity(32, "Who said that.", writable=False)
    resume_after = _Time("When it is to be resumed; 0 for never.", since="23.02")
    resv_name = _Text("Reservation that it is in now.", since="23.02")
    run_job_cnt = _Plain(16, "Jobs that are running.")
    slurmd_start_time = _Time("When its slurmd was started.")
    state = OneOf(32, NodeState, "What it does; NODE_STATE_ALLOCATED where any job has CPUs of it.",
                  member="node_state", mask=NODE_STATE_BASE, optional=False, writable=False)  # fmt: skip
    state_flags = Flag(32, NodeStateFlag, "What else is going on with it.", member="node_state",
                       mask=NODE_STATE_FLAGS, optional=False, writable=False)  # fmt: skip
    sus_job_cnt = _Plain(16, "Jobs that are suspended.")


class LicenseFields:
    """A license, ``slurm_license_info_t``; read-only."""

    __slots__ = ()

    available = _Plain(32, "How many are left: total without used, and without those lacking at the server.")
    last_consumed = _Plain(32, "How many the license server has given out, of a remote one.", since="23.02")
    last_deficit = _Plain(32, "How many the license server lacks, of a remote one.", since="23.02")
    last_update = _Time("When the license server was last asked, of a remote one; 0 for never.", since="23.02")
    name = _Text("Its name; that of a remote one is name@server.")
    remote = Truth("Whether it is accounting's, not slurm.conf's.", writable=False)
    reserved = _Plain(32, "How many reservations hold now.")
    total = _Plain(32, "How many there are.")
    used = _Plain(32, "How many jobs have.", member="in_use")


class QosFields:
    """A QOS, ``slurmdb_qos_rec_t``; read-only."""

    __slots__ = ()

    # What it is
    description = _Text("Its description.")
    flags = Flag(32, QosFlag, "Its properties.", optional=False, writable=False)
    grace_time = _Number(32, "Time to end in when preempted.", unit="seconds")
    id = _Plain(32, "Its number in the database.")
    limit_factor = Real("What limits of associations are multiplied by.")
    min_prio_thresh = _Number(32, "Lowest priority of jobs that resources are reserved for.")
    name = _Text("Its name.")
    preempt = Names("QOS whose jobs it preempts.")
    preempt_exempt_time = _Number(32, "How long its jobs run before they can be preempted.", unit="seconds")
    preempt_mode = Flag(16, PreemptMode, "What happens to its preempted jobs; 0 is the cluster's.", optional=False,
                        writable=False)  # fmt: skip
    priority = _Number(32, "What it adds to its jobs' priority.")
    usage_factor = Real("What the usage of its jobs is multiplied by.")
    usage_thres = Real("Least share of usage left that jobs need.")

    # Limits of a job, a user, an account
    max_jobs_accrue_pa = _Number(32, "Most jobs of an account that gain priority by age.")
    max_jobs_accrue_pu = _Number(32, "Most jobs of a user that gain priority by age.")
    max_jobs_pa = _Number(32, "Most running jobs of an account.")
    max_jobs_pu = _Number(32, "Most running jobs of a user.")
    max_submit_jobs_pa = _Number(32, "Most pending and running jobs of an account.")
    max_submit_jobs_pu = _Number(32, "Most pending and running jobs of a user.")
    max_tres_mins_pj = _Text("Most TRES minutes of a job.")
    max_tres_pa = _Text("Most TRES of an account's running jobs.")
    max_tres_pj = _Text("Most TRES of a job.")
    max_tres_pn = _Text("Most TRES of a job on each node.")
    max_tres_pu = _Text("Most TRES of a user's running jobs.")
    max_tres_run_mins_pa = _Text("Most TRES minutes that an account's running jobs have left.")
    max_tres_run_mins_pu = _Text("Most TRES minutes that a user's running jobs have left.")
    max_wall_pj = _Number(32, "Longest time limit of a job.", unit="minutes")
    min_tres_pj = _Text("Fewest TRES of a job.")

    # Limits of all its jobs
    grp_jobs = _Number(32, "Most running jobs.")
    grp_jobs_accrue = _Number(32, "Most jobs that gain priority by age.")
    grp_submit_jobs = _Number(32, "Most pending and running jobs.")
    grp_tres = _Text("Most TRES of running jobs.")
    grp_tres_mins = _Text("Most TRES minutes.")
    grp_tres_run_mins = _Text("Most TRES minutes that running jobs have left.")
    grp_wall = _Number(32, "Longest run time of all.", unit="minutes")

    # Usage
    accrue_cnt = _Plain(32, "Jobs that gain priority by age.", member="usage.accrue_cnt")
    grp_used_jobs = _Plain(32, "Running jobs.", member="usage.grp_used_jobs")
    grp_used_submit_jobs = _Plain(32, "Pending and running jobs.", member="usage.grp_used_submit_jobs")
    grp_used_tres = _Text("TRES of running jobs.")
    grp_used_wall = Real("Run time of all, decayed.", unit="seconds", member="usage.grp_used_wall")
    usage_raw = Real("Usage, decayed.", unit="billing TRES seconds")


class AssociationFields:
    """An association, ``slurmdb_assoc_rec_t``: of an account, or of a user with it, in a partition or in all.

    Its limits include those that it inherits; limits and usage of a group are of an account and all below it.
    Read-only.
    """

    __slots__ = ()

    # What it is
    account = _Text("The account.", member="acct")
    cluster = _Text("The cluster.")
    comment = _Text("Comment.", since="23.02")
    default_qos = _Text("QOS of jobs that name none.")
    id = _Plain(32, "Its number in the database.")
    is_default = Truth("Of a user's: whether jobs that name no account are charged to it.", member="is_def",
                       writable=False)  # fmt: skip
    lineage = _Text("Its place in the tree, as /account/account/0-user/.", since="23.11")
    min_prio_thresh = _Number(32, "Lowest priority of jobs that resources are reserved for.")
    parent_account = _Text("The account above that of an account; None for a user's.", member="parent_acct")
    parent_id = _Plain(32, "Number of the association above.")
    partition = _Text("The partition; None for all.")
    priority = _Number(32, "What it adds to its jobs' priority.")
    qos = Names("QOS that a user's jobs may have; of an account's none are said.")
    shares_raw = _Plain(32, "Its shares; 0x7fffffff is those of the account above.")
    user = _Text("The user's name; None for an account's.")
    user_id = Identity(32, "The user's number; None for an account's.", member="uid", writable=False)

    # Limits
    grp_jobs = _Number(32, "Most running jobs of the group.")
    grp_jobs_accrue = _Number(32, "Most jobs of the group that gain priority by age.")
    grp_submit_jobs = _Number(32, "Most pending and running jobs of the group.")
    grp_tres = _Text("Most TRES of the group's running jobs.")
    grp_tres_mins = _Text("Most TRES minutes of the group.")
    grp_tres_run_mins = _Text("Most TRES minutes that running jobs of the group have left.")
    grp_wall = _Number(32, "Longest run time of the group's jobs together.", unit="minutes")
    max_jobs = _Number(32, "Most running jobs.")
    max_jobs_accrue = _Number(32, "Most jobs that gain priority by age.")
    max_submit_jobs = _Number(32, "Most pending and running jobs.")
    max_tres_mins_pj = _Text("Most TRES minutes of a job.")
    max_tres_pj = _Text("Most TRES of a job.")
    max_tres_pn = _Text("Most TRES of a job on each node.")
    max_wall_pj = _Number(32, "Longest time limit of a job.", unit="minutes")

    # Usage
    accrue_cnt = _Plain(32, "Jobs that gain priority by age.", member="usage.accrue_cnt")
    fs_factor = Real("Fair-share factor, 0 to 1.", member="usage.fs_factor")
    grp_used_tres = _Text("TRES of the group's running jobs.")
    grp_used_wall = Real("Run time of the group's jobs together, decayed.", unit="seconds",
                         member="usage.grp_used_wall")  # fmt: skip
    shares_norm = Real("Its part of the cluster by shares, 0 to 1.", member="usage.shares_norm")
    usage_efctv = Real("Its part of all usage, as fair share counts it, 0 to 1.")
    usage_norm = Real("Its part of all usage, 0 to 1.")
    usage_raw = Real("Usage, decayed.", unit="billing TRES seconds")
    used_jobs = _Plain(32, "Running jobs of the group.", member="usage.used_jobs")
    used_submit_jobs = _Plain(32, "Pending and running jobs of the group.", member="usage.used_submit_jobs")
