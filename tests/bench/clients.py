# SPDX-License-Identifier: GPL-2.0-or-later
"""sbatch, salloc and srun with registered options and no handler for them."""

import operator
import statistics
from collections.abc import Iterator

from . import sites
from .machine import ABSENT, PLUGSTACK, SPANK_LUA, Machine
from .rows import Row, number, spread

GROUP = "clients"
COMMANDS = {"sbatch": "sbatch -H --wrap true", "salloc": "salloc -Q true", "srun": "srun -Q true"}
MILLION = 1e6
COUNTS = 8
ROUNDS = 240


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    machine.site({"bench.py": sites.QUIET})
    machine.put(sites.QUIET_LUA, "/etc/slurm/bench.lua")
    plugstacks = {"no plugin": "", "slurmhooks": PLUGSTACK}
    if machine.spank_lua:
        plugstacks["spank-lua"] = f"required {SPANK_LUA} /etc/slurm/bench.lua\n"
    try:
        for name, command in COMMANDS.items():
            yield _instructions(machine, name, command, plugstacks)
        for name in COMMANDS:
            yield _times(machine, name, plugstacks)
    finally:
        machine.root("scancel --state=PENDING --user=alice")
    yield other_files(machine)


def other_files(machine: Machine) -> Row:
    """Count the instructions of a launch with a handler, with and without hook files that it does not need."""
    counts = {}
    for others in (0, 99):
        machine.site({"bench.py": sites.EARLY} | {f"other{number}.py": sites.OTHER for number in range(others)})
        values = machine.instructions("srun --help", COUNTS)
        counts[f"{others + 1} hook files, million"] = spread([count / MILLION for count in values])
    one, hundred = (part.median for part in counts.values())
    what = "srun --help, one init handler, 99 hook files of job_submit beside it: instructions, relative to none"
    return Row(GROUP, what, 1.02, "x", hundred / one, parts=counts)


def _instructions(machine: Machine, name: str, command: str, plugstacks: dict[str, str]) -> Row:
    """Count instructions.

    The median, not the minimum: one salloc in twenty gets its allocation with one message less.
    """
    spreads = {}
    for plugin, plugstack in plugstacks.items():
        machine.put(plugstack, "/etc/slurm/plugstack.conf")
        spreads[plugin] = spread([count / MILLION for count in machine.instructions(command, COUNTS)])
    added = spreads["slurmhooks"].median - spreads["no plugin"].median
    return Row(
        GROUP,
        f"{name} with options registered, no handler needed: instructions added",
        0.15,
        "million",
        added if added > 0 else None,
        parts={f"{plugin}, million": part for plugin, part in spreads.items()},
    )


def _times(machine: Machine, name: str, plugstacks: dict[str, str]) -> Row:
    """Time the client alone: --help loads the plugins and does not contact slurmctld."""
    cases: dict[str, tuple[str | None, str]] = {plugin: (text, f"{name} --help") for plugin, text in plugstacks.items()}
    milliseconds = machine.times(ROUNDS, cases)
    parts = {f"{plugin}, ms": spread(values) for plugin, values in milliseconds.items()}
    what = f"{name} --help with options registered: wall time added, relative to spank-lua"
    if not machine.spank_lua:
        return Row(GROUP, what, 0.5, "x", None, parts=parts, note=ABSENT)
    # Compare neighbours in time, because the machine may be slow for a while.
    without = milliseconds["no plugin"]
    added = {
        plugin: statistics.median(map(operator.sub, values, without))
        for plugin, values in milliseconds.items()
        if plugin != "no plugin"
    }
    if added["spank-lua"] <= 0 or added["slurmhooks"] < 0:
        return Row(GROUP, what, 0.5, "x", None, parts=parts, note="lost in noise: use an idle machine")
    note = f"median of turns: {number(added['slurmhooks'])} ms added, spank-lua {number(added['spank-lua'])} ms"
    return Row(GROUP, what, 0.5, "x", added["slurmhooks"] / added["spank-lua"], parts=parts, note=note)
