# SPDX-License-Identifier: GPL-2.0-or-later
"""Launch a step again and again; print the seconds of processor time that srun, slurmd and slurmstepd took for each.

Argument: how often.
"""

import json
import os
import subprocess
import sys
import time

ENDED = 0.5
"""Seconds in which the last slurmstepd ends."""


def used() -> float:
    """Return the processor time of slurmd, and of what has ended here: slurmstepd becomes a child of process 1."""
    ticks = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                name, _, numbers = file.read().partition("(")[2].rpartition(")")
        except OSError:
            continue  # it has ended
        own, ended = numbers.split()[11:13], numbers.split()[13:15]
        if name == "slurmd":
            ticks += sum(map(int, own + ended))
        elif int(pid) in (1, os.getpid()):
            ticks += sum(map(int, ended))
    return ticks / os.sysconf("SC_CLK_TCK")


def launch(times: int) -> None:
    """Run steps as alice."""
    for _ in range(times):
        subprocess.run(["runuser", "-u", "alice", "--", "srun", "-Q", "-D", "/tmp", "true"], check=True)
    time.sleep(ENDED)


if __name__ == "__main__":
    count = int(sys.argv[1])
    launch(3)
    before = used()
    launch(count)
    json.dump((used() - before) / count, sys.stdout)
