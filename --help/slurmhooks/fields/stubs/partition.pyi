# SPDX-License-Identifier: GPL-2.0-or-later
# Written by tools/stubs.py.
from slurmhooks.fields.constants import PartitionFlag, PartitionState
from slurmhooks.values import Unlimited

class PartitionFields:
    """A partition, ``part_record_t``; read-only."""
    @property
    def allow_accounts(self) -> str | None:
        """Accounts that may use the partition; None: all."""
    @property
    def allow_alloc_nodes(self) -> str | None:
        """Nodes from which jobs may be submitted; None: all."""
    @property
    def allow_groups(self) -> str | None:
        """Groups that may use the partition; None: all."""
    @property
    def allow_qos(self) -> str | None:
        """QOS that may use the partition; None: all."""
    @property
    def alternate(self) -> str | None:
        """Partition to use instead when this one is down."""
    @property
    def billing_weights_str(self) -> str | None:
        """Weights of TRES."""
    @property
    def def_mem_per_cpu(self) -> int | None:
        """Memory per CPU of jobs that request none. In MiB."""
    @property
    def def_mem_per_node(self) -> int | None:
        """Memory per node of jobs that request none; 0: no limit. In MiB."""
    @property
    def default_time(self) -> int | Unlimited | None:
        """Time limit of jobs that request none. In minutes."""
    @property
    def deny_accounts(self) -> str | None:
        """Accounts that may not use the partition."""
    @property
    def deny_qos(self) -> str | None:
        """QOS that may not use the partition."""
    @property
    def flag_default(self) -> bool | None:
        """Whether it is the default partition."""
    @property
    def flags(self) -> PartitionFlag | None:
        """Properties of the partition."""
    @property
    def grace_time(self) -> int | Unlimited | None:
        """Time that preempted jobs have to end. In seconds."""
    @property
    def max_cpus_per_node(self) -> int | Unlimited | None:
        """Maximum number of CPUs per node for all jobs together."""
    @property
    def max_cpus_per_socket(self) -> int | Unlimited | None:
        """Maximum number of CPUs per socket for all jobs together. Since Slurm 23.02."""
    @property
    def max_mem_per_cpu(self) -> int | None:
        """Maximum memory per CPU. In MiB."""
    @property
    def max_mem_per_node(self) -> int | None:
        """Maximum memory per node; 0: no limit. In MiB."""
    @property
    def max_nodes(self) -> int | Unlimited | None:
        """Maximum number of nodes of a job."""
    @property
    def max_nodes_orig(self) -> int | Unlimited | None:
        """Configured maximum number of nodes of a job. Until Slurm 25.11."""
    @property
    def max_oversubscribe(self) -> int | None:
        """Newer name of max_share."""
    @property
    def max_share(self) -> int | None:
        """Number of jobs that may share a resource; highest bit: users cannot prevent it."""
    @property
    def max_time(self) -> int | Unlimited | None:
        """Maximum time limit. In minutes."""
    @property
    def min_nodes(self) -> int | Unlimited | None:
        """Minimum number of nodes of a job."""
    @property
    def min_nodes_orig(self) -> int | Unlimited | None:
        """Configured minimum number of nodes of a job. Until Slurm 25.11."""
    @property
    def name(self) -> str | None:
        """Name of the partition."""
    @property
    def nodes(self) -> str | None:
        """Nodes of the partition, as a node list."""
    @property
    def priority_job_factor(self) -> int | None:
        """Part of the priority of its jobs."""
    @property
    def priority_tier(self) -> int | None:
        """Tier: jobs in partitions of a higher tier are scheduled first."""
    @property
    def qos(self) -> str | None:
        """QOS whose limits apply to the partition."""
    @property
    def state_up(self) -> PartitionState | None:
        """Whether the partition accepts and starts jobs."""
    @property
    def total_cpus(self) -> int | None:
        """Number of CPUs."""
    @property
    def total_nodes(self) -> int | None:
        """Number of nodes."""
    @property
    def tres_fmt_str(self) -> str | None:
        """TRES of the partition, as name=count."""
