# SPDX-License-Identifier: GPL-2.0-or-later
# Written by tools/stubs.py.
from slurmhooks.values import ExitStatus

class Items:
    """The items of ``spank_item_t``."""
    @property
    def job_uid(self) -> int:
        """User id of the job's owner.

        Where: in slurmstepd, srun's local_user_init, prolog and epilog. Source: spank.h S_JOB_UID.
        """
    @property
    def job_gid(self) -> int:
        """Primary group id of the job's owner.

        Where: in slurmstepd, srun's local_user_init, prolog and epilog. Source: spank.h S_JOB_GID.
        """
    @property
    def job_id(self) -> int:
        """Slurm's job id.

        Where: in slurmstepd, srun's local_user_init, prolog and epilog. Source: spank.h S_JOB_ID.
        """
    @property
    def job_stepid(self) -> int:
        """Step id; a large number for special steps, see step_name.

        Where: in slurmstepd and srun's local_user_init. Source: spank.h S_JOB_STEPID.
        """
    @property
    def job_nnodes(self) -> int:
        """Number of nodes of the step.

        Where: in slurmstepd and srun's local_user_init. Source: spank.h S_JOB_NNODES.
        """
    @property
    def job_nodeid(self) -> int:
        """Index of this node in the step, from 0.

        Where: in slurmstepd (context remote). Source: spank.h S_JOB_NODEID.
        """
    @property
    def job_local_task_count(self) -> int:
        """Number of tasks on this node.

        Where: in slurmstepd (context remote). Source: spank.h S_JOB_LOCAL_TASK_COUNT.
        """
    @property
    def job_total_task_count(self) -> int:
        """Number of tasks of the step; 0 in a batch step.

        Where: in slurmstepd and srun's local_user_init. Source: spank.h S_JOB_TOTAL_TASK_COUNT.
        """
    @property
    def job_ncpus(self) -> int:
        """Number of CPUs of the job on this node.

        Where: in slurmstepd (context remote). Source: spank.h S_JOB_NCPUS.
        """
    @property
    def job_argv(self) -> list[str]:
        """Command and arguments, as the user gave them.

        Where: in slurmstepd and srun's local_user_init. Source: spank.h S_JOB_ARGV.
        """
    @property
    def job_env(self) -> dict[str, str]:
        """A copy of the job's environment; write to env instead.

        Where: in slurmstepd (context remote). Source: spank.h S_JOB_ENV.
        """
    @property
    def task_id(self) -> int:
        """Task id on this node, from 0.

        Where: in the task callbacks of slurmstepd, but not of an extern step. Source: spank.h S_TASK_ID.
        """
    @property
    def task_global_id(self) -> int:
        """Task id in the step, from 0.

        Where: in the task callbacks of slurmstepd, but not of an extern step. Source: spank.h S_TASK_GLOBAL_ID.
        """
    @property
    def task_exit_status(self) -> ExitStatus:
        """Wait status of the task: raw, exit_code, signal, core_dumped.

        Where: in task_exit. Source: spank.h S_TASK_EXIT_STATUS.
        """
    @property
    def task_pid(self) -> int:
        """Process id of the task.

        Where: in the task callbacks of slurmstepd, but not of an extern step. Source: spank.h S_TASK_PID.
        """
    def job_pid_to_global_id(self, pid: int) -> int:
        """Task id in the step, of a process.

        Where: in slurmstepd's task_post_fork, task_exit and exit. Source: spank.h S_JOB_PID_TO_GLOBAL_ID.
        """
    def job_pid_to_local_id(self, pid: int) -> int:
        """Task id on this node, of a process.

        Where: in slurmstepd's task_post_fork, task_exit and exit. Source: spank.h S_JOB_PID_TO_LOCAL_ID.
        """
    def job_local_to_global_id(self, local_id: int) -> int:
        """Task id in the step, of a local task id.

        Where: in slurmstepd (context remote). Source: spank.h S_JOB_LOCAL_TO_GLOBAL_ID.
        """
    def job_global_to_local_id(self, global_id: int) -> int:
        """Task id on this node, of a global task id.

        Where: in slurmstepd (context remote). Source: spank.h S_JOB_GLOBAL_TO_LOCAL_ID.
        """
    @property
    def job_supplementary_gids(self) -> list[int]:
        """Supplementary group ids of the job's owner.

        Where: in slurmstepd (context remote). Source: spank.h S_JOB_SUPPLEMENTARY_GIDS.
        """
    @property
    def slurm_version(self) -> str:
        """Version of the running Slurm, as in 24.11.5.

        Where: everywhere. Source: spank.h S_SLURM_VERSION.
        """
    @property
    def slurm_version_major(self) -> str:
        """Its first part.

        Where: everywhere. Source: spank.h S_SLURM_VERSION_MAJOR.
        """
    @property
    def slurm_version_minor(self) -> str:
        """Its second part.

        Where: everywhere. Source: spank.h S_SLURM_VERSION_MINOR.
        """
    @property
    def slurm_version_micro(self) -> str:
        """Its third part.

        Where: everywhere. Source: spank.h S_SLURM_VERSION_MICRO.
        """
    @property
    def step_cpus_per_task(self) -> int:
        """CPUs for each task; 1 with --overcommit.

        Where: in slurmstepd (context remote). Source: spank.h S_STEP_CPUS_PER_TASK.
        """
    @property
    def job_alloc_cores(self) -> str | None:
        """Cores of the job on this node, as a list like 0-3,8.

        Where: in slurmstepd (context remote). Source: spank.h S_JOB_ALLOC_CORES.
        """
    @property
    def job_alloc_mem(self) -> int:
        """Memory of the job on this node, in MiB.

        Where: in slurmstepd (context remote). Source: spank.h S_JOB_ALLOC_MEM.
        """
    @property
    def step_alloc_cores(self) -> str | None:
        """Cores of the step on this node, as a list like 0-3,8.

        Where: in slurmstepd (context remote). Source: spank.h S_STEP_ALLOC_CORES.
        """
    @property
    def step_alloc_mem(self) -> int:
        """Memory of the step on this node, in MiB.

        Where: in slurmstepd (context remote). Source: spank.h S_STEP_ALLOC_MEM.
        """
    @property
    def slurm_restart_count(self) -> int | None:
        """Number of restarts of the job. Slurm always reports 0: this is SLURM_RESTART_COUNT of the job's environment, which users can set; None where that is not set yet: in extern steps, and in batch steps before task_init.

        Where: in slurmstepd (context remote). Source: spank.h S_SLURM_RESTART_COUNT.
        """
    @property
    def job_array_id(self) -> int | None:
        """Job id of the array; None outside one.

        Where: in slurmstepd (context remote). Source: spank.h S_JOB_ARRAY_ID.
        """
    @property
    def job_array_task_id(self) -> int | None:
        """Index in the array; None outside one.

        Where: in slurmstepd (context remote). Source: spank.h S_JOB_ARRAY_TASK_ID.
        """
