# SPDX-License-Identifier: GPL-2.0-or-later
"""What many submissions leave behind in slurmctld's memory.

:func:`measure` is for tests/cluster/bench; ``python tests/bench/memory.py RELEASE [COUNT]`` does it alone, in a cluster
that is up, with the hooks installed.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

HERE = Path(__file__).resolve().parent
RUN = HERE.parent / "cluster" / "run"
FIRST = 1_000
"""After as many, memory is what it will be."""
COUNT = 100_000
LIMIT = 1.0
"""MiB that memory may grow by more than slurmctld's without handlers, which grows, too: by 3.5 in 70,000 (24.11)."""
CLIENT = "/opt/submit"
HOOKS = """\
from slurmhooks import Reject, hook, log

@hook.job_submit
def submit(job, submit_uid):
    job.comment = f"{job.name} of {submit_uid} {job.environment.get('PATH')}"
    job.environment["SEEN"] = job.comment
    log.user("seen %s", job.comment)
    if job.name == "refused":
        raise Reject("refused", code="ESLURM_INVALID_QOS")
"""
CASES = {"alone": "require_timelimit", "refused": "python", "accepted": "python,require_timelimit"}
"""Names of jobs, and JobSubmitPlugins for them. All are refused: a job that is taken stays in memory, and one of
--test-only leaves 6.5 KiB there with no plugin at all. Handlers accept the last, and Slurm's own plugin refuses it."""


class Lab(Protocol):
    """A verb of `tests/cluster/run` for one release, which must succeed; returns what it prints."""

    def __call__(self, verb: str, /, *arguments: str, stdin: str | None = None) -> str:
        """Run it."""


def measure(lab: Lab, count: int = COUNT) -> Iterator[tuple[str, float, float | None]]:
    """Yield rows: what was measured, its value, and what it may be at most (None: anything)."""
    prepare(lab)
    alone = 0.0
    for name, plugins in CASES.items():
        lab("put", "-", "/etc/slurm/local.conf", stdin=f"JobSubmitPlugins={plugins}\nSlurmctldDebug=error\n")
        lab("restart")
        submit(lab, FIRST, name)
        before = resident(lab)
        submit(lab, count - FIRST, name)
        growth = resident(lab) - before
        what = f"slurmctld's memory after {count:,} submissions above that after {FIRST:,}, MiB"
        if name == "alone":
            alone = growth
            yield f"{what}: without handlers", growth, None
        else:
            yield f"{what}: {name}, beyond that without handlers", growth - alone, LIMIT


def prepare(lab: Lab) -> None:
    """Put client and hooks in place, as the only ones."""
    lab("put", str(HERE / "submit.c"), f"{CLIENT}.c")
    lab("exec", "--", "gcc", "-O2", "-o", CLIENT, f"{CLIENT}.c", "-lslurm")
    lab("exec", "--", "sh", "-c", "rm -rf /etc/slurm/hooks.d/*; : > /etc/slurm/plugstack.conf")
    lab("put", "-", "/etc/slurm/hooks.d/memory.py", stdin=HOOKS)


def submit(lab: Lab, count: int, name: str) -> None:
    """Submit one job many times, from two clients at once.

    Raises:
        RuntimeError: slurmctld did something else with some of them.
    """
    client = f"{CLIENT} {count // 2} {name} & "
    said = lab("as", "alice", "--", "sh", "-c", f"{client}{client}wait")
    wanted = f"0 taken, {count // 2} refused"
    if said.splitlines() != [wanted, wanted]:
        raise RuntimeError(f"{count} submissions called {name}: {said}")


def resident(lab: Lab) -> float:
    """Return slurmctld's resident memory in MiB."""
    line = lab("exec", "--", "sh", "-c", "grep VmRSS: /proc/$(cat /run/slurmctld.pid)/status")
    return int(line.split()[1]) / 1024


def command(release: str) -> Lab:
    """Return the function that :func:`measure` takes, for the cluster that SLURMHOOKS_CLUSTER names."""

    def lab(verb: str, /, *arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            [RUN, verb, release, *arguments], input=stdin, stdout=subprocess.PIPE, text=True, env=os.environ
        )
        if done.returncode:
            raise RuntimeError(f"run {verb} {release} {' '.join(arguments)}: exit {done.returncode}")
        return done.stdout

    return lab


if __name__ == "__main__":
    for row in measure(command(sys.argv[1]), *map(int, sys.argv[2:])):
        sys.stdout.write("{}: {:.3f}, at most {}\n".format(*row))
        sys.stdout.flush()
