# SPDX-License-Identifier: GPL-2.0-or-later
"""What Slurm gave to jobs, as scontrol shows it, and how it compares with their bounds."""

import re
from typing import Any

from slurmhooks.job_submit.strings import expand_nodes


def amounts(job: dict[str, str]) -> dict[str, list[int]]:
    """Return what Slurm gave to a job: numbers that must lie within the bound of the same name."""
    nodes, cpus, memory, gpus, kinds = 0, [], [], [], dict[str, int]()
    for match in re.finditer(r" Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+) GRES=(\S*)", job["line"]):
        count = len(expand_nodes(match[1]))
        nodes += count
        cpus += [sum(_width(part) for part in match[2].split(","))] * count
        memory += [int(match[3])] * count
        own = {kind: int(number) for kind, number in re.findall(r"gpu:(\w+):(\d+)", match[4])}
        gpus += [sum(own.values())] * count
        for kind, number in own.items():
            kinds[kind] = kinds.get(kind, 0) + number * count
    assert nodes <= int(job["NumNodes"]), job
    return {
        "nodes": [int(job["NumNodes"])],
        "cpus": [int(job["NumCPUs"])],
        "cpus_per_node": cpus,
        "gpus": [sum(kinds.values())],
        "gpus_per_node": gpus,
        "memory": [sum(memory)],
        "memory_per_node": memory,
        **({"tasks": [int(job["NumTasks"])]} if "NumTasks" in job else {}),
        **{f"type {kind}": [number] for kind, number in kinds.items()},
    }


def _width(part: str) -> int:
    first, _, last = part.partition("-")
    return int(last or first) - int(first) + 1


def needed(job: dict[str, str]) -> dict[str, list[int]]:
    """Return the least CPUs for which Slurm gives those of a job: on node n3 it gives whole cores of two CPUs."""
    unused = int("n3" in expand_nodes(job["NodeList"]))
    groups = re.findall(r" Nodes=(\S+) CPU_IDs=(\S+)", job["line"])
    on_nodes = [
        sum(map(_width, cpus.split(","))) - (name == "n3") for nodes, cpus in groups for name in expand_nodes(nodes)
    ]
    return {"cpus": [int(job["NumCPUs"]) - unused], "cpus_per_node": on_nodes}


def minutes(job: dict[str, str]) -> int | None:
    """Return the time limit of a job; None if it has none."""
    limit = re.match(r"(?:(\d+)-)?(\d+):(\d+):", job["TimeLimit"])
    return int(limit[1] or 0) * 1440 + int(limit[2]) * 60 + int(limit[3]) if limit else None


def outside(job: dict[str, str], bounds: dict[str, Any], without: str = "$") -> list[str]:
    """Return what Slurm gave beyond the bounds.

    ``job`` is what scontrol showed; the amounts that match ``without`` are not in it.
    """
    wrong = []
    fewest = needed(job)
    for name, numbers in amounts(job).items():
        if re.match(without, name):
            continue
        if name.startswith("type "):
            types = bounds["gpu_types"]
            either = [types.get(key, [0, 0])[1] for key in (name.removeprefix("type "), "None")]
            least, most = 0, None if None in either else sum(either)
        else:
            least, most = bounds[name]
        # Slurm may allocate nodes of which the job gets nothing.
        wrong += [f"{name}: {number}, not {least} to {most}" for number in numbers
                  if number < least and (number or not name.endswith("_per_node"))]  # fmt: skip
        wrong += [f"{name}: {number}, not {least} to {most}" for number in fewest.get(name, numbers)
                  if most is not None and number > most]  # fmt: skip
    time = minutes(job)
    if time is not None:
        least, most = bounds["time"]
        wrong += [f"time: {time}"] if time < least or (most is not None and time > most) else []
    licenses: dict[str, int] = {}
    text = job.get("Licenses", "").replace("(null)", "")
    for name, number in re.findall(r"([\w@]+)(?:[:=](\d+))?", "" if "|" in text else text):
        licenses[name] = licenses.get(name, 0) + int(number or 1)
    for name, count in licenses.items():
        least, most = bounds["licenses"].get(name, [0, 0])
        if count < least or (most is not None and count > most):
            wrong.append(f"license {name}: {count}")
    return wrong
