# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of a partition."""

from __future__ import annotations

from slurmhooks.fields.constants import PartitionFlag, PartitionState
from slurmhooks.fields.facts import NO_LUA, R
from slurmhooks.fields.flag_rows import Bit, Flag, OneOf
from slurmhooks.fields.number_rows import Number, Plain, Tagged
from slurmhooks.fields.rows import Text


class PartitionFields:
    """A partition, ``part_record_t``; read-only."""

    __slots__ = ()

    ASKED_FOR = ("lua",)
    """The facts that each row states; see facts.py."""

    allow_accounts = Text("Accounts that may use the partition; None: all.", writable=False, lua=R)
    allow_alloc_nodes = Text("Nodes from which jobs may be submitted; None: all.", writable=False, lua=R)
    allow_groups = Text("Groups that may use the partition; None: all.", writable=False, lua=R)
    allow_qos = Text("QOS that may use the partition; None: all.", writable=False, lua=R)
    alternate = Text("Partition to use instead when this one is down.", writable=False, lua=R)
    billing_weights_str = Text("Weights of TRES.", writable=False, lua=R)
    def_mem_per_cpu = Tagged(64, "Memory per CPU of jobs that request none.", member="def_mem_per_cpu", tagged=True,
                             unit="MiB", writable=False, lua=R)  # fmt: skip
    def_mem_per_node = Tagged(64, "Memory per node of jobs that request none; 0: no limit.", member="def_mem_per_cpu",
                              tagged=False, unit="MiB", writable=False, lua=R)  # fmt: skip
    default_time = Number(32, "Time limit of jobs that request none.", unit="minutes", writable=False, lua=R)
    deny_accounts = Text("Accounts that may not use the partition.", writable=False, lua=R)
    deny_qos = Text("QOS that may not use the partition.", writable=False, lua=R)
    flag_default = Bit(PartitionFlag.PART_FLAG_DEFAULT, "Whether it is the default partition.", member="flags", lua=R)
    flags = Flag(32, PartitionFlag, "Properties of the partition.", optional=False, writable=False, lua=R)
    grace_time = Number(32, "Time that preempted jobs have to end.", unit="seconds", writable=False, lua=NO_LUA)
    max_cpus_per_node = Number(32, "Maximum number of CPUs per node for all jobs together.", writable=False, lua=R)
    max_cpus_per_socket = Number(32, "Maximum number of CPUs per socket for all jobs together.", writable=False,
                                 since="23.02", lua=R.since("23.02"))  # fmt: skip
    max_mem_per_cpu = Tagged(64, "Maximum memory per CPU.", member="max_mem_per_cpu", tagged=True, unit="MiB",
                             writable=False, lua=R)  # fmt: skip
    max_mem_per_node = Tagged(64, "Maximum memory per node; 0: no limit.", member="max_mem_per_cpu", tagged=False,
                              unit="MiB", writable=False, lua=R)  # fmt: skip
    max_nodes = Number(32, "Maximum number of nodes of a job.", writable=False, lua=R)
    max_nodes_orig = Number(32, "Configured maximum number of nodes of a job.", writable=False, until="25.11", lua=R)
    max_oversubscribe = Plain(16, "Newer name of max_share.", member="max_share", writable=False, lua=R)
    max_share = Plain(16, "Number of jobs that may share a resource; highest bit: users cannot prevent it.",
                      writable=False, lua=R)  # fmt: skip
    max_time = Number(32, "Maximum time limit.", unit="minutes", writable=False, lua=R)
    min_nodes = Number(32, "Minimum number of nodes of a job.", writable=False, lua=R)
    min_nodes_orig = Number(32, "Configured minimum number of nodes of a job.", writable=False, until="25.11", lua=R)
    name = Text("Name of the partition.", writable=False, lua=R)
    nodes = Text("Nodes of the partition, as a node list.", writable=False, lua=R)
    priority_job_factor = Plain(16, "Part of the priority of its jobs.", writable=False, lua=R)
    priority_tier = Plain(16, "Tier: jobs in partitions of a higher tier are scheduled first.", writable=False, lua=R)
    qos = Text("QOS whose limits apply to the partition.", member="qos_char", writable=False, lua=R)
    state_up = OneOf(16, PartitionState, "Whether the partition accepts and starts jobs.", optional=False,
                     writable=False, lua=R)  # fmt: skip
    total_cpus = Plain(32, "Number of CPUs.", writable=False, lua=R)
    total_nodes = Plain(32, "Number of nodes.", writable=False, lua=R)
    tres_fmt_str = Text("TRES of the partition, as name=count.", writable=False, lua=NO_LUA)
