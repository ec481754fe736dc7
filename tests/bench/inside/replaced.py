# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure how long a submission waits for a worker that replaces a killed one; JSON on standard output, in seconds.

``replaced.py COUNT COMMAND...``: the command submits one job. The first list has the times of submissions for which no
worker was killed, the second list those of submissions right after a kill.
"""

import json
import os
import signal
import subprocess
import sys
import time

WORKER = "slurmhooks-work"


def worker() -> int:
    """Return the process of the only worker, as soon as there is one."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/comm") as comm, open(f"/proc/{pid}/stat") as stat:
                    if comm.read() == f"{WORKER}\n" and stat.read().rpartition(")")[2].split()[0] != "Z":
                        return int(pid)
            except OSError:
                continue
        time.sleep(0.001)
    sys.exit("there is no worker")


def submit(command: list[str]) -> float:
    """Return the seconds of one submission."""
    begin = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - begin


def measure(count: int, command: list[str]) -> list[list[float]]:
    """Submit with and without a kill before it, in turns."""
    times: list[list[float]] = [[], []]
    for _ in range(count):
        times[0].append(submit(command))
        os.kill(worker(), signal.SIGKILL)
        times[1].append(submit(command))
        # A worker that has just started serves this submission, so that the next turn begins like this one.
        submit(command)
    return times


if __name__ == "__main__":
    json.dump(measure(int(sys.argv[1]), sys.argv[2:]), sys.stdout)
