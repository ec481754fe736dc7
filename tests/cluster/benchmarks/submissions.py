# SPDX-License-Identifier: GPL-2.0-or-later
"""A realistic job_submit policy inside a real slurmctld, beside the same in job_submit/lua."""

from collections.abc import Iterator

from .machine import FILES, BenchError, Machine
from .rows import Row, Spread, spread

GROUP = "submissions"
CALLS = 3000
LIMITS = {2: 0.33, 202: 0.05}
"""By partitions: of a call against job_submit/lua's."""
MANY = "".join(f"PartitionName=p{number} Nodes=ALL MaxTime=60 State=UP\n" for number in range(200))
MODES = {"fresh": "a thread for each call", "loop": "one thread"}
"""slurmctld calls from a fresh thread for every request."""
BUILD = "gcc -O2 -Wall -Wextra -shared -fPIC /opt/bench.c -o /usr/local/lib/slurm/job_submit_bench.so"
MICRO = 1e3


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    machine.lab("put", str(FILES / "job_submit_bench.c"), "/opt/bench.c")
    machine.root(BUILD)
    policy = (FILES / "policy.py").read_text()
    for partitions, limit in LIMITS.items():
        lines = MANY if partitions > 2 else ""
        machine.site({"policy.py": policy}, local=f"JobSubmitPlugins=bench\n{lines}", plugstack="")
        machine.lab("put", str(FILES / "policy.lua"), "/etc/slurm/job_submit.lua")
        for mode, words in MODES.items():
            # Lua first: the first calls warm up what both use.
            found = {plugin: calls(machine, plugin, mode) for plugin in ("lua", "python")}
            yield Row(
                GROUP,
                f"job_submit policy, {partitions} partitions, {words}: a call, against job_submit/lua's",
                limit,
                "x",
                found["python"].median / found["lua"].median,
                parts={f"{plugin}, µs": part for plugin, part in found.items()},
            )


def calls(machine: Machine, plugin: str, mode: str) -> Spread:
    """Return the microseconds of the calls of a plugin."""
    machine.root(f"rm -f /tmp/bench-{plugin}-{mode}")
    said = machine.user(f"sbatch -A p -J bench:{plugin}:{mode}:{CALLS} --wrap true 2>&1 || true")
    if "bench: done" not in said:
        raise BenchError(f"job_submit/{plugin}: {said.strip()}; see 'run log {machine.release} slurmctld'")
    return spread([int(line) / MICRO for line in machine.root(f"cat /tmp/bench-{plugin}-{mode}").split()])
