# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of a partition."""

from __future__ import annotations

from slurmhooks.job_submit.constants import PartitionFlag, PartitionState
from slurmhooks.job_submit.flag_rows import Bit, Flag, OneOf
from slurmhooks.job_submit.number_rows import Number, Plain, Tagged
from slurmhooks.job_submit.rows import Text


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
