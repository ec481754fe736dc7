# SPDX-License-Identifier: GPL-2.0-or-later
"""How long `scontrol reconfigure` takes: with all plugins that have workers, with rules, with one, and with none."""

import statistics
from collections.abc import Iterator

from .inside.interleave import turn
from .machine import LOCAL, Machine
from .rows import Row, spread
from .rules import RULES, toml
from .saturation import TOML

GROUP = "controller"
TURNS = 6
"""Even, see turn()."""
LIMIT = 4.0
"""As many as there are plugins: each waits for its hooks, but all hooks load at the same time."""
LIMIT_OF_RULES = 1.3
ONE = "JobSubmitPlugins=python\n"
ALL = (
    f"{ONE}PriorityType=priority/multifactor\nPrioritySiteFactorPlugin=site_factor/python\n"
    "PrEpPlugins=prep/script,prep/python\nJobCompType=jobcomp/python\n"
)
CASES = {"no plugin": ("", 0), "one plugin": (ONE, 0), "all plugins": (ALL, 0), "all plugins, rules": (ALL, RULES)}
"""Lines of slurm.conf, and how many rules there are."""
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
    before = machine.root(f"cat {TOML}")
    for number in range(TURNS):
        for name in turn(list(CASES), number):
            local, rules = CASES[name]
            machine.put(local, LOCAL)
            machine.put(toml(rules), TOML)
            machine.deploy()
            found[name].append(float(machine.root(TIME)))
    machine.put(before, TOML)
    all_plugins = statistics.median(found["all plugins"])
    parts = {f"{name}, ms": spread(times) for name, times in found.items()}
    note = "before 23.11 slurmctld remains the same process"
    for than, text, limit in (("one plugin", "one", LIMIT), ("no plugin", "none", None)):
        what = f"scontrol reconfigure: time with four plugins that have workers, relative to {text}"
        yield Row(GROUP, what, limit, "x", all_plugins / statistics.median(found[than]), parts=parts, note=note)
    what = f"scontrol reconfigure: time with four plugins and {RULES} rules, relative to four plugins without rules"
    with_rules = statistics.median(found["all plugins, rules"])
    yield Row(GROUP, what, LIMIT_OF_RULES, "x", with_rules / all_plugins, parts=parts)
