# SPDX-License-Identifier: GPL-2.0-or-later
"""Send jobs that ask for GPUs to the GPU partition, and keep all others out of it."""

from slurmhooks import Reject, hook
from slurmhooks.job_submit.strings import Tres
from slurmhooks.types import Job

GPU_PARTITION = "gpu"


def wants_gpu(job: Job) -> bool:
    """Return whether a job asks for a GPU, by any option."""
    asked = (job.tres_per_job, job.tres_per_node, job.tres_per_socket, job.tres_per_task)
    return any(Tres.parse(text)["gres/gpu"] for text in asked)


@hook.job_submit
def route(job: Job) -> None:
    """Choose a partition for jobs that name none."""
    if wants_gpu(job):
        if job.partition is None:
            job.partition = GPU_PARTITION
    elif job.partition is not None and GPU_PARTITION in job.partition.split(","):
        raise Reject(f"partition {GPU_PARTITION} is for jobs that ask for GPUs: add --gpus=1")
