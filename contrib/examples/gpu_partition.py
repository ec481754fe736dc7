# SPDX-License-Identifier: GPL-2.0-or-later
"""Send jobs that ask for GPUs to the GPU partition, and keep all others out of it."""

from slurmhooks import Reject, hook
from slurmhooks.types import WholeJob

GPU_PARTITION = "gpu"


@hook.job
def route(job: WholeJob) -> None:
    """Choose a partition for jobs that name none."""
    if job.bounds.gpus.least:  # by any option
        if job.leaves_out("partition"):
            job.partition = GPU_PARTITION
    elif GPU_PARTITION in job.partitions:
        raise Reject(f"partition {GPU_PARTITION} is for jobs that ask for GPUs: add --gpus=1")
