# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmctld at its limit: how many submissions it takes, and the processor time of each; compared with job_submit/lua.

Between two requests slurmctld's threads run, so each request finds cold caches. A loop does not show that.
"""

import operator
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from .inside.interleave import turn
from .machine import FILES, LOCAL, Machine
from .rows import Row, spread

GROUP = "saturation"
CLIENTS = 4
EACH = 300
TURNS = 12
"""Even, see turn()."""
ACCOUNT = "physics"
RATES = {2: 0.88, 20: 0.9, 202: 1.0}
"""By number of partitions: the rate relative to job_submit/lua."""
LINES = "SlurmctldDebug=error\nMaxJobCount=50000\n"
TOML = "/etc/slurm/slurmhooks.toml"
SILENT = "\n[decisions]\nenabled = false\n"
PLUGINS = {"no plugin": "", "lua": "lua", "slurmhooks": "python", "without decision log": "python"}
"""The plugin of each case."""
MICRO = 1e6
COMPUTES = """\
import time
from slurmhooks import hook

@hook.job_submit
def compute(job):
    end = time.thread_time_ns() + 1_000_000
    while time.thread_time_ns() < end:
        pass
"""
# os.clock() counts all threads of slurmctld, so the loop has as many turns as take 1 ms elsewhere.
COMPUTES_LUA = """\
function slurm_job_submit(job, partitions, uid)
   local sum = 0
   for number = 1, @COUNT@ do sum = sum + number % 7 end
   return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid) return slurm.SUCCESS end
return slurm.SUCCESS
"""
LOOPS = 20_000_000
SPEED = f"""\
local begin, sum = os.clock(), 0
for number = 1, {LOOPS} do sum = sum + number % 7 end
seconds = os.clock() - begin
"""
BUILD_SPEED = "gcc -O2 -o /opt/lua_speed /opt/lua_speed.c $(pkg-config --cflags --libs lua5.1)"

Files = Mapping[str, str]
"""Texts by path."""
Burst = Mapping[str, float]
"""Of one burst: submissions a second as ``rate``, and microseconds of processor time for each, by process."""


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    machine.lab("put", str(FILES / "submit.c"), "/opt/submit.c")
    machine.root("gcc -O2 -o /opt/submit /opt/submit.c -lslurm")
    before = machine.root(f"cat {TOML}")
    policy, script = ((FILES / name).read_text() for name in ("policy.py", "policy.lua"))
    machine.site({"policy.py": policy}, plugstack="")
    machine.put(script, "/etc/slurm/job_submit.lua")
    try:
        for partitions, limit in RATES.items():
            names = list(PLUGINS) if partitions == min(RATES) else ["lua", "slurmhooks"]
            bursts = in_turns(machine, _cases(names, before, partitions))
            yield _rate(f"{partitions} partitions", limit, bursts)
            if partitions == min(RATES):
                yield from _processor_time(bursts)
        yield from _computing(machine, before)
    finally:
        machine.put(before, TOML)


def _cases(names: list[str], toml: str, partitions: int = 2) -> dict[str, Files]:
    """Return the files of each case."""
    lines = LINES + "".join(f"PartitionName=p{n} Nodes=ALL MaxTime=60 State=UP\n" for n in range(partitions - 2))
    return {
        name: {
            TOML: toml + (SILENT if name == "without decision log" else ""),
            LOCAL: f"JobSubmitPlugins={PLUGINS[name]}\n{lines}" if PLUGINS[name] else lines,
        }
        for name in names
    }


def in_turns(
    machine: Machine, cases: Mapping[str, Files], turns: int = TURNS, jobs: Mapping[str, str] | None = None
) -> dict[str, list[Burst]]:
    """Return the bursts of each case; the same index is the same turn, and each case is first equally often.

    Each burst meets a new slurmctld without jobs. `jobs` has the names of the jobs.
    """
    bursts: dict[str, list[Burst]] = {name: [] for name in cases}
    for number in range(turns):
        for name in turn(list(cases), number):
            for path, text in cases[name].items():
                machine.put(text, path)
            machine.deploy()
            machine.lab("down")
            machine.lab("up")
            bursts[name].append(burst(machine, name=(jobs or {}).get(name, "saturated")))
    return bursts


def burst(machine: Machine, clients: int = CLIENTS, each: int = EACH, name: str = "saturated") -> Burst:
    """Submit jobs of this name."""
    found = machine.inside("saturated.py", str(clients), str(each), ACCOUNT, name)
    assert isinstance(found, dict)
    count, processor = clients * each, cast("dict[str, float]", found["processor"])
    return {"rate": count / found["seconds"]} | {it: MICRO * seconds / count for it, seconds in processor.items()}


def relative(
    group: str,
    what: str,
    limit: float,
    bursts: Mapping[str, list[Burst]],
    cases: tuple[str, str],
    processes: Sequence[str],
) -> Row:
    """Return a row about the processor time of some processes for a submission, in one case relative to another."""
    parts = {
        f"{case}: {process}, µs": spread([burst[process] for burst in each if process in burst])
        for case, each in bursts.items()
        for process in processes
        if process in each[0]
    }
    ours, theirs = ([sum(burst[process] for process in processes) for burst in bursts[case]] for case in cases)
    return Row(group, what, limit, "x", statistics.median(map(operator.truediv, ours, theirs)), parts=parts)


def ratios(bursts: Mapping[str, list[Burst]], what: str, case: str, than: str) -> list[float]:
    """Return a figure of one case relative to that of another, by turns."""
    return [ours[what] / theirs[what] for ours, theirs in zip(bursts[case], bursts[than], strict=True)]


def _rate(which: str, limit: float, bursts: Mapping[str, list[Burst]], policy: str = "job_submit policy") -> Row:
    parts = {f"{name}, a second": spread([burst["rate"] for burst in each]) for name, each in bursts.items()}
    found = ratios(bursts, "rate", "slurmhooks", "lua")
    what = f"{policy}, {which}, {CLIENTS} clients: submissions a second, relative to job_submit/lua"
    return Row(GROUP, what, limit, "x", statistics.median(found), at_least=True, parts=parts)


def _processor_time(bursts: Mapping[str, list[Burst]]) -> Iterator[Row]:
    """Yield the rows about processor time."""
    parts = {}
    for case, each in bursts.items():
        for process in sorted(set().union(*each) - {"rate"}):
            parts[f"{case}: {process}, µs"] = spread([burst.get(process, 0.0) for burst in each])
    bare = [burst["slurmctld"] for burst in bursts["no plugin"]]
    ours = [
        sum(value for name, value in burst.items() if name not in ("rate", "slurmctld"))
        for burst in bursts["slurmhooks"]
    ]
    collector = [burst["slurmhooks-coll"] for burst in bursts["slurmhooks"]]
    for what, values, limit in (("all processes of slurmhooks", ours, 0.22), ("the collector", collector, 0.04)):
        ratio = statistics.median(value / own for value, own in zip(values, bare, strict=True))
        text = f"the same, processor time for a submission: {what}, relative to slurmctld without a plugin"
        yield Row(GROUP, text, limit, "x", ratio, parts=parts)
    ratio = statistics.median(ratios(bursts, "slurmctld", "slurmhooks", "lua"))
    text = "the same, processor time for a submission: slurmctld, relative to slurmctld with job_submit/lua"
    yield Row(GROUP, text, 1.05, "x", ratio, parts=parts)


def _computing(machine: Machine, toml: str) -> Iterator[Row]:
    """Yield the row about a policy that computes."""
    machine.lab("put", str(FILES / "lua_speed.c"), "/opt/lua_speed.c")
    machine.root(BUILD_SPEED)
    seconds = float(machine.lab("exec", "--", "/opt/lua_speed", SPEED))
    count = round(LOOPS * 0.001 / seconds)
    workers = min(4, os.cpu_count() or 1)
    machine.root("rm /etc/slurm/hooks.d/*")
    machine.put(COMPUTES, "/etc/slurm/hooks.d/compute.py")
    machine.put(COMPUTES_LUA.replace("@COUNT@", str(count)), "/etc/slurm/job_submit.lua")
    more = f"\n[job_submit]\nworkers = {workers}\n"
    bursts = in_turns(machine, _cases(["lua", "slurmhooks"], toml + more))
    yield _rate(f"{workers} workers", 1.0, bursts, "job_submit policy that computes for 1 ms")
