# SPDX-License-Identifier: GPL-2.0-or-later
# Written by tools/stubs.py.
from slurmhooks.fields.constants import JobFlag, JobState, JobStateFlag, MailType, StateReason
from slurmhooks.values import ExitStatus, Unlimited

class RecordFields:
    """``record``: a job as slurmctld knows it, ``job_record_t`` and the structs that it points to; read-only."""
    @property
    def account(self) -> str | None:
        """Account that is charged."""
    @property
    def admin_comment(self) -> str | None:
        """Comment of administrators."""
    @property
    def comment(self) -> str | None:
        """Comment of the user."""
    @property
    def extra(self) -> str | None:
        """Text that Slurm stores (--extra)."""
    @property
    def group_id(self) -> int | None:
        """Group that the job runs as."""
    @property
    def mcs_label(self) -> str | None:
        """Label for sharing nodes."""
    @property
    def qos(self) -> str | None:
        """Quality of service."""
    @property
    def resv_name(self) -> str | None:
        """Reservations that the job uses."""
    @property
    def system_comment(self) -> str | None:
        """Comment of Slurm itself."""
    @property
    def user_id(self) -> int | None:
        """User that the job runs as."""
    @property
    def user_name(self) -> str | None:
        """Name of the user."""
    @property
    def wckey(self) -> str | None:
        """Workload characterization key."""
    @property
    def alloc_partition(self) -> str | None:
        """Partition in which the job runs or ran; before it starts, one of those of partition."""
    @property
    def alloc_node(self) -> str | None:
        """Host from which the job was submitted."""
    @property
    def argv(self) -> list[str] | None:
        """The script's name and arguments."""
    @property
    def array_job_id(self) -> int | None:
        """Job id of the job array; 0: not an array."""
    @property
    def array_task_cnt(self) -> int | None:
        """Number of tasks of the array without own records; None: there are none."""
    @property
    def array_task_id(self) -> int | Unlimited | None:
        """Task id in the job array."""
    @property
    def batch_flag(self) -> int | None:
        """0: no batch job; 1: a batch job; more: how often it was restarted."""
    @property
    def bitflags(self) -> JobFlag | None:
        """Properties of the job."""
    @property
    def burst_buffer(self) -> str | None:
        """Burst buffer directives."""
    @property
    def container(self) -> str | None:
        """OCI bundle in which the job runs."""
    @property
    def container_id(self) -> str | None:
        """Name of the container. Since Slurm 23.02."""
    @property
    def het_job_id(self) -> int | None:
        """Job id of the first component; 0: no heterogeneous job."""
    @property
    def het_job_id_set(self) -> str | None:
        """Job ids of all components."""
    @property
    def het_job_offset(self) -> int | None:
        """Number of the component, from 0."""
    @property
    def job_id(self) -> int | None:
        """Job id."""
    @property
    def name(self) -> str | None:
        """Name of the job."""
    @property
    def origin_cluster(self) -> str | None:
        """Cluster to which the job was submitted."""
    @property
    def original_sluid(self) -> str | None:
        """Unique id (SLUID) of the first start. Since Slurm 25.11."""
    @property
    def pack_job_id(self) -> int | None:
        """Older name of het_job_id."""
    @property
    def pack_job_id_set(self) -> str | None:
        """Older name of het_job_id_set."""
    @property
    def pack_job_offset(self) -> int | None:
        """Older name of het_job_offset."""
    @property
    def runtime(self) -> str | None:
        """Runtime plugin that it runs with, such as runtime/oci. Since Slurm 26.11."""
    @property
    def script(self) -> str | None:
        """The batch script, from slurmctld's state folder; None for srun and salloc."""
    @property
    def sluid(self) -> str | None:
        """Unique id (SLUID) of this start. Since Slurm 24.11."""
    @property
    def spank_job_env(self) -> list[str] | None:
        """Variables of SPANK plugins, as NAME=value."""
    @property
    def spank_job_env_size(self) -> int | None:
        """Number of variables in spank_job_env."""
    @property
    def submit_line(self) -> str | None:
        """The command line that submitted the job."""
    @property
    def work_dir(self) -> str | None:
        """Working directory."""
    @property
    def batch_features(self) -> str | None:
        """Features that the node of the batch script must have."""
    @property
    def batch_host(self) -> str | None:
        """Node that the batch script runs on."""
    @property
    def best_switch(self) -> bool | None:
        """Whether the job got no more switches than requested."""
    @property
    def features(self) -> str | None:
        """Features that nodes must have."""
    @property
    def network(self) -> str | None:
        """Requirements on the interconnect."""
    @property
    def nodes(self) -> str | None:
        """Nodes of the job, as a node list."""
    @property
    def partition(self) -> str | None:
        """Partitions that the user named, in any order; alloc_partition is the one it runs in."""
    @property
    def prefer(self) -> str | None:
        """Features that nodes should have."""
    @property
    def reboot(self) -> int | None:
        """1: the nodes are booted before the job starts."""
    @property
    def req_nodes(self) -> str | None:
        """Nodes that the job must get, as a node list."""
    @property
    def req_switch(self) -> int | None:
        """Maximum number of leaf switches; 0: no maximum."""
    @property
    def segment_size(self) -> int | Unlimited | None:
        """Nodes in each segment. Since Slurm 24.05."""
    @property
    def wait4switch(self) -> int | None:
        """How long to wait for that number of switches. In seconds."""
    @property
    def wait4switch_start(self) -> int | None:
        """When the job began to wait for switches; 0: it did not wait. In seconds since the epoch."""
    @property
    def core_spec(self) -> int | None:
        """Cores per node reserved for the system; None if threads are."""
    @property
    def cpus_per_task(self) -> int | Unlimited | None:
        """CPUs per task."""
    @property
    def cpus_per_tres(self) -> str | None:
        """CPUs per TRES."""
    @property
    def gres(self) -> str | None:
        """Older name of tres_per_node."""
    @property
    def gres_req(self) -> str | None:
        """Older name of tres_fmt_req_str."""
    @property
    def gres_used(self) -> str | None:
        """GRES that the job has."""
    @property
    def licenses(self) -> str | None:
        """Licenses that the job needs."""
    @property
    def max_cpus(self) -> int | Unlimited | None:
        """Maximum number of CPUs."""
    @property
    def max_nodes(self) -> int | Unlimited | None:
        """Maximum number of nodes; 0: no maximum."""
    @property
    def mem_per_tres(self) -> str | None:
        """Memory per TRES."""
    @property
    def min_cpus(self) -> int | Unlimited | None:
        """Minimum number of CPUs."""
    @property
    def min_mem_per_cpu(self) -> int | None:
        """Memory per CPU; None if requested per node. In MiB."""
    @property
    def min_mem_per_node(self) -> int | None:
        """Memory per node; None if requested per CPU. In MiB."""
    @property
    def min_nodes(self) -> int | Unlimited | None:
        """Minimum number of nodes."""
    @property
    def ntasks_per_node(self) -> int | Unlimited | None:
        """Number of tasks per node; 0: unset."""
    @property
    def ntasks_per_tres(self) -> int | Unlimited | None:
        """Number of tasks per GPU; 0: unset."""
    @property
    def num_tasks(self) -> int | Unlimited | None:
        """Number of tasks."""
    @property
    def overcommit(self) -> int | Unlimited | None:
        """1: several tasks may share a CPU."""
    @property
    def pn_min_cpus(self) -> int | Unlimited | None:
        """Minimum number of CPUs per node."""
    @property
    def pn_min_memory(self) -> int | Unlimited | None:
        """Both min_mem_per_ fields as one number. In MiB."""
    @property
    def thread_spec(self) -> int | None:
        """Threads per node reserved for the system; None if cores are."""
    @property
    def total_cpus(self) -> int | None:
        """Number of CPUs of the job."""
    @property
    def total_nodes(self) -> int | None:
        """Number of nodes of the job."""
    @property
    def tres_alloc_str(self) -> str | None:
        """TRES of the job, as id=count."""
    @property
    def tres_bind(self) -> str | None:
        """How tasks are bound to TRES."""
    @property
    def tres_fmt_alloc_str(self) -> str | None:
        """TRES of the job, as name=count."""
    @property
    def tres_fmt_req_str(self) -> str | None:
        """Requested TRES, as name=count."""
    @property
    def tres_freq(self) -> str | None:
        """Frequencies of TRES."""
    @property
    def tres_per_job(self) -> str | None:
        """TRES of the whole job."""
    @property
    def tres_per_node(self) -> str | None:
        """TRES per node."""
    @property
    def tres_per_socket(self) -> str | None:
        """TRES per socket."""
    @property
    def tres_per_task(self) -> str | None:
        """TRES per task."""
    @property
    def tres_req_str(self) -> str | None:
        """Requested TRES, as id=count."""
    @property
    def whole_node(self) -> int | None:
        """Bit 1: the job gets whole nodes; other bits keep only some jobs away."""
    @property
    def begin_time(self) -> int | None:
        """Earliest start; 0: unset. In seconds since the epoch."""
    @property
    def curr_dependency(self) -> str | None:
        """Dependencies that are not fulfilled yet."""
    @property
    def deadline(self) -> int | None:
        """Remove the job if it cannot end by this time; 0: no deadline. In seconds since the epoch."""
    @property
    def delay_boot(self) -> int | Unlimited | None:
        """How long to wait for nodes that need no reboot. In seconds."""
    @property
    def direct_set_prio(self) -> int | None:
        """1: the priority was set by a user or administrator."""
    @property
    def end_time(self) -> int | None:
        """When the job ended or will end; 0: unknown. In seconds since the epoch."""
    @property
    def nice(self) -> int | None:
        """Adjustment of the priority; positive numbers lower it."""
    @property
    def orig_dependency(self) -> str | None:
        """Dependencies at submission."""
    @property
    def priority(self) -> int | Unlimited | None:
        """Priority; 0: held."""
    @property
    def restart_cnt(self) -> int | None:
        """How often the job was restarted."""
    @property
    def site_factor(self) -> int | None:
        """Part of the priority that plugins set."""
    @property
    def start_time(self) -> int | None:
        """When the job started or will start; 0: unknown. In seconds since the epoch."""
    @property
    def submit_time(self) -> int | None:
        """When the job was submitted. In seconds since the epoch."""
    @property
    def time_limit(self) -> int | Unlimited | None:
        """Time limit. In minutes."""
    @property
    def time_min(self) -> int | Unlimited | None:
        """Minimum time limit that the user accepts. In minutes."""
    @property
    def derived_ec(self) -> ExitStatus | None:
        """Highest exit status of all steps."""
    @property
    def exit_code(self) -> ExitStatus | None:
        """Exit status of the script or step."""
    @property
    def job_state(self) -> JobState | None:
        """State of the job."""
    @property
    def job_state_flags(self) -> JobStateFlag | None:
        """Flags of the state."""
    @property
    def mail_type(self) -> MailType | None:
        """Events on which Slurm sends mail."""
    @property
    def mail_user(self) -> str | None:
        """Recipient of mail."""
    @property
    def requeue(self) -> int | Unlimited | None:
        """1: the job may be requeued."""
    @property
    def resizing(self) -> bool | None:
        """Whether the job is being resized."""
    @property
    def selinux_context(self) -> str | None:
        """SELinux context."""
    @property
    def state_desc(self) -> str | None:
        """Text for the reason why the job does not run."""
    @property
    def state_reason(self) -> StateReason | None:
        """Reason why the job does not run, or ended."""
    @property
    def std_err(self) -> str | None:
        """File for standard error."""
    @property
    def std_in(self) -> str | None:
        """File for standard input."""
    @property
    def std_out(self) -> str | None:
        """File for standard output."""
