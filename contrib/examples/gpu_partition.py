# SPDX-License-Identifier: GPL-2.0-or-later
"""Send jobs that ask for GPUs to the GPU partition, and keep all others out of it."""

from slurmhooks import Reject, hook
from slurmhooks.types import Job

GPU_PARTITION = "gpu"


@hook.job_submit
def route(job: Job) -> None:
    """Choose a partition for jobs that name none."""
    if job.bounds.gpus.least:  # by any option
        if job.partition is None:
            job.partition = GPU_PARTITION
    elif job.partition is not None and GPU_PARTITION in job.partition.split(","):
        raise Reject(f"partition {GPU_PARTITION} is for jobs that ask for GPUs: add --gpus=1")
