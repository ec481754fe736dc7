# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure the resident memory of a step's slurmstepd while its task sleeps; JSON on standard output, in bytes."""

import json
import os
import signal
import subprocess
import sys
import time

MARK = "86399"
"""Seconds that the task would sleep; identifies it."""


def find() -> tuple[int, int] | None:
    """Return the pids of the sleeping task and its slurmstepd, or None if they do not run yet."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                words = file.read().split("\0")
            with open(f"/proc/{pid}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{parent}/comm") as file:
                if words[1:2] == [MARK] and file.read().startswith("slurmstepd"):
                    return int(pid), parent
        except OSError:
            continue
    return None


def measure() -> int:
    """Run one job step; return the resident bytes of its slurmstepd."""
    job = subprocess.Popen(["srun", "-Q", "sleep", MARK], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (pids := find()):
        if time.monotonic() > deadline or job.poll() is not None:
            job.terminate()
            sys.exit("the job did not start")
        time.sleep(0.05)
    task, step = pids
    with open(f"/proc/{step}/status") as file:
        resident = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:"))
    os.kill(task, signal.SIGTERM)
    job.wait()
    return resident


if __name__ == "__main__":
    json.dump([measure() for _ in range(int(sys.argv[1]))], sys.stdout)
