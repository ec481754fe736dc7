# SPDX-License-Identifier: GPL-2.0-or-later
"""Submit many jobs inside a cluster while processes and files are disturbed.

Print a JSON line of figures for each part.  fire.py PART PARTS CLIENTS RECONFIGURE: PARTS times PART jobs from CLIENTS
processes, with `scontrol reconfigure` each RECONFIGURE seconds (0: never).
"""

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

FOLDER = Path("/var/lib/slurm/load")
HOOKS = Path("/etc/slurm/hooks.d")
POLICY = Path("/opt/load/policy.py")
PID = Path("/run/slurmctld.pid")
DEPLOY = 0.5
KILL = 0.7
SUPERVISOR = 60.0
"""Seconds between two kills of a supervisor: one that ends repeatedly is started again after growing pauses."""
SAMPLE = 2.0
KILLED = {"slurmhooks-work": 20, "slurmhooks-gen": 4, "slurmhooks-obs": 4, "slurmhooks-coll": 2}
"""Names of processes, with their weights."""

Figures = dict[str, float]


def processes() -> Iterator[tuple[int, str, dict[str, str]]]:
    """Yield process id, name and status of every process."""
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            with contextlib.suppress(OSError, ValueError):
                lines = Path(f"/proc/{entry}/status").read_text().splitlines()
                status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
                yield int(entry), status["Name"], status


def descriptors(pid: int) -> int:
    """Return how many entries a folder of a process has; 0 if the process has just ended."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def sample() -> Figures:
    """Return the present resource use of the processes: sums and maxima by the name of the process."""
    found: Figures = defaultdict(int)
    # `scontrol reconfigure` starts slurmctld from a descriptor, and such a process has another name.
    slurmctld = int(PID.read_text() or 0) if PID.exists() else 0
    for pid, name, status in processes():
        if pid == slurmctld:
            name = "slurmctld"
        if status["State"].startswith("Z"):
            found["zombies"] += 1
        elif "VmRSS" in status and (name.startswith("slurmhooks-") or name == "slurmctld"):
            found[f"{name} processes"] += 1
            for what, value in (
                ("MiB", int(status["VmRSS"].split()[0]) // 1024),
                ("descriptors", descriptors(pid)),
                ("threads", int(status["Threads"])),
            ):
                found[f"{name} {what}"] = max(found[f"{name} {what}"], value)
        found["processes"] += 1
    found["UNIX sockets"] = len(Path("/proc/net/unix").read_text().splitlines()) - 1
    return dict(found)


class Policy:
    """The hook file, of which new versions are deployed; some do not load, and are refused."""

    def __init__(self) -> None:
        self._text = POLICY.read_text()
        self._versions = itertools.count(1)
        self._deploying: subprocess.Popen[bytes] | None = None

    def deploy(self) -> bool:
        """Write the next version, and begin to deploy it, unless the last deployment goes on."""
        if self._deploying is not None and self._deploying.poll() is None:
            return False
        text = self._text.replace("VERSION = 0", f"VERSION = {next(self._versions)}")
        (HOOKS / "policy.py").write_text(text + "\nthis is not Python\n" * (random.random() < 0.1))
        command = ["slurmhooks", "deploy"]
        self._deploying = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return True


class Every:
    """Repeats an action at an interval in seconds, never twice at the same time."""

    def __init__(self, seconds: float, action: Callable[[], object]) -> None:
        self._seconds, self._action = seconds, action
        self._next = time.monotonic() + seconds

    def turn(self) -> None:
        """Do the action if it is due."""
        if time.monotonic() >= self._next:
            self._action()
            self._next = max(self._next + self._seconds, time.monotonic())


class Fire:
    """One run."""

    def __init__(self, clients: int, reconfigure: float) -> None:
        self.counts: Counter[str] = Counter()
        self.samples: list[Figures] = []
        self._clients = clients
        self._policy = Policy()
        self._reconfiguring: subprocess.Popen[bytes] | None = None
        self._actions = [
            Every(DEPLOY, self._deploy),
            Every(KILL, lambda: self._kill(*random.choices(list(KILLED), list(KILLED.values())))),
            Every(SUPERVISOR, lambda: self._kill("slurmhooks-sup")),
            Every(SAMPLE, lambda: self.samples.append(sample())),
        ]
        if reconfigure:
            self._actions.append(Every(reconfigure, self._reconfigure))

    def _deploy(self) -> None:
        self.counts["deployments"] += self._policy.deploy()

    def _kill(self, name: str) -> None:
        victims = [pid for pid, found, _ in processes() if found == name]
        if victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(random.choice(victims), signal.SIGKILL)
            self.counts[f"{name} killed"] += 1

    def _reconfigure(self) -> None:
        self._end_reconfiguring()
        if self._reconfiguring is None:
            command = ["scontrol", "reconfigure"]
            self._reconfiguring = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _end_reconfiguring(self) -> None:
        if self._reconfiguring is not None and self._reconfiguring.poll() is not None:
            failed = self._reconfiguring.returncode != 0
            self.counts["reconfigurations refused" if failed else "reconfigurations"] += 1
            self._reconfiguring = None

    def part(self, first: int, end: int) -> None:
        """Submit jobs, and disturb until each client has all its answers."""
        running = []
        for client in range(self._clients):
            file = str(FOLDER / f"client-{client}")
            command = ["/opt/load/client", str(first + client), str(self._clients), str(end), file]
            running.append(subprocess.Popen(["runuser", "-u", "alice", "--", *command]))
        while any(each.poll() is None for each in running):
            for action in self._actions:
                action.turn()
            self._end_reconfiguring()
            time.sleep(0.01)
        self.counts["clients failed"] += sum(each.returncode != 0 for each in running)


def main(size: int, parts: int, clients: int, reconfigure: float) -> None:
    """Print a line for each part, and one at the end."""
    first = 1 + max((int(path.name) for path in FOLDER.glob("[0-9]*")), default=0)
    fire = Fire(clients, reconfigure)
    for _ in range(parts):
        begin = time.monotonic()
        fire.samples.append(sample())
        fire.part(first, first + size)
        first += size
        (FOLDER / str(first - 1)).touch()
        seconds = round(time.monotonic() - begin, 1)
        highest = {key: max(each.get(key, 0) for each in fire.samples) for key in sorted(set().union(*fire.samples))}
        counts = dict(fire.counts)
        print(json.dumps({"jobs": first - 1, "seconds": seconds, "counts": counts, "highest": highest}), flush=True)  # noqa: T201
        fire.samples.clear()
        fire.counts.clear()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
