# SPDX-License-Identifier: GPL-2.0-or-later
"""How long sbatch takes when several run at once, compared with job_submit/lua."""

import statistics
from collections.abc import Iterator

from .inside.interleave import turn
from .machine import FILES, Machine
from .rows import Row, spread
from .saturation import ACCOUNT, LINES, PLUGINS

GROUP = "latency"
CLIENTS, COMMANDS = 8, 40
"""How many clients run sbatch at once, and how often each does."""
TURNS = 24
"""Even, see turn(). The slowest three of 320 commands vary by a tenth."""


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group, each time with a new slurmctld without jobs."""
    machine.site({"policy.py": (FILES / "policy.py").read_text()}, plugstack="")
    machine.put((FILES / "policy.lua").read_text(), "/etc/slurm/job_submit.lua")
    names = ["lua", "slurmhooks"]
    middle: dict[str, list[float]] = {name: [] for name in names}
    slowest: dict[str, list[float]] = {name: [] for name in names}
    for number in range(TURNS):
        for name in turn(names, number):
            machine.put(f"JobSubmitPlugins={PLUGINS[name]}\n{LINES}", "/etc/slurm/local.conf")
            machine.lab("down")
            machine.lab("up")
            found = machine.inside("latency.py", str(CLIENTS), str(COMMANDS), ACCOUNT)
            assert isinstance(found, list)
            middle[name].append(statistics.median(found))
            slowest[name].append(statistics.quantiles(found, n=100)[98])
    for what, limit, times in (("99th percentile", 1.05, slowest), ("median", None, middle)):
        parts = {f"{name}, ms": spread(values) for name, values in times.items()}
        ratio = statistics.median(ours / lua for ours, lua in zip(times["slurmhooks"], times["lua"], strict=True))
        what = f"sbatch, {CLIENTS} clients: {what} of the latency, relative to job_submit/lua"
        yield Row(GROUP, what, limit, "x", ratio, parts=parts)
