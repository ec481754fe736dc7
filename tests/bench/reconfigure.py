# SPDX-License-Identifier: GPL-2.0-or-later
"""How long `scontrol reconfigure` takes: with all plugins that have workers, with one, and with none, in turns."""

import statistics
from collections.abc import Iterator

from .inside.interleave import turn
from .machine import Machine
from .rows import Row, spread

GROUP = "controller"
TURNS = 6
"""Even, see turn()."""
LIMIT = 4.0
"""As many as there are plugins: each waits for its hooks, but all hooks load at the same time."""
LIMIT_TO_NONE = 1.5
ONE = "JobSubmitPlugins=python\n"
CASES = {
    "no plugin": "",
    "one plugin": ONE,
    "all plugins": f"{ONE}PriorityType=priority/multifactor\nPrioritySiteFactorPlugin=site_factor/python\n"
    "PrEpPlugins=prep/script,prep/python\nJobCompType=jobcomp/python\n",
}
TIME = """\
scontrol reconfigure
sleep 1
begin=$(date +%s%N)
scontrol reconfigure
echo $((($(date +%s%N) - begin) / 1000000))
"""


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows about reconfigurations."""
    found: dict[str, list[float]] = {name: [] for name in CASES}
    for number in range(TURNS):
        for name in turn(list(CASES), number):
            machine.put(CASES[name], "/etc/slurm/local.conf")
            found[name].append(float(machine.root(TIME)))
    all_plugins = statistics.median(found["all plugins"])
    parts = {f"{name}, ms": spread(times) for name, times in found.items()}
    note = "before 23.11 slurmctld remains the same process"
    for than, text, limit in (("one plugin", "one", LIMIT), ("no plugin", "none", LIMIT_TO_NONE)):
        what = f"scontrol reconfigure: time with four plugins that have workers, relative to {text}"
        yield Row(GROUP, what, limit, "x", all_plugins / statistics.median(found[than]), parts=parts, note=note)
