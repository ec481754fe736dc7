# SPDX-License-Identifier: GPL-2.0-or-later
"""Keep interactive jobs, those of srun and salloc, out of some partitions."""

from slurmhooks import Reject, hook
from slurmhooks.types import WholeJob

BATCH_ONLY = {"night", "large"}


@hook.job
def batch_only(job: WholeJob) -> None:
    """Refuse jobs of srun and salloc; components of a heterogeneous batch job have no script of their own either."""
    if job.interactive:
        refused = BATCH_ONLY.intersection(job.partitions)
        if refused:
            raise Reject(f"partition {', '.join(sorted(refused))} takes batch jobs only: use sbatch")
