# SPDX-License-Identifier: GPL-2.0-or-later
"""Batch scripts run in a sandbox, except with a token in the environment of the job."""

import re
import shlex
import time
from pathlib import Path

from slurmhooks import hook
from slurmhooks.job_submit.model import Job

TOKEN, SANDBOX = Path("/etc/slurm/.sandbox-bypass-token"), "/app/sandbox/sandbox-exec.sh"
PREAMBLE = re.compile(r"(?:(?:#!.*|#SBATCH.*|\s*)\n)*")


@hook.job_submit
def sandbox(job: Job, submit_uid: int) -> None:
    """Put the commands of a script into a here-document for the sandbox."""
    if job.script is None:
        return
    token = TOKEN.read_text().strip() if TOKEN.exists() else ""
    if token and job.environment.get("_SANDBOX_BYPASS") == token:
        job.environment["_SANDBOX_BYPASS"] = ""
        return
    end = f"__SANDBOX_EOF_{submit_uid}_{int(time.time())}__"
    first = PREAMBLE.match(job.script)
    preamble = first[0] if first is not None else ""
    body = job.script[len(preamble) :].replace(end, f"{end}_ESCAPED")
    directory = shlex.quote(job.work_dir or "/tmp")
    job.script = f"{preamble}{SANDBOX} --project-dir {directory} -- bash <<'{end}'\n{body}\n{end}\n"
