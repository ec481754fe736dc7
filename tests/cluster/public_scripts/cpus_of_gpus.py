# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs have the number of CPUs that belongs to their GPUs."""

import re

from slurmhooks import Reject, hook
from slurmhooks.job_submit.model import Job

CPUS, OTHER = {"tesla": 4, "a40": 16}, 2


@hook.job_submit
def cpus_of_gpus(job: Job) -> None:
    """Compare the CPUs with the GPUs of a node."""
    if job.partition == "gpu" and job.tres_per_node is not None:
        named = re.fullmatch(r"gres/gpu:(?:(\w+):)?(\d+)", job.tres_per_node)
        if named is None or (job.min_cpus or 1) != int(named[2]) * CPUS.get(named[1] or "", OTHER):
            raise Reject("ask for the CPUs that belong to the GPUs", code="ESLURM_INVALID_GRES")
