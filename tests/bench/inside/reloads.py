# SPDX-License-Identifier: GPL-2.0-or-later
"""Let the workers load their hooks again and again; print the seconds of processor time that each time took.

Argument: how often.
"""

import json
import os
import subprocess
import sys
import time

WARM_UP = 2
"""The first time may also start what the configuration asks for."""
ENDED = 0.5
"""Seconds in which the old workers end."""


def used() -> float:
    """Return the processor time of our processes so far, with that of their ended children."""
    ticks = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                name, _, numbers = file.read().partition("(")[2].rpartition(")")
        except OSError:
            continue  # it has ended
        if name.startswith("slurmhooks-"):
            ticks += sum(map(int, numbers.split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def load(times: int) -> None:
    """Let the workers load the set in force again, as each deployment does."""
    for _ in range(times):
        subprocess.run(["slurmhooks", "deploy"], check=True, stdout=subprocess.DEVNULL)
    time.sleep(ENDED)


if __name__ == "__main__":
    count = int(sys.argv[1])
    load(WARM_UP)
    before = used()
    load(count)
    json.dump((used() - before) / count, sys.stdout)
