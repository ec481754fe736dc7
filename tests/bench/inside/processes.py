# SPDX-License-Identifier: GPL-2.0-or-later
"""Count the processes that slurmd starts for a job, with the kernel's process accounting.

Standard output: for each job the number of processes of slurmd and slurmstepd that ended, as a JSON list.
"""

import ctypes
import json
import os
import struct
import subprocess
import sys
import time

ACCOUNT = "/tmp/bench.acct"
RECORD = 64
COMMAND = slice(48, 64)
"""Of struct acct_v3 in <linux/acct.h>."""


def names() -> list[str]:
    """Return the names of the processes that have ended since accounting began."""
    with open(ACCOUNT, "rb") as file:
        data = file.read()
    records = [data[start : start + RECORD] for start in range(0, len(data) - RECORD + 1, RECORD)]
    for record in records:
        if struct.unpack_from("B", record, 1)[0] & 0x0F != 3:
            sys.exit("the kernel writes process accounts of another version than 3")
    return [record[COMMAND].split(b"\0")[0].decode() for record in records]


def count(libc: ctypes.CDLL) -> int:
    """Run a job on an idle cluster; return the number of processes of slurmd and slurmstepd."""
    with open(ACCOUNT, "wb"):
        pass
    if libc.acct(ACCOUNT.encode()):
        sys.exit(f"acct: {os.strerror(ctypes.get_errno())}")
    try:
        subprocess.run(["srun", "true"], check=True)
        # slurmstepd ends a little after srun: wait until the node is idle and no slurmstepd is left.
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            states = subprocess.run(
                ["sinfo", "-h", "-N", "-o", "%T"], capture_output=True, text=True, check=True
            ).stdout
            steps = [pid for pid in os.listdir("/proc") if pid.isdigit() and is_step(pid)]
            if not steps and set(states.split()) == {"idle"}:
                break
            time.sleep(0.05)
    finally:
        libc.acct(None)
    return sum(name.startswith("slurm") for name in names())


def is_step(pid: str) -> bool:
    """Return whether a process is a slurmstepd."""
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().startswith("slurmstepd")
    except OSError:
        return False


if __name__ == "__main__":
    json.dump([count(ctypes.CDLL(None, use_errno=True)) for _ in range(int(sys.argv[1]))], sys.stdout)
