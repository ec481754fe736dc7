# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs with GPUs get a task for each of them, with its part of the node's CPUs."""

from slurmhooks import hook
from slurmhooks.job_submit.model import Job

CPUS_OF_GPU = 32


@hook.job_submit(order=70)
def cpus_of_gpus(job: Job) -> None:
    """Set the tasks and CPUs of a job in a partition with GPUs."""
    if "gpu" in (job.partition or ""):
        job.num_tasks = job.bounds.gpus.least
        job.cpus_per_task = CPUS_OF_GPU
