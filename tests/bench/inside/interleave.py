# SPDX-License-Identifier: GPL-2.0-or-later
"""Time commands inside a cluster, in turns, so that disturbances affect all of them alike.

The commands and the daemons run at real-time priority during this time, so that other load has less effect.

Standard input: {"rounds": N, "cases": {NAME: {"plugstack": TEXT or null, "user": NAME, "command": [...]}}}.
Standard output: {NAME: [nanoseconds of wall time of each round]}.
"""

import contextlib
import json
import os
import pwd
import sys
import time

PLUGSTACK = "/etc/slurm/plugstack.conf"


def switch(text: str) -> None:
    """Replace plugstack.conf atomically: commands and slurmstepd read it at each start."""
    with open(PLUGSTACK + ".new", "w") as file:
        file.write(text)
    os.rename(PLUGSTACK + ".new", PLUGSTACK)


def urgent(threads: list[int], policy: int = os.SCHED_FIFO) -> None:
    """Give threads and their future children priority over everything else, where that is allowed."""
    for thread in threads:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(thread, policy, os.sched_param(int(policy == os.SCHED_FIFO)))


def daemons() -> list[int]:
    """Return the threads of slurmctld and slurmd."""
    threads: list[int] = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as file:
            if file.read().strip() in ("slurmctld", "slurmd"):
                threads += map(int, os.listdir(f"/proc/{pid}/task"))
    return threads


def once(user: str, command: list[str]) -> int:
    """Run a command as a user, without showing its output; return the nanoseconds until its end.

    Raises:
        SystemExit: the command failed; the text has its output.
    """
    account = pwd.getpwnam(user)
    with open("/tmp/bench.output", "w") as output:
        ready, go = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.close(go)
                urgent([0])
                os.setgroups([])
                os.setgid(account.pw_gid)
                os.setuid(account.pw_uid)
                os.chdir(account.pw_dir)
                null = os.open(os.devnull, os.O_RDONLY)
                os.dup2(null, 0)
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                os.read(ready, 1)
                os.execvp(command[0], command)
            finally:
                os._exit(127)
        os.close(ready)
        begin = time.monotonic_ns()
        os.close(go)
        status = os.waitpid(child, 0)[1]
        took = time.monotonic_ns() - begin
    if status:
        with open("/tmp/bench.output") as output:
            sys.exit(f"{' '.join(command)}: status {status:#x}\n{output.read()}")
    return took


def turn(names: list[str], number: int) -> list[str]:
    """Return the order of a round: each case has each position, and follows each other case, equally often."""
    start = number // 2 % len(names)
    order = names[start:] + names[:start]
    return order if number % 2 else order[::-1]


def main() -> None:
    """Time all cases in each round; the first round warms up and does not count."""
    request = json.load(sys.stdin)
    nanoseconds: dict[str, list[int]] = {name: [] for name in request["cases"]}
    urgent(daemons())
    try:
        for number in range(request["rounds"] + 1):
            for name in turn(list(nanoseconds), number):
                case = request["cases"][name]
                if case["plugstack"] is not None:
                    switch(case["plugstack"])
                took = once(case["user"], case["command"])
                if number:
                    nanoseconds[name].append(took)
    finally:
        urgent(daemons(), os.SCHED_OTHER)
    json.dump(nanoseconds, sys.stdout)


if __name__ == "__main__":
    main()
