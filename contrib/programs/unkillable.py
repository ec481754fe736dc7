#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""UnkillableStepProgram: write to the system's log what the processes wait for that do not end.

Slurm drains the node afterwards, with the reason "Kill task failed".
"""

import os
import syslog
from collections.abc import Iterator
from pathlib import Path

STEPS = {"4294967290": "interactive", "4294967291": "batch", "4294967292": "extern"}
"""The numbers that Slurm gives to steps with names."""


def stuck() -> Iterator[str]:
    """Yield what each process waits for that is in an uninterruptible sleep, or a zombie."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if state in "DZ":
                yield f"{folder.name} {(folder / 'comm').read_text().strip()} {state} {(folder / 'wchan').read_text()}"
        except OSError:
            continue  # it has just ended


if __name__ == "__main__":
    step = os.environ.get("SLURM_STEP_ID", "")
    for line in stuck():
        syslog.syslog(f"unkillable step {os.environ.get('SLURM_JOB_ID')}.{STEPS.get(step, step)}: {line}")
