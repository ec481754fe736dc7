# SPDX-License-Identifier: GPL-2.0-or-later
"""A realistic job_submit policy in a real slurmctld, compared with the same policy in job_submit/lua."""

import itertools
import statistics
from collections.abc import Iterator

from .machine import FILES, BenchError, Machine
from .rows import Row, spread

GROUP = "submissions"
CALLS = 300
TURNS = 10
LIMITS = {2: None, 20: None, 202: 0.5}
"""By number of partitions: the time of a call from slurmctld's threads, relative to job_submit/lua."""
OLD = ("22.05",)
"""Releases whose slurmctld makes a thread for each request; later ones have a pool of 64 (24.11) or less (26.05)."""
BUILD = "gcc -O2 -Wall -Wextra -shared -fPIC /opt/bench.c -o /usr/local/lib/slurm/job_submit_bench.so"
MICRO = 1e3


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    machine.lab("put", str(FILES / "job_submit_bench.c"), "/opt/bench.c")
    machine.root(BUILD)
    policy = (FILES / "policy.py").read_text()
    for partitions, limit in LIMITS.items():
        lines = "".join(f"PartitionName=p{n} Nodes=ALL MaxTime=60 State=UP\n" for n in range(partitions - 2))
        machine.site({"policy.py": policy}, local=f"JobSubmitPlugins=bench\n{lines}", plugstack="")
        machine.lab("put", str(FILES / "policy.lua"), "/etc/slurm/job_submit.lua")
        for mode, words in modes(machine).items():
            what = f"job_submit policy, {partitions} partitions, {words}: time of a call, relative to job_submit/lua"
            yield compare(machine, GROUP, what, None if mode == "loop" else limit, mode)
            floor = (
                f"a C program that answers at once, {partitions} partitions, {words}: time, relative to job_submit/lua"
            )
            yield compare(machine, GROUP, floor, None, mode, "echo")


def modes(machine: Machine) -> dict[str, str]:
    """Return the modes of job_submit_bench.c: how this release makes calls, and the fastest way."""
    return {"fresh" if machine.release in OLD else "pool": "slurmctld's threads", "loop": "one thread"}


def compare(machine: Machine, group: str, what: str, limit: float | None, mode: str, plugin: str = "python") -> Row:
    """Measure calls of a plugin and of job_submit/lua in turns, each against its neighbour, and return the row.

    The machine may be slow for a while. Lua comes first, because the first calls warm up caches that both use.
    """
    turns = [[calls(machine, name, mode) for name in ("lua", plugin)] for _ in range(TURNS)]
    ratio = spread([statistics.median(ours) / statistics.median(lua) for lua, ours in turns])
    lua, ours = (spread(list(itertools.chain(*(turn[which] for turn in turns)))) for which in (0, 1))
    name = "slurmhooks" if plugin == "python" else plugin
    parts = {"job_submit/lua, µs": lua, f"{name}, µs": ours, "one against the other, by turns": ratio}
    return Row(group, what, limit, "x", ratio.median, parts=parts)


def calls(machine: Machine, plugin: str, mode: str) -> list[float]:
    """Return the microseconds of the calls of a plugin."""
    machine.root(f"rm -f /tmp/bench-{plugin}-{mode}")
    output = machine.user(f"sbatch -A p -J bench:{plugin}:{mode}:{CALLS} --wrap true 2>&1 || true")
    if "bench: done" not in output:
        raise BenchError(f"job_submit/{plugin}: {output.strip()}; see 'run log {machine.release} slurmctld'")
    return [int(line) / MICRO for line in machine.root(f"cat /tmp/bench-{plugin}-{mode}").split()]
