# SPDX-License-Identifier: GPL-2.0-or-later
"""Launches whose hook manifest is missing or outdated, compared with those that have one."""

import operator
import statistics
from collections.abc import Iterator

from . import sites
from .launches import BARE, SCRIPT, build_bare
from .machine import Machine
from .rows import Row, spread

GROUP = "no-manifest"
LINES = {
    "one task_init handler": ("required spank_python.so", "required spank_python.so config=slurmhooks.toml"),
    "task_init of one Lua script": (f"required spank_python.so {SCRIPT}", f"required spank_python.so {SCRIPT} more"),
}
"""A line of plugstack.conf, and another one that means the same but is not in the manifest."""
COMMANDS = {"srun -Q true": 40, "srun --help": 120}
"""Commands, each with its rounds."""
LIMITS = {
    ("srun -Q true", "one task_init handler"): 1.25,
    ("srun -Q true", "task_init of one Lua script"): 1.4,
    ("srun --help", "one task_init handler"): 2.0,
    ("srun --help", "task_init of one Lua script"): 3.0,
}


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    machine.put(sites.TASK_LUA, SCRIPT)
    build_bare(machine, BARE)
    for what, (known, unknown) in LINES.items():
        machine.site({"bench.py": sites.TASK}, plugstack=f"{known}\n")
        for command, rounds in COMMANDS.items():
            cases: dict[str, tuple[str | None, str]] = {
                "manifest": (f"{known}\n", command),
                "no manifest": (f"{unknown}\n", command),
                "embedded, bare": (None, BARE),
            }
            milliseconds = machine.times(rounds, cases)
            # By turns, because the machine may be slow for a while.
            ratios = list(map(operator.truediv, milliseconds["no manifest"], milliseconds["manifest"]))
            parts = {f"{name}, ms": spread(values) for name, values in milliseconds.items()}
            text = f"{command.replace(' -Q', '')}, {what}: wall time without a manifest, relative to one with it"
            limit = LIMITS[command, what]
            note = "embedded, bare: a program that only starts an isolated interpreter"
            parts["by turns"] = spread(ratios)
            yield Row(GROUP, text, limit, "x", statistics.median(ratios), parts=parts, note=note)
