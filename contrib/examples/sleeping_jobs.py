# SPDX-License-Identifier: GPL-2.0-or-later
"""Cancel interactive jobs whose processes have used no CPU time for hours: somebody has left a shell open.

sstat tells the CPU time, so slurm.conf needs a JobAcctGatherType other than jobacct_gather/none. With
JobSubmitPlugins=python, slurmctld's workers run this every ten minutes.
"""

import re
import subprocess
import time

from slurmhooks import hook
from slurmhooks.job_submit.constants import JobState
from slurmhooks.types import ActingRecord, Table

WARN, CANCEL = 3600.0, 2 * 3600.0
"""Seconds without use."""
LITTLE = 5.0
"""Seconds of CPU time that a shell and its prompt may use meanwhile."""

last_used: dict[int, tuple[float, float]] = {}
"""When a job last used its CPUs, and its CPU time then, by job id; kept from one run to the next."""


def cpu_seconds(job_id: int) -> float | None:
    """Return the CPU time of all steps of a job; None if sstat does not tell."""
    command = ["sstat", "--noheader", "--parsable2", "--allsteps", f"--jobs={job_id}", "--format=TRESUsageInTot"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    times = re.findall(r"cpu=(?:(\d+)-)?(?:(\d+):)?(\d+):([\d.]+)", done.stdout)
    if not times:
        return None
    return sum(86400 * int(d or 0) + 3600 * int(h or 0) + 60 * int(m) + float(s) for d, h, m, s in times)


@hook.every("10m", timeout=300)
def sleeping_jobs(jobs: Table[int, ActingRecord]) -> None:
    """Warn after WARN seconds, cancel after CANCEL seconds."""
    now = time.time()
    running = jobs.where(job_state=JobState.JOB_RUNNING)
    interactive = {job.job_id: job for job in running if job.job_id and not job.batch_flag}
    for job_id in last_used.keys() - interactive.keys():
        del last_used[job_id]
    for job_id, job in interactive.items():
        seconds = cpu_seconds(job_id)
        if seconds is None:
            continue
        since, before = last_used.get(job_id, (now, seconds))
        if seconds - before > LITTLE or job_id not in last_used:
            last_used[job_id] = (now, seconds)
        elif now - since >= CANCEL:
            job.cancel(f"its processes have used no CPU for {(now - since) / 3600:.0f} hours")
        elif now - since >= WARN:
            job.notify("no CPU is used; such jobs are cancelled")
