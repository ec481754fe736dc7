# SPDX-License-Identifier: GPL-2.0-or-later
# Written by tools/stubs.py.
from slurmhooks.fields.constants import AllocHold, CpuBind, CpuFreq, JobFlag, MailType, MemBind, OpenMode, PowerFlag, Profile, Shared, TaskDist, TaskDistFlag, WarnFlag, X11Flag
from slurmhooks.values import Unlimited

class JobFields:
    """``job``: the request, ``job_desc_msg_t`` of slurm.h.

    Fields about the request itself (who sent it, where answers go) are read-only, and so are the counters, which
    follow their arrays.
    """
    @property
    def account(self) -> str | None:
        """Account to charge, in lower case, as slurmctld will write it."""
    @account.setter
    def account(self, value: str | None) -> None:
        """Account to charge, in lower case, as slurmctld will write it."""
    @property
    def admin_comment(self) -> str | None:
        """Comment that only administrators may write."""
    @admin_comment.setter
    def admin_comment(self, value: str | None) -> None:
        """Comment that only administrators may write."""
    @property
    def assoc_comment(self) -> str | None:
        """Comment of the association of user, account and partition; None before 23.02."""
    @property
    def assoc_qos(self) -> str | None:
        """Names of all QOS that this association may use, separated by commas."""
    @property
    def charged_account(self) -> str | None:
        """Account that slurmctld will charge, which need not be the named one."""
    @property
    def comment(self) -> str | None:
        """Comment of the user."""
    @comment.setter
    def comment(self, value: str | None) -> None:
        """Comment of the user."""
    @property
    def default_account(self) -> str | None:
        """Account that is charged if the request names none."""
    @property
    def default_partition(self) -> str | None:
        """Partition if the request names none: that of its reservation, or the default."""
    @property
    def default_qos(self) -> str | None:
        """QOS that Slurm chooses if the request names none."""
    @property
    def extra(self) -> str | None:
        """Text that Slurm stores and may compare with that of nodes (--extra)."""
    @extra.setter
    def extra(self, value: str | None) -> None:
        """Text that Slurm stores and may compare with that of nodes (--extra)."""
    @property
    def group_id(self) -> int | None:
        """Group that the job runs as."""
    @property
    def group_name(self) -> str | None:
        """Name of the group."""
    @property
    def groups(self) -> dict[str, int]:
        """All groups of the user: group ids by name."""
    @property
    def mcs_label(self) -> str | None:
        """Label for sharing nodes (--mcs-label)."""
    @mcs_label.setter
    def mcs_label(self, value: str | None) -> None:
        """Label for sharing nodes (--mcs-label)."""
    @property
    def qos(self) -> str | None:
        """Quality of service."""
    @qos.setter
    def qos(self, value: str | None) -> None:
        """Quality of service."""
    @property
    def reservation(self) -> str | None:
        """Reservations to use, separated by commas."""
    @reservation.setter
    def reservation(self, value: str | None) -> None:
        """Reservations to use, separated by commas."""
    @property
    def user_id(self) -> int | None:
        """User that the job runs as."""
    @property
    def user_name(self) -> str | None:
        """Name of the user."""
    @property
    def wckey(self) -> str | None:
        """Workload characterization key, in lower case."""
    @wckey.setter
    def wckey(self, value: str | None) -> None:
        """Workload characterization key, in lower case."""
    @property
    def acctg_freq(self) -> str | None:
        """Sampling intervals of accounting: type=seconds, separated by commas."""
    @acctg_freq.setter
    def acctg_freq(self, value: str | None) -> None:
        """Sampling intervals of accounting: type=seconds, separated by commas."""
    @property
    def argc(self) -> int | None:
        """Number of the script's arguments, including its name."""
    @property
    def array_inx(self) -> str | None:
        """Tasks of a job array, such as 0-10:2%3 (see strings.ArraySpec)."""
    @array_inx.setter
    def array_inx(self, value: str | None) -> None:
        """Tasks of a job array, such as 0-10:2%3 (see strings.ArraySpec)."""
    @property
    def burst_buffer(self) -> str | None:
        """Burst buffer directives."""
    @burst_buffer.setter
    def burst_buffer(self, value: str | None) -> None:
        """Burst buffer directives."""
    @property
    def container(self) -> str | None:
        """OCI bundle to run in."""
    @container.setter
    def container(self, value: str | None) -> None:
        """OCI bundle to run in."""
    @property
    def container_id(self) -> str | None:
        """Name for the container. Since Slurm 23.02."""
    @container_id.setter
    def container_id(self, value: str | None) -> None:
        """Name for the container. Since Slurm 23.02."""
    @property
    def container_type(self) -> str | None:
        """Container plugin to run it with. Since Slurm 26.05. Until Slurm 26.05."""
    @container_type.setter
    def container_type(self, value: str | None) -> None:
        """Container plugin to run it with. Since Slurm 26.05. Until Slurm 26.05."""
    @property
    def env_size(self) -> int | None:
        """Number of variables in the environment."""
    @property
    def name(self) -> str | None:
        """Name of the job."""
    @name.setter
    def name(self, value: str | None) -> None:
        """Name of the job."""
    @property
    def runtime(self) -> str | None:
        """Runtime plugin to run it with, such as runtime/oci. Since Slurm 26.11."""
    @runtime.setter
    def runtime(self, value: str | None) -> None:
        """Runtime plugin to run it with, such as runtime/oci. Since Slurm 26.11."""
    @property
    def script(self) -> str | None:
        """The batch script; None for srun and salloc."""
    @script.setter
    def script(self, value: str | None) -> None:
        """The batch script; None for srun and salloc."""
    @property
    def spank_job_env_size(self) -> int | None:
        """Number of variables in spank_job_env."""
    @property
    def submit_line(self) -> str | None:
        """The command line of the user."""
    @submit_line.setter
    def submit_line(self, value: str | None) -> None:
        """The command line of the user."""
    @property
    def work_dir(self) -> str | None:
        """Working directory."""
    @work_dir.setter
    def work_dir(self, value: str | None) -> None:
        """Working directory."""
    @property
    def batch_features(self) -> str | None:
        """Features that the node of the batch script must have."""
    @batch_features.setter
    def batch_features(self, value: str | None) -> None:
        """Features that the node of the batch script must have."""
    @property
    def cluster_features(self) -> str | None:
        """Features that a cluster must have, for jobs sent to several clusters."""
    @cluster_features.setter
    def cluster_features(self, value: str | None) -> None:
        """Features that a cluster must have, for jobs sent to several clusters."""
    @property
    def clusters(self) -> str | None:
        """Clusters on which the job may run, separated by commas."""
    @clusters.setter
    def clusters(self, value: str | None) -> None:
        """Clusters on which the job may run, separated by commas."""
    @property
    def contiguous(self) -> int | Unlimited | None:
        """1: the nodes must be adjacent."""
    @contiguous.setter
    def contiguous(self, value: int | Unlimited | None) -> None:
        """1: the nodes must be adjacent."""
    @property
    def exc_nodes(self) -> str | None:
        """Nodes not to use, as a node list."""
    @exc_nodes.setter
    def exc_nodes(self, value: str | None) -> None:
        """Nodes not to use, as a node list."""
    @property
    def features(self) -> str | None:
        """Features that nodes must have (--constraint)."""
    @features.setter
    def features(self, value: str | None) -> None:
        """Features that nodes must have (--constraint)."""
    @property
    def network(self) -> str | None:
        """Requirements on the interconnect."""
    @network.setter
    def network(self, value: str | None) -> None:
        """Requirements on the interconnect."""
    @property
    def oversubscribe(self) -> Shared | None:
        """Newer name of shared."""
    @oversubscribe.setter
    def oversubscribe(self, value: Shared | None) -> None:
        """Newer name of shared."""
    @property
    def partition(self) -> str | None:
        """Partitions, separated by commas; None: the default partition."""
    @partition.setter
    def partition(self, value: str | None) -> None:
        """Partitions, separated by commas; None: the default partition."""
    @property
    def prefer(self) -> str | None:
        """Features that nodes should have."""
    @prefer.setter
    def prefer(self, value: str | None) -> None:
        """Features that nodes should have."""
    @property
    def reboot(self) -> int | Unlimited | None:
        """1: boot the nodes before the job starts."""
    @reboot.setter
    def reboot(self, value: int | Unlimited | None) -> None:
        """1: boot the nodes before the job starts."""
    @property
    def req_nodes(self) -> str | None:
        """Nodes that the job must get, as a node list."""
    @req_nodes.setter
    def req_nodes(self, value: str | None) -> None:
        """Nodes that the job must get, as a node list."""
    @property
    def req_switch(self) -> int | Unlimited | None:
        """Maximum number of leaf switches."""
    @req_switch.setter
    def req_switch(self, value: int | Unlimited | None) -> None:
        """Maximum number of leaf switches."""
    @property
    def segment_size(self) -> int | Unlimited | None:
        """Nodes in each segment, with topology/block. Since Slurm 24.05."""
    @segment_size.setter
    def segment_size(self, value: int | Unlimited | None) -> None:
        """Nodes in each segment, with topology/block. Since Slurm 24.05."""
    @property
    def shared(self) -> Shared | None:
        """With whom the nodes are shared."""
    @shared.setter
    def shared(self, value: Shared | None) -> None:
        """With whom the nodes are shared."""
    @property
    def wait4switch(self) -> int | Unlimited | None:
        """How long to wait for that number of switches. In seconds."""
    @wait4switch.setter
    def wait4switch(self, value: int | Unlimited | None) -> None:
        """How long to wait for that number of switches. In seconds."""
    @property
    def boards_per_node(self) -> int | Unlimited | None:
        """Minimum number of boards per node."""
    @boards_per_node.setter
    def boards_per_node(self, value: int | Unlimited | None) -> None:
        """Minimum number of boards per node."""
    @property
    def core_spec(self) -> int | None:
        """Cores per node reserved for the system; None if threads are."""
    @core_spec.setter
    def core_spec(self, value: int | None) -> None:
        """Cores per node reserved for the system; None if threads are."""
    @property
    def cores_per_socket(self) -> int | Unlimited | None:
        """Minimum number of cores per socket."""
    @cores_per_socket.setter
    def cores_per_socket(self, value: int | Unlimited | None) -> None:
        """Minimum number of cores per socket."""
    @property
    def cpus_per_task(self) -> int | Unlimited | None:
        """CPUs per task; Slurm allocates by min_cpus, pn_min_cpus and tres_per_task, too."""
    @cpus_per_task.setter
    def cpus_per_task(self, value: int | Unlimited | None) -> None:
        """CPUs per task; Slurm allocates by min_cpus, pn_min_cpus and tres_per_task, too."""
    @property
    def job_size_str(self) -> str | None:
        """Acceptable numbers of nodes, such as 1,4-8:2 (--nodes). Since Slurm 23.02."""
    @job_size_str.setter
    def job_size_str(self, value: str | None) -> None:
        """Acceptable numbers of nodes, such as 1,4-8:2 (--nodes). Since Slurm 23.02."""
    @property
    def max_cpus(self) -> int | Unlimited | None:
        """Maximum number of CPUs."""
    @max_cpus.setter
    def max_cpus(self, value: int | Unlimited | None) -> None:
        """Maximum number of CPUs."""
    @property
    def max_nodes(self) -> int | Unlimited | None:
        """Maximum number of nodes."""
    @max_nodes.setter
    def max_nodes(self, value: int | Unlimited | None) -> None:
        """Maximum number of nodes."""
    @property
    def min_cpus(self) -> int | Unlimited | None:
        """Minimum number of CPUs."""
    @min_cpus.setter
    def min_cpus(self, value: int | Unlimited | None) -> None:
        """Minimum number of CPUs."""
    @property
    def min_nodes(self) -> int | Unlimited | None:
        """Minimum number of nodes."""
    @min_nodes.setter
    def min_nodes(self, value: int | Unlimited | None) -> None:
        """Minimum number of nodes."""
    @property
    def ntasks_per_board(self) -> int | Unlimited | None:
        """Maximum number of tasks per board."""
    @ntasks_per_board.setter
    def ntasks_per_board(self, value: int | Unlimited | None) -> None:
        """Maximum number of tasks per board."""
    @property
    def ntasks_per_core(self) -> int | Unlimited | None:
        """Maximum number of tasks per core."""
    @ntasks_per_core.setter
    def ntasks_per_core(self, value: int | Unlimited | None) -> None:
        """Maximum number of tasks per core."""
    @property
    def ntasks_per_gpu(self) -> int | Unlimited | None:
        """Older name of ntasks_per_tres."""
    @ntasks_per_gpu.setter
    def ntasks_per_gpu(self, value: int | Unlimited | None) -> None:
        """Older name of ntasks_per_tres."""
    @property
    def ntasks_per_node(self) -> int | Unlimited | None:
        """Number of tasks per node."""
    @ntasks_per_node.setter
    def ntasks_per_node(self, value: int | Unlimited | None) -> None:
        """Number of tasks per node."""
    @property
    def ntasks_per_socket(self) -> int | Unlimited | None:
        """Maximum number of tasks per socket."""
    @ntasks_per_socket.setter
    def ntasks_per_socket(self, value: int | Unlimited | None) -> None:
        """Maximum number of tasks per socket."""
    @property
    def ntasks_per_tres(self) -> int | Unlimited | None:
        """Number of tasks per GPU."""
    @ntasks_per_tres.setter
    def ntasks_per_tres(self, value: int | Unlimited | None) -> None:
        """Number of tasks per GPU."""
    @property
    def num_tasks(self) -> int | Unlimited | None:
        """Number of tasks."""
    @num_tasks.setter
    def num_tasks(self, value: int | Unlimited | None) -> None:
        """Number of tasks."""
    @property
    def overcommit(self) -> int | Unlimited | None:
        """1: several tasks may share a CPU."""
    @overcommit.setter
    def overcommit(self, value: int | Unlimited | None) -> None:
        """1: several tasks may share a CPU."""
    @property
    def plane_size(self) -> int | Unlimited | None:
        """Tasks per block, for SLURM_DIST_PLANE."""
    @plane_size.setter
    def plane_size(self, value: int | Unlimited | None) -> None:
        """Tasks per block, for SLURM_DIST_PLANE."""
    @property
    def pn_min_cpus(self) -> int | Unlimited | None:
        """Minimum number of CPUs per node."""
    @pn_min_cpus.setter
    def pn_min_cpus(self, value: int | Unlimited | None) -> None:
        """Minimum number of CPUs per node."""
    @property
    def sockets_per_board(self) -> int | Unlimited | None:
        """Minimum number of sockets per board."""
    @sockets_per_board.setter
    def sockets_per_board(self, value: int | Unlimited | None) -> None:
        """Minimum number of sockets per board."""
    @property
    def sockets_per_node(self) -> int | Unlimited | None:
        """Minimum number of sockets per node."""
    @sockets_per_node.setter
    def sockets_per_node(self, value: int | Unlimited | None) -> None:
        """Minimum number of sockets per node."""
    @property
    def thread_spec(self) -> int | None:
        """Threads per node reserved for the system; None if cores are."""
    @thread_spec.setter
    def thread_spec(self, value: int | None) -> None:
        """Threads per node reserved for the system; None if cores are."""
    @property
    def threads_per_core(self) -> int | Unlimited | None:
        """Threads to use per core."""
    @threads_per_core.setter
    def threads_per_core(self, value: int | Unlimited | None) -> None:
        """Threads to use per core."""
    @property
    def cpus_per_tres(self) -> str | None:
        """CPUs per TRES, such as gres/gpu:2."""
    @cpus_per_tres.setter
    def cpus_per_tres(self, value: str | None) -> None:
        """CPUs per TRES, such as gres/gpu:2."""
    @property
    def gres(self) -> str | None:
        """Older name of tres_per_node; assigned values need no 'gres/'."""
    @gres.setter
    def gres(self, value: str | None) -> None:
        """Older name of tres_per_node; assigned values need no 'gres/'."""
    @property
    def licenses(self) -> str | None:
        """Licenses that the job needs."""
    @licenses.setter
    def licenses(self, value: str | None) -> None:
        """Licenses that the job needs."""
    @property
    def licenses_tot(self) -> str | None:
        """All licenses, including those requested as TRES; unset at submission. Since Slurm 23.02."""
    @property
    def mem_per_tres(self) -> str | None:
        """Memory per TRES in MiB, such as gres/gpu:1024."""
    @mem_per_tres.setter
    def mem_per_tres(self, value: str | None) -> None:
        """Memory per TRES in MiB, such as gres/gpu:1024."""
    @property
    def mem_update_delay(self) -> int | Unlimited | None:
        """Delay before unused memory is reclaimed. In minutes. Since Slurm 26.05."""
    @mem_update_delay.setter
    def mem_update_delay(self, value: int | Unlimited | None) -> None:
        """Delay before unused memory is reclaimed. In minutes. Since Slurm 26.05."""
    @property
    def mem_update_margin(self) -> int | Unlimited | None:
        """Unused memory that is not reclaimed. In percent. Since Slurm 26.05."""
    @mem_update_margin.setter
    def mem_update_margin(self, value: int | Unlimited | None) -> None:
        """Unused memory that is not reclaimed. In percent. Since Slurm 26.05."""
    @property
    def min_mem_per_cpu(self) -> int | None:
        """Memory per CPU; None if requested per node. In MiB."""
    @min_mem_per_cpu.setter
    def min_mem_per_cpu(self, value: int | None) -> None:
        """Memory per CPU; None if requested per node. In MiB."""
    @property
    def min_mem_per_node(self) -> int | None:
        """Memory per node; None if requested per CPU. In MiB."""
    @min_mem_per_node.setter
    def min_mem_per_node(self, value: int | None) -> None:
        """Memory per node; None if requested per CPU. In MiB."""
    @property
    def pn_min_memory(self) -> int | Unlimited | None:
        """The two above as one number: per CPU if the highest bit is set. In MiB."""
    @pn_min_memory.setter
    def pn_min_memory(self, value: int | Unlimited | None) -> None:
        """The two above as one number: per CPU if the highest bit is set. In MiB."""
    @property
    def pn_min_tmp_disk(self) -> int | Unlimited | None:
        """Minimum temporary disk space per node. In MiB."""
    @pn_min_tmp_disk.setter
    def pn_min_tmp_disk(self, value: int | Unlimited | None) -> None:
        """Minimum temporary disk space per node. In MiB."""
    @property
    def tres_bind(self) -> str | None:
        """How tasks are bound to TRES."""
    @tres_bind.setter
    def tres_bind(self, value: str | None) -> None:
        """How tasks are bound to TRES."""
    @property
    def tres_freq(self) -> str | None:
        """Frequencies of TRES."""
    @tres_freq.setter
    def tres_freq(self, value: str | None) -> None:
        """Frequencies of TRES."""
    @property
    def tres_per_job(self) -> str | None:
        """TRES of the whole job (see strings.Tres)."""
    @tres_per_job.setter
    def tres_per_job(self, value: str | None) -> None:
        """TRES of the whole job (see strings.Tres)."""
    @property
    def tres_per_node(self) -> str | None:
        """TRES per node."""
    @tres_per_node.setter
    def tres_per_node(self, value: str | None) -> None:
        """TRES per node."""
    @property
    def tres_per_socket(self) -> str | None:
        """TRES per socket."""
    @tres_per_socket.setter
    def tres_per_socket(self, value: str | None) -> None:
        """TRES per socket."""
    @property
    def tres_per_task(self) -> str | None:
        """TRES per task."""
    @tres_per_task.setter
    def tres_per_task(self, value: str | None) -> None:
        """TRES per task."""
    @property
    def begin_time(self) -> int | None:
        """Earliest start; 0: now. In seconds since the epoch."""
    @begin_time.setter
    def begin_time(self, value: int | None) -> None:
        """Earliest start; 0: now. In seconds since the epoch."""
    @property
    def deadline(self) -> int | None:
        """Remove the job if it cannot end by this time; 0: no deadline. In seconds since the epoch."""
    @deadline.setter
    def deadline(self, value: int | None) -> None:
        """Remove the job if it cannot end by this time; 0: no deadline. In seconds since the epoch."""
    @property
    def delay_boot(self) -> int | Unlimited | None:
        """How long to wait for nodes that need no reboot. In seconds."""
    @delay_boot.setter
    def delay_boot(self, value: int | Unlimited | None) -> None:
        """How long to wait for nodes that need no reboot. In seconds."""
    @property
    def dependency(self) -> str | None:
        """Jobs to wait for (see strings.Dependencies)."""
    @dependency.setter
    def dependency(self, value: str | None) -> None:
        """Jobs to wait for (see strings.Dependencies)."""
    @property
    def end_time(self) -> int | None:
        """When the job must end, in updates; 0: unset. In seconds since the epoch."""
    @end_time.setter
    def end_time(self, value: int | None) -> None:
        """When the job must end, in updates; 0: unset. In seconds since the epoch."""
    @property
    def immediate(self) -> int | Unlimited | None:
        """1: start at once or fail."""
    @immediate.setter
    def immediate(self, value: int | Unlimited | None) -> None:
        """1: start at once or fail."""
    @property
    def nice(self) -> int | None:
        """Adjustment of the priority; positive numbers lower it."""
    @nice.setter
    def nice(self, value: int | None) -> None:
        """Adjustment of the priority; positive numbers lower it."""
    @property
    def priority(self) -> int | Unlimited | None:
        """Priority; 0 holds the job."""
    @priority.setter
    def priority(self, value: int | Unlimited | None) -> None:
        """Priority; 0 holds the job."""
    @property
    def site_factor(self) -> int | None:
        """Part of the priority that only plugins set."""
    @site_factor.setter
    def site_factor(self, value: int | None) -> None:
        """Part of the priority that only plugins set."""
    @property
    def time_limit(self) -> int | Unlimited | None:
        """Time limit. In minutes."""
    @time_limit.setter
    def time_limit(self, value: int | Unlimited | None) -> None:
        """Time limit. In minutes."""
    @property
    def time_min(self) -> int | Unlimited | None:
        """Minimum time limit that the user accepts. In minutes."""
    @time_min.setter
    def time_min(self, value: int | Unlimited | None) -> None:
        """Minimum time limit that the user accepts. In minutes."""
    @property
    def wait_all_nodes(self) -> int | Unlimited | None:
        """1: start only when all nodes have booted."""
    @wait_all_nodes.setter
    def wait_all_nodes(self, value: int | Unlimited | None) -> None:
        """1: start only when all nodes have booted."""
    @property
    def alloc_sid(self) -> AllocHold | None:
        """Session id of the client; in an update that holds the job, who holds it."""
    @alloc_sid.setter
    def alloc_sid(self, value: AllocHold | None) -> None:
        """Session id of the client; in an update that holds the job, who holds it."""
    @property
    def bitflags(self) -> JobFlag | None:
        """Properties of the job."""
    @bitflags.setter
    def bitflags(self, value: JobFlag | None) -> None:
        """Properties of the job."""
    @property
    def cron_job(self) -> bool | None:
        """Whether the job comes from scrontab."""
    @property
    def kill_on_node_fail(self) -> int | Unlimited | None:
        """0: the job continues when a node fails."""
    @kill_on_node_fail.setter
    def kill_on_node_fail(self, value: int | Unlimited | None) -> None:
        """0: the job continues when a node fails."""
    @property
    def mail_type(self) -> MailType | None:
        """Events on which Slurm sends mail."""
    @mail_type.setter
    def mail_type(self, value: MailType | None) -> None:
        """Events on which Slurm sends mail."""
    @property
    def mail_user(self) -> str | None:
        """Recipient of mail."""
    @mail_user.setter
    def mail_user(self, value: str | None) -> None:
        """Recipient of mail."""
    @property
    def oom_kill_step(self) -> int | Unlimited | None:
        """1: a task that runs out of memory ends its step. Since Slurm 24.11."""
    @oom_kill_step.setter
    def oom_kill_step(self, value: int | Unlimited | None) -> None:
        """1: a task that runs out of memory ends its step. Since Slurm 24.11."""
    @property
    def power_flags(self) -> PowerFlag | None:
        """Power management. Until Slurm 23.11."""
    @power_flags.setter
    def power_flags(self, value: PowerFlag | None) -> None:
        """Power management. Until Slurm 23.11."""
    @property
    def profile(self) -> Profile | None:
        """What to profile."""
    @profile.setter
    def profile(self, value: Profile | None) -> None:
        """What to profile."""
    @property
    def requeue(self) -> int | Unlimited | None:
        """1: the job may be requeued."""
    @requeue.setter
    def requeue(self, value: int | Unlimited | None) -> None:
        """1: the job may be requeued."""
    @property
    def restart_cnt(self) -> int | None:
        """How often the job was restarted."""
    @property
    def resv_port_cnt(self) -> int | Unlimited | None:
        """Ports to reserve on each node, for MPI. Since Slurm 24.05."""
    @resv_port_cnt.setter
    def resv_port_cnt(self, value: int | Unlimited | None) -> None:
        """Ports to reserve on each node, for MPI. Since Slurm 24.05."""
    @property
    def warn_flags(self) -> WarnFlag | None:
        """Who gets the signal before the end of the job."""
    @warn_flags.setter
    def warn_flags(self, value: WarnFlag | None) -> None:
        """Who gets the signal before the end of the job."""
    @property
    def warn_signal(self) -> int | None:
        """Signal before the end of the job; 0: none."""
    @warn_signal.setter
    def warn_signal(self, value: int | None) -> None:
        """Signal before the end of the job; 0: none."""
    @property
    def warn_time(self) -> int | None:
        """How long before the end of the job the signal is sent. In seconds."""
    @warn_time.setter
    def warn_time(self, value: int | None) -> None:
        """How long before the end of the job the signal is sent. In seconds."""
    @property
    def open_mode(self) -> OpenMode | None:
        """What happens to an existing output file; 0: the default of the site."""
    @open_mode.setter
    def open_mode(self, value: OpenMode | None) -> None:
        """What happens to an existing output file; 0: the default of the site."""
    @property
    def std_err(self) -> str | None:
        """File for standard error."""
    @std_err.setter
    def std_err(self, value: str | None) -> None:
        """File for standard error."""
    @property
    def std_in(self) -> str | None:
        """File for standard input."""
    @std_in.setter
    def std_in(self, value: str | None) -> None:
        """File for standard input."""
    @property
    def std_out(self) -> str | None:
        """File for standard output."""
    @std_out.setter
    def std_out(self, value: str | None) -> None:
        """File for standard output."""
    @property
    def x11(self) -> X11Flag | None:
        """Which nodes get X11 forwarding."""
    @x11.setter
    def x11(self, value: X11Flag | None) -> None:
        """Which nodes get X11 forwarding."""
    @property
    def x11_magic_cookie(self) -> str | None:
        """Authentication cookie of the user's X server."""
    @property
    def x11_target(self) -> str | None:
        """Host of the user's X server, or its socket."""
    @property
    def x11_target_port(self) -> int | None:
        """Port of the user's X server; 0: a socket."""
    @property
    def cpu_bind(self) -> str | None:
        """Map or mask for CpuBind.CPU_BIND_MAP and CPU_BIND_MASK."""
    @cpu_bind.setter
    def cpu_bind(self, value: str | None) -> None:
        """Map or mask for CpuBind.CPU_BIND_MAP and CPU_BIND_MASK."""
    @property
    def cpu_bind_type(self) -> CpuBind | None:
        """How tasks are bound to CPUs."""
    @cpu_bind_type.setter
    def cpu_bind_type(self, value: CpuBind | None) -> None:
        """How tasks are bound to CPUs."""
    @property
    def cpu_freq_gov(self) -> CpuFreq | None:
        """Frequency governor of the CPUs."""
    @cpu_freq_gov.setter
    def cpu_freq_gov(self, value: CpuFreq | None) -> None:
        """Frequency governor of the CPUs."""
    @property
    def cpu_freq_max(self) -> CpuFreq | None:
        """Maximum frequency of the CPUs, in kHz or named."""
    @cpu_freq_max.setter
    def cpu_freq_max(self, value: CpuFreq | None) -> None:
        """Maximum frequency of the CPUs, in kHz or named."""
    @property
    def cpu_freq_min(self) -> CpuFreq | None:
        """Minimum frequency of the CPUs, in kHz or named."""
    @cpu_freq_min.setter
    def cpu_freq_min(self, value: CpuFreq | None) -> None:
        """Minimum frequency of the CPUs, in kHz or named."""
    @property
    def mem_bind(self) -> str | None:
        """Map or mask for MemBind.MEM_BIND_MAP and MEM_BIND_MASK."""
    @mem_bind.setter
    def mem_bind(self, value: str | None) -> None:
        """Map or mask for MemBind.MEM_BIND_MAP and MEM_BIND_MASK."""
    @property
    def mem_bind_type(self) -> MemBind | None:
        """How tasks are bound to memory."""
    @mem_bind_type.setter
    def mem_bind_type(self, value: MemBind | None) -> None:
        """How tasks are bound to memory."""
    @property
    def req_context(self) -> str | None:
        """SELinux context that the user requests."""
    @req_context.setter
    def req_context(self, value: str | None) -> None:
        """SELinux context that the user requests."""
    @property
    def selinux_context(self) -> str | None:
        """SELinux context that the job gets."""
    @selinux_context.setter
    def selinux_context(self, value: str | None) -> None:
        """SELinux context that the job gets."""
    @property
    def task_dist(self) -> TaskDist | None:
        """Distribution of tasks over nodes, sockets and cores."""
    @task_dist.setter
    def task_dist(self, value: TaskDist | None) -> None:
        """Distribution of tasks over nodes, sockets and cores."""
    @property
    def task_dist_flags(self) -> TaskDistFlag | None:
        """Whether tasks fill up nodes."""
    @task_dist_flags.setter
    def task_dist_flags(self, value: TaskDistFlag | None) -> None:
        """Whether tasks fill up nodes."""
    @property
    def alloc_node(self) -> str | None:
        """Host that the request comes from."""
    @property
    def alloc_resp_port(self) -> int | None:
        """Port of the client that waits for the allocation."""
    @property
    def alloc_tls_cert(self) -> str | None:
        """TLS certificate of that client. Since Slurm 25.05."""
    @property
    def fed_siblings_active(self) -> int | None:
        """Clusters of the federation that have the job, as bits."""
    @property
    def fed_siblings_viable(self) -> int | None:
        """Clusters of the federation that may run the job, as bits."""
    @property
    def het_job_offset(self) -> int | Unlimited | None:
        """Number of the component of a heterogeneous job, from 0."""
    @property
    def interactive(self) -> bool | None:
        """Whether srun or salloc asks for the job, or for the job that an update changes."""
    @property
    def job_id(self) -> int | Unlimited | None:
        """Job id, in updates."""
    @property
    def job_id_str(self) -> str | None:
        """Job id, in updates, as the user wrote it."""
    @property
    def origin(self) -> str | None:
        """Who sent the request: user, update, or in a federation sibling or requeue."""
    @property
    def origin_cluster(self) -> str | None:
        """Cluster that the job was submitted to."""
    @property
    def other_port(self) -> int | None:
        """Port of the client that gets messages about the job."""
    @property
    def pack_job_offset(self) -> int | Unlimited | None:
        """Older name of het_job_offset."""
    @property
    def resp_host(self) -> str | None:
        """Host of the client, set by slurmctld."""
    @property
    def sluid(self) -> str | None:
        """Unique id of the job (SLUID), in updates. Since Slurm 25.11."""
