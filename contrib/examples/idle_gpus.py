# SPDX-License-Identifier: GPL-2.0-or-later
"""Warn jobs that leave all their GPUs idle, and cancel them later: Prometheus knows how busy GPUs are.

NVIDIA's DCGM exporter labels the GPUs of a job with ``hpc_job`` if the prolog writes the job's id into its mapping
folder. With JobSubmitPlugins=python, slurmctld's workers run this every five minutes.
"""

import json
import time
import urllib.parse
import urllib.request

from slurmhooks import hook
from slurmhooks.types import ActingRecord, Table

PROMETHEUS = "http://localhost:9090"
WARN, CANCEL = 30, 120
"""Minutes without use."""


def used(minutes: int) -> dict[int, float]:
    """Return the highest use of any GPU of each job in the last minutes, in percent, by job id."""
    query = f'max by (hpc_job) (max_over_time(DCGM_FI_DEV_GPU_UTIL{{hpc_job!=""}}[{minutes}m]))'
    url = f"{PROMETHEUS}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        result = json.load(answer)["data"]["result"]
    return {int(each["metric"]["hpc_job"]): float(each["value"][1]) for each in result}


@hook.every("5m", timeout=60)
def idle_gpus(jobs: Table[int, ActingRecord]) -> None:
    """Warn after WARN minutes, cancel after CANCEL minutes; a job whose GPUs nobody measures is left alone."""
    for minutes in (CANCEL, WARN):
        for job_id, percent in used(minutes).items():
            job = jobs.get(job_id)
            if job is None or percent or job.start_time is None or time.time() - job.start_time < 60 * minutes:
                continue
            text = f"no GPU of this job was used for {minutes} minutes"
            if minutes == CANCEL:
                job.cancel(text)
            else:
                job.notify(f"{text}; it is cancelled after {CANCEL}")
