# SPDX-License-Identifier: GPL-2.0-or-later
"""How much slurmctld's memory grows with many submissions."""

from collections.abc import Iterator

from .machine import FILES, Lab
from .rows import Row

GROUP = "controller"
FIRST = 1_000
"""Submissions after which the memory has reached its normal size."""
COUNT = 100_000
LIMIT = 1.0
"""MiB of growth beyond that of slurmctld without handlers, which is 3.5 in 70,000 submissions (24.11)."""
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
"""Names of jobs, and JobSubmitPlugins for them. All are refused, because accepted jobs stay in memory, and even
--test-only leaves 6.5 KiB without a plugin. Handlers accept the last, which Slurm's own plugin then refuses."""


def measure(lab: Lab, count: int = COUNT) -> Iterator[Row]:
    """Measure the rows about memory, in a cluster that is up and has slurmhooks installed."""
    prepare(lab)
    alone = 0.0
    for name, plugins in CASES.items():
        lab("put", "-", "/etc/slurm/local.conf", stdin=f"JobSubmitPlugins={plugins}\nSlurmctldDebug=error\n")
        lab("restart")
        submit(lab, FIRST, name)
        before = resident(lab)
        submit(lab, count - FIRST, name)
        growth = resident(lab) - before
        what = f"slurmctld: memory growth from submission {FIRST:,} to {count:,}"
        if name == "alone":
            alone = growth
            yield Row(GROUP, f"{what}, without handlers", None, "MiB", growth)
        else:
            yield Row(GROUP, f"{what}, {name} jobs: beyond that without handlers", LIMIT, "MiB", growth - alone)


def prepare(lab: Lab) -> None:
    """Install the client and the hooks, without any other hooks."""
    lab("put", str(FILES / "submit.c"), f"{CLIENT}.c")
    lab("exec", "--", "gcc", "-O2", "-o", CLIENT, f"{CLIENT}.c", "-lslurm")
    lab("exec", "--", "sh", "-c", "rm -rf /etc/slurm/hooks.d/*; : > /etc/slurm/plugstack.conf")
    lab("put", "-", "/etc/slurm/hooks.d/memory.py", stdin=HOOKS)
    lab("put", "-", "/etc/slurm/local.conf", stdin="JobSubmitPlugins=python\n")
    lab("exec", "--", "slurmhooks", "deploy")


def submit(lab: Lab, count: int, name: str) -> None:
    """Submit one job many times, from two clients at once.

    Raises:
        RuntimeError: slurmctld did not refuse all of them.
    """
    client = f"{CLIENT} {count // 2} {name} & "
    output = lab("as", "alice", "--", "sh", "-c", f"{client}{client}wait")
    wanted = f"0 taken, {count // 2} refused"
    if output.splitlines() != [wanted, wanted]:
        raise RuntimeError(f"{count} submissions called {name}: {output}")


def resident(lab: Lab) -> float:
    """Return slurmctld's resident memory in MiB."""
    line = lab("exec", "--", "sh", "-c", "grep VmRSS: /proc/$(cat /run/slurmctld.pid)/status")
    return int(line.split()[1]) / 1024
