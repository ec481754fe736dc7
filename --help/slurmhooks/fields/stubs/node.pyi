# SPDX-License-Identifier: GPL-2.0-or-later
# Written by tools/stubs.py.
from slurmhooks.fields.constants import NodeState, NodeStateFlag
from slurmhooks.values import Unlimited

class NodeFields:
    """A node, ``node_record_t``; read-only."""
    @property
    def arch(self) -> str | None:
        """Architecture of its CPUs."""
    @property
    def boards(self) -> int | None:
        """Boards."""
    @property
    def comm_name(self) -> str | None:
        """Its address (NodeAddr)."""
    @property
    def comment(self) -> str | None:
        """Comment."""
    @property
    def core_spec_cnt(self) -> int | None:
        """Cores reserved for the system."""
    @property
    def cores(self) -> int | None:
        """Cores per socket."""
    @property
    def cpu_spec_list(self) -> str | None:
        """CPUs reserved for the system, as numbers."""
    @property
    def cpus(self) -> int | None:
        """CPUs."""
    @property
    def cpus_efctv(self) -> int | None:
        """CPUs that jobs may get: all except those reserved for the system."""
    @property
    def extra(self) -> str | None:
        """Text that Slurm stores and, if so configured, compares with --extra of jobs."""
    @property
    def features(self) -> str | None:
        """Available features, separated by commas."""
    @property
    def features_act(self) -> str | None:
        """Active features."""
    @property
    def gpu_spec(self) -> str | None:
        """Cores that only jobs with GPUs may get. Since Slurm 24.05."""
    @property
    def gres(self) -> str | None:
        """GRES, such as gpu:tesla:4(S:0-1)."""
    @property
    def instance_id(self) -> str | None:
        """Id of the cloud instance. Since Slurm 23.11."""
    @property
    def instance_type(self) -> str | None:
        """Type of the cloud instance. Since Slurm 23.11."""
    @property
    def mem_spec_limit(self) -> int | None:
        """Memory reserved for the system. In MiB."""
    @property
    def name(self) -> str | None:
        """Its name."""
    @property
    def node_hostname(self) -> str | None:
        """Its host name."""
    @property
    def os(self) -> str | None:
        """Its operating system."""
    @property
    def partitions(self) -> list[str]:
        """Partitions that it is in."""
    @property
    def port(self) -> int | None:
        """Port of its slurmd."""
    @property
    def real_memory(self) -> int | None:
        """Memory. In MiB."""
    @property
    def res_cores_per_gpu(self) -> int | None:
        """Cores that only jobs with GPUs may get, for each GPU. Since Slurm 24.05."""
    @property
    def threads(self) -> int | None:
        """Threads per core."""
    @property
    def tmp_disk(self) -> int | None:
        """Temporary disk space. In MiB."""
    @property
    def topology_str(self) -> str | None:
        """Its position in the topology. Since Slurm 25.05."""
    @property
    def tot_cores(self) -> int | None:
        """Cores."""
    @property
    def tot_sockets(self) -> int | None:
        """Sockets."""
    @property
    def tres_fmt_str(self) -> str | None:
        """Its TRES, as name=count."""
    @property
    def version(self) -> str | None:
        """Release of Slurm on it."""
    @property
    def weight(self) -> int | None:
        """Nodes with lower weights are used first."""
    @property
    def boot_time(self) -> int | None:
        """When it booted; 0: unknown. In seconds since the epoch."""
    @property
    def comp_job_cnt(self) -> int | None:
        """Jobs that are completing."""
    @property
    def cpu_load(self) -> int | Unlimited | None:
        """Load. In hundredths of a CPU."""
    @property
    def free_mem(self) -> int | Unlimited | None:
        """Free memory as its operating system reports it, regardless of requests. In MiB."""
    @property
    def gres_used(self) -> str | None:
        """GRES in use, such as gpu:tesla:2(IDX:0-1)."""
    @property
    def last_busy(self) -> int | None:
        """When the last job ended; 0: unknown. In seconds since the epoch."""
    @property
    def last_response(self) -> int | None:
        """When its slurmd last responded. In seconds since the epoch."""
    @property
    def mcs_label(self) -> str | None:
        """MCS label of the jobs that share it."""
    @property
    def no_share_job_cnt(self) -> int | None:
        """Exclusive jobs, which share it with no other."""
    @property
    def owner(self) -> int | None:
        """The only user whose jobs it takes now."""
    @property
    def reason(self) -> str | None:
        """Why it is down or drained."""
    @property
    def reason_time(self) -> int | None:
        """When the reason was set. In seconds since the epoch."""
    @property
    def reason_uid(self) -> int | None:
        """Who set the reason."""
    @property
    def resume_after(self) -> int | None:
        """When it is to be resumed; 0: never. In seconds since the epoch. Since Slurm 23.02."""
    @property
    def resv_name(self) -> str | None:
        """Reservation that it is in now. Since Slurm 23.02."""
    @property
    def run_job_cnt(self) -> int | None:
        """Jobs that are running."""
    @property
    def slurmd_start_time(self) -> int | None:
        """When its slurmd was started. In seconds since the epoch."""
    @property
    def state(self) -> NodeState | None:
        """State of the node; NODE_STATE_ALLOCATED if any job uses its CPUs."""
    @property
    def state_flags(self) -> NodeStateFlag | None:
        """Flags of its state."""
    @property
    def sus_job_cnt(self) -> int | None:
        """Jobs that are suspended."""
