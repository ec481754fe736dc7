# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of a node."""

from __future__ import annotations

from functools import partial

from slurmhooks.slurmctld.constants import NodeState, NodeStateFlag
from slurmhooks.slurmctld.flag_rows import Flag, OneOf
from slurmhooks.slurmctld.number_rows import Identity, Number, Plain, Time
from slurmhooks.slurmctld.rows import Names, Text

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
