# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of a node."""

from __future__ import annotations

from functools import partial

from slurmhooks.fields.constants import NodeState, NodeStateFlag
from slurmhooks.fields.flag_rows import Flag, OneOf
from slurmhooks.fields.number_rows import Identity, Number, Plain, Time
from slurmhooks.fields.rows import Names, Text
from slurmhooks.values import text_to_c

NODE_STATE_BASE = 0xF
NODE_STATE_FLAGS = 0xFFFFFFF0

_Text = partial(Text, writable=False)
_Time = partial(Time, writable=False)
_Number = partial(Number, writable=False)
_Plain = partial(Plain, writable=False)


class _Sets(Names):
    """Names of sets to which a node belongs: a condition is the name of one of them."""

    __slots__ = ()

    def condition(self, value: object) -> bytes:
        """See Field."""
        return text_to_c(self.name, value)


class NodeFields:
    """A node, ``node_record_t``; read-only."""

    __slots__ = ()

    # Properties
    arch = _Text("Architecture of its CPUs.")
    boards = _Plain(16, "Boards.", member="config_ptr.boards")
    comm_name = _Text("Its address (NodeAddr).")
    comment = _Text("Comment.")
    core_spec_cnt = _Plain(16, "Cores reserved for the system.")
    cores = _Plain(16, "Cores per socket.", member="config_ptr.cores")
    cpu_spec_list = _Text("CPUs reserved for the system, as numbers.")
    cpus = _Plain(16, "CPUs.", member="config_ptr.cpus")
    cpus_efctv = _Plain(16, "CPUs that jobs may get: all except those reserved for the system.")
    extra = _Text("Text that Slurm stores and, if so configured, compares with --extra of jobs.")
    features = _Text("Available features, separated by commas.")
    features_act = _Text("Active features.")
    gpu_spec = _Text("Cores that only jobs with GPUs may get.", since="24.05")
    gres = _Text("GRES, such as gpu:tesla:4(S:0-1).")
    instance_id = _Text("Id of the cloud instance.", since="23.11")
    instance_type = _Text("Type of the cloud instance.", since="23.11")
    mem_spec_limit = _Plain(64, "Memory reserved for the system.", unit="MiB")
    name = _Text("Its name.")
    node_hostname = _Text("Its host name.")
    os = _Text("Its operating system.")
    partitions = _Sets("Partitions that it is in.")
    port = _Plain(16, "Port of its slurmd.")
    real_memory = _Plain(64, "Memory.", unit="MiB", member="config_ptr.real_memory")
    res_cores_per_gpu = _Plain(16, "Cores that only jobs with GPUs may get, for each GPU.", since="24.05")
    threads = _Plain(16, "Threads per core.", member="config_ptr.threads")
    tmp_disk = _Plain(32, "Temporary disk space.", unit="MiB", member="config_ptr.tmp_disk")
    topology_str = _Text("Its position in the topology.", since="25.05")
    tot_cores = _Plain(16, "Cores.")
    tot_sockets = _Plain(16, "Sockets.", member="config_ptr.tot_sockets")
    tres_fmt_str = _Text("Its TRES, as name=count.")
    version = _Text("Release of Slurm on it.")
    weight = _Plain(32, "Nodes with lower weights are used first.", member="config_ptr.weight")

    # State
    boot_time = _Time("When it booted; 0: unknown.")
    comp_job_cnt = _Plain(16, "Jobs that are completing.")
    cpu_load = _Number(32, "Load.", unit="hundredths of a CPU")
    free_mem = _Number(64, "Free memory as its operating system reports it, regardless of requests.", unit="MiB")
    gres_used = _Text("GRES in use, such as gpu:tesla:2(IDX:0-1).")
    last_busy = _Time("When the last job ended; 0: unknown.")
    last_response = _Time("When its slurmd last responded.")
    mcs_label = _Text("MCS label of the jobs that share it.")
    no_share_job_cnt = _Plain(16, "Exclusive jobs, which share it with no other.")
    owner = Identity(32, "The only user whose jobs it takes now.", writable=False)
    reason = _Text("Why it is down or drained.")
    reason_time = _Time("When the reason was set.")
    reason_uid = Identity(32, "Who set the reason.", writable=False)
    resume_after = _Time("When it is to be resumed; 0: never.", since="23.02")
    resv_name = _Text("Reservation that it is in now.", since="23.02")
    run_job_cnt = _Plain(16, "Jobs that are running.")
    slurmd_start_time = _Time("When its slurmd was started.")
    state = OneOf(32, NodeState, "State of the node; NODE_STATE_ALLOCATED if any job uses its CPUs.",
                  member="node_state", mask=NODE_STATE_BASE, optional=False, writable=False)  # fmt: skip
    state_flags = Flag(32, NodeStateFlag, "Flags of its state.", member="node_state",
                       mask=NODE_STATE_FLAGS, optional=False, writable=False)  # fmt: skip
    sus_job_cnt = _Plain(16, "Jobs that are suspended.")
