# SPDX-License-Identifier: GPL-2.0-or-later
"""Give a job a folder on a flash file system, with its data, and bring its results back.

    #BB_LUA pool=flash capacity=100GB stage_in=/project/x/input stage_out=/project/x/results

Handlers run as SlurmUser, so contrib/programs/flash_scratch.py does the work, by sudo.
"""

import shlex
import subprocess
import sys

from slurmhooks import Reject, hook
from slurmhooks.types import BurstBuffer

PROGRAM = ["/usr/bin/sudo", "-n", sys.executable, "-I", "/usr/local/sbin/flash_scratch"]


def wanted(buffer: BurstBuffer, key: str) -> str | None:
    """Return the value of a word such as ``stage_in=FOLDER`` in the directives."""
    words = [word.partition("=") for line in buffer.directives() for word in shlex.split(line)]
    return next((value for name, _, value in words if name == key), None)


def work(*words: object) -> None:
    """Run the program, and refuse if it fails."""
    # If Slurm kills this process, it cannot kill a process of root, which ends when its standard input does.
    command = [*PROGRAM, *map(str, words)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        errors = program.stderr.read()
        if program.wait():
            raise Reject(errors.strip().rpartition("\n")[2] or f"flash_scratch ended with {program.returncode}")


@hook.burst_buffer.setup
def make(buffer: BurstBuffer) -> None:
    """Make the folder; it may be there already if slurmctld was killed meanwhile."""
    work("make", buffer.job_id, buffer.user_id, buffer.group_id)


@hook.burst_buffer.data_in
def stage_in(buffer: BurstBuffer) -> None:
    """Copy what the job reads."""
    if (source := wanted(buffer, "stage_in")) is not None:
        work("copy_in", buffer.job_id, source)


@hook.burst_buffer.data_out
def stage_out(buffer: BurstBuffer) -> None:
    """Copy what the job has left in its folder."""
    if (target := wanted(buffer, "stage_out")) is not None:
        work("copy_out", buffer.job_id, target)


@hook.burst_buffer.teardown
def remove(buffer: BurstBuffer) -> None:
    """Remove the folder, also of jobs that never started."""
    work("remove", buffer.job_id)
