# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs that start in a shared folder get its license."""

from slurmhooks import hook
from slurmhooks.job_submit.model import Job

FOLDER, LICENSE = "/common", "common"


@hook.job_submit(order=20)
@hook.job_modify(order=20)
def license_of_folder(job: Job) -> None:
    """Ask for the license of the folder, if the job does not."""
    named = [each.partition(":")[0] for each in (job.licenses or "").replace(";", ",").split(",") if each]
    if (job.work_dir or "").startswith(FOLDER) and LICENSE not in named:
        job.licenses = ",".join(filter(None, [job.licenses, LICENSE]))
