# SPDX-License-Identifier: GPL-2.0-or-later
"""Submit jobs as fast as slurmctld takes them; print how long that took, and the processor time of each process.

Arguments: how many clients, how many submissions of each, the account, and the name of the jobs. Standard output:
{"seconds": S, "processor": {NAME: SECONDS}}, where NAME is the name of one or more processes.
"""

import json
import os
import subprocess
import sys
import time

WARM_UP = 20
"""Submissions of each client before the measurement: they start the worker's first request and fill caches."""
LOGGED = 1.5
"""Seconds until the collector has written all decisions."""
SUBMIT = "/opt/submit"


def clocks() -> dict[str, float]:
    """Return the processor time of slurmctld and of our processes so far, in seconds, by name; ended threads count."""
    found: dict[str, float] = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{pid}/comm") as file:
                name = file.read().strip()
            if name == "slurmctld" or name.startswith("slurmhooks-"):
                # As clock_getcpuclockid() does it.
                found[name] = found.get(name, 0.0) + time.clock_gettime(~pid << 3 | 2)
        except OSError:
            pass  # it has ended
    return found


def burst(clients: int, each: int, account: str, name: str) -> float:
    """Submit; return the seconds.

    Raises:
        SystemExit: a submission was refused.
    """
    command = ["runuser", "-u", "alice", "--", SUBMIT, str(each), name, account]
    begin = time.monotonic()
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(clients)]
    printed = [process.communicate()[0].strip() for process in running]
    seconds = time.monotonic() - begin
    if set(printed) != {f"{each} taken, 0 refused"}:
        raise SystemExit(f"submissions were refused: {printed}")
    return seconds


def main(clients: int, each: int, account: str, name: str) -> None:
    """Measure."""
    burst(clients, min(each, WARM_UP), account, name)
    time.sleep(LOGGED)
    before = clocks()
    seconds = burst(clients, each, account, name)
    answered = clocks()
    time.sleep(LOGGED)
    used = {name: value - before.get(name, 0.0) for name, value in clocks().items()}
    used["slurmctld"] = answered["slurmctld"] - before["slurmctld"]
    json.dump({"seconds": seconds, "processor": used}, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
