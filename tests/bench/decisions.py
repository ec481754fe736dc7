# SPDX-License-Identifier: GPL-2.0-or-later
"""What decision log and metrics cost a request: the same policy with and without them, in turns."""

import itertools
import statistics
from collections.abc import Iterator

from .inside.interleave import turn
from .machine import FILES, Machine
from .rows import Row, spread
from .submissions import BUILD, calls

GROUP = "decisions"
TURNS = 12
"""Even, see turn()."""
LIMIT = 1.05
TOML = "/etc/slurm/slurmhooks.toml"
FOLDER = "/var/lib/slurmhooks"
CASES = {
    "without": "[decisions]\nenabled = false\n",
    "with": f'[metrics]\ntextfiles = "{FOLDER}"\ninterval = 1.0\n',
}
# The supervisor starts and ends the collector after the new configuration has gone into service.
SWITCHED = "until test $(pgrep -cx slurmhooks-coll) = {count}; do sleep 0.05; done"


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the row about reports."""
    machine.lab("put", str(FILES / "job_submit_bench.c"), "/opt/bench.c")
    machine.root(f"{BUILD}; install -d -o slurm {FOLDER}")
    machine.site({"policy.py": (FILES / "policy.py").read_text()}, local="JobSubmitPlugins=bench\n", plugstack="")
    before = machine.root(f"cat {TOML}")
    names = list(CASES)
    found: dict[str, list[list[float]]] = {name: [] for name in names}
    try:
        calls(machine, "python", "paced")  # starts the workers
        for number in range(TURNS):
            for name in turn(names, number):
                machine.put(f"{before}\n{CASES[name]}", TOML)
                machine.deploy()
                machine.root(SWITCHED.format(count=int(name == "with")))
                found[name].append(calls(machine, "python", "paced"))
    finally:
        machine.put(before, TOML)
    ratios = [
        statistics.median(after) / statistics.median(without)
        for without, after in zip(found["without"], found["with"], strict=True)
    ]
    parts = {f"{name} them, µs": spread(list(itertools.chain(*found[name]))) for name in names}
    what = "job_submit policy: time of a call with decision log and metrics, relative to none"
    yield Row(GROUP, what, LIMIT, "x", statistics.median(ratios), parts=parts | {"by turns": spread(ratios)})
