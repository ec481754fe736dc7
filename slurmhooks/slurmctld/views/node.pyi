# SPDX-License-Identifier: GPL-2.0-or-later
# Written by tests/typing/stubs.py.
from slurmhooks.slurmctld.constants import NodeState, NodeStateFlag
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
        """Cores left to the system."""
    @property
    def cores(self) -> int | None:
        """Cores in each socket."""
    @property
    def cpu_spec_list(self) -> str | None:
        """CPUs left to the system, as numbers."""
    @property
    def cpus(self) -> int | None:
        """CPUs."""
    @property
    def cpus_efctv(self) -> int | None:
        """CPUs that jobs may get: all but those left to the system."""
    @property
    def extra(self) -> str | None:
        """Text that Slurm keeps and, if so configured, matches with jobs' --extra."""
    @property
    def features(self) -> str | None:
        """Features that it can have, separated by commas."""
    @property
    def features_act(self) -> str | None:
        """Features that it has now."""
    @property
    def gpu_spec(self) -> str | None:
        """Cores that only jobs with GPUs may get. Since Slurm 24.05."""
    @property
    def gres(self) -> str | None:
        """GRES, as gpu:tesla:4(S:0-1)."""
    @property
    def instance_id(self) -> str | None:
        """Id of the cloud's instance. Since Slurm 23.11."""
    @property
    def instance_type(self) -> str | None:
        """Type of the cloud's instance. Since Slurm 23.11."""
    @property
    def mem_spec_limit(self) -> int | None:
        """Memory left to the system. In MiB."""
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
        """Threads of each core."""
    @property
    def tmp_disk(self) -> int | None:
        """Temporary disk space. In MiB."""
    @property
    def topology_str(self) -> str | None:
        """Its place in the topology. Since Slurm 25.05."""
    @property
    def tot_cores(self) -> int | None:
        """Cores."""
    @property
    def tot_sockets(self) -> int | None:
        """Sockets."""
    @property
    def tres_fmt_str(self) -> str | None:
        """What it has, as name=count."""
    @property
    def version(self) -> str | None:
        """Slurm's release on it."""
    @property
    def weight(self) -> int | None:
        """Nodes of a lower one are used first."""
    @property
    def boot_time(self) -> int | None:
        """When it booted; 0 if that is not known. In seconds since the epoch."""
    @property
    def comp_job_cnt(self) -> int | None:
        """Jobs that are completing."""
    @property
    def cpu_load(self) -> int | Unlimited | None:
        """Load. In hundredths of a CPU."""
    @property
    def free_mem(self) -> int | Unlimited | None:
        """Memory that its system has free, whatever jobs have asked for. In MiB."""
    @property
    def gres_used(self) -> str | None:
        """GRES that jobs have, as gpu:tesla:2(IDX:0-1)."""
    @property
    def last_busy(self) -> int | None:
        """When the last job ended; 0 if that is not known. In seconds since the epoch."""
    @property
    def last_response(self) -> int | None:
        """When its slurmd was last heard of. In seconds since the epoch."""
    @property
    def mcs_label(self) -> str | None:
        """Label of the jobs that it is shared by."""
    @property
    def no_share_job_cnt(self) -> int | None:
        """Jobs that share it with no other."""
    @property
    def owner(self) -> int | None:
        """The only user whose jobs it takes now."""
    @property
    def reason(self) -> str | None:
        """Why it is down or drained."""
    @property
    def reason_time(self) -> int | None:
        """When that was said. In seconds since the epoch."""
    @property
    def reason_uid(self) -> int | None:
        """Who said that."""
    @property
    def resume_after(self) -> int | None:
        """When it is to be resumed; 0 for never. In seconds since the epoch. Since Slurm 23.02."""
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
        """What it does; NODE_STATE_ALLOCATED where any job has CPUs of it."""
    @property
    def state_flags(self) -> NodeStateFlag | None:
        """What else is going on with it."""
    @property
    def sus_job_cnt(self) -> int | None:
        """Jobs that are suspended."""
