# SPDX-License-Identifier: GPL-2.0-or-later
"""Give GPUs that are requested without a type the usual one."""

from slurmhooks import hook
from slurmhooks.job_submit.strings import Tres
from slurmhooks.types import WholeJob

USUAL = "a100"
FIELDS = ("tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task")


@hook.job
def typed_gpus(job: WholeJob) -> None:
    """Read each list of TRES, and write it back with types."""
    for field in FIELDS:
        asked = Tres.parse(getattr(job, field))
        if asked != asked.typed("gres/gpu", USUAL):
            setattr(job, field, str(asked.typed("gres/gpu", USUAL)))
