# SPDX-License-Identifier: GPL-2.0-or-later
"""Time commands inside a cluster, in turns, so that what disturbs the machine disturbs all of them alike.

They run at real-time priority, and so do the daemons meanwhile: the rest of the machine's load shows less.

Standard input: {"rounds": N, "cases": {NAME: {"plugstack": TEXT or null, "user": NAME, "command": [...]}}}.
Standard output: {NAME: [nanoseconds of wall time, one a round]}.
"""

import contextlib
import json
import os
import pwd
import sys
import time

PLUGSTACK = "/etc/slurm/plugstack.conf"


def switch(text: str) -> None:
    """Put plugstack.conf in place in one step: commands and slurmstepd read it at each start."""
    with open(PLUGSTACK + ".new", "w") as file:
        file.write(text)
    os.rename(PLUGSTACK + ".new", PLUGSTACK)


def urgent(threads: list[int], policy: int = os.SCHED_FIFO) -> None:
    """Put threads, and what they will start, before all else on the machine, where that is allowed."""
    for thread in threads:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(thread, policy, os.sched_param(int(policy == os.SCHED_FIFO)))


def daemons() -> list[int]:
    """Return the threads of slurmctld and slurmd."""
    found: list[int] = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as file:
            if file.read().strip() in ("slurmctld", "slurmd"):
                found += map(int, os.listdir(f"/proc/{pid}/task"))
    return found


def once(user: str, command: list[str]) -> int:
    """Run a command, silent, as a user; return the nanoseconds until its end.

    Raises:
        SystemExit: it failed; what it said follows.
    """
    account = pwd.getpwnam(user)
    with open("/tmp/bench.said", "w") as said:
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
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
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
        with open("/tmp/bench.said") as said:
            sys.exit(f"{' '.join(command)}: status {status:#x}\n{said.read()}")
    return took


def turn(names: list[str], number: int) -> list[str]:
    """Return the order of a round: each comes at each place and after each other, as what ran before leaves traces."""
    start = number // 2 % len(names)
    order = names[start:] + names[:start]
    return order if number % 2 else order[::-1]


def main() -> None:
    """Go round the cases; the first round warms up and does not count."""
    asked = json.load(sys.stdin)
    found: dict[str, list[int]] = {name: [] for name in asked["cases"]}
    urgent(daemons())
    try:
        for number in range(asked["rounds"] + 1):
            for name in turn(list(found), number):
                case = asked["cases"][name]
                if case["plugstack"] is not None:
                    switch(case["plugstack"])
                took = once(case["user"], case["command"])
                if number:
                    found[name].append(took)
    finally:
        urgent(daemons(), os.SCHED_OTHER)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
