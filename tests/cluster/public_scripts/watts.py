# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs take a license for each watt that they may draw."""

import re
from typing import Any

from slurmhooks import hook

WATTS = {"cards": 340, "gpu": 190}
WATTS_OF_CPU = 5


@hook.job_submit
def licenses(job: Any) -> None:
    """Add the licenses for the GRES of a node and the CPUs of a task."""
    asked = re.findall(r"(\w+):(\d+)", job.tres_per_node or "")
    watts = sum(WATTS[name] * int(number) for name, number in asked) + WATTS_OF_CPU * (job.cpus_per_task or 0)
    job.licenses = ",".join(filter(None, [job.licenses, f"watts:{watts}"]))
