# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs with random options on a real cluster: their options, what slurmctld gives to them, and what that may be."""

import random
import re
from collections.abc import Collection, Mapping
from typing import Any

from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import FOLDER, Site, prepare, shown

HOOK = """\
    def plain(value):
        if isinstance(value, dict):
            return {str(key): plain(each) for key, each in value.items()}
        most = getattr(value, "most", None)
        return [value.least, most if isinstance(most, int) else None] if most is not None else value

    @hook.job_submit
    def submitted(job):
        tell(name=job.name, bounds={name: plain(value) for name, value in vars(job.bounds).items()})

    @hook.job_modify
    def updated(job):
        tell(name=job.comment, bounds={name: plain(value) for name, value in vars(job.bounds).items()})
"""
PARTITIONS = """\
PartitionName=debug Nodes=ALL Default=YES MaxTime=60 State=UP DefMemPerCPU=100
PartitionName=gpu Nodes=n[1-2] MaxTime=60 State=UP DefMemPerNode=500 DefCpuPerGPU=2 DefMemPerGPU=200
PartitionName=whole Nodes=ALL MaxTime=60 State=UP OverSubscribe=EXCLUSIVE DefMemPerNode=1000
PartitionName=wide Nodes=ALL MaxTime=60 State=UP MinNodes=2 MaxMemPerCPU=300 DefMemPerCPU=100
"""
CONF = "GresTypes=gpu\nLicenses=ansys:20\nSelectTypeParameters=CR_Core_Memory\nJobSubmitPlugins=python\n"
HARDWARE = {
    1: "Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 Gres=gpu:tesla:4",
    2: "Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 Gres=gpu:tesla:2,gpu:kepler:2",
    3: "Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 Gres=gpu:kepler:1",
}
GRES = """\
NodeName=n1 Name=gpu Type=tesla File=/var/tmp/gpu[0-3]
NodeName=n2 Name=gpu Type=tesla File=/var/tmp/gpu[0-1]
NodeName=n2 Name=gpu Type=kepler File=/var/tmp/gpu[2-3]
NodeName=n3 Name=gpu Type=kepler File=/var/tmp/gpu0
"""
MARK = "=== "
SCRIPT = "/var/tmp/job.sh"
JOB = f"""\
#!/bin/sh
scontrol -d show job -o $SLURM_JOB_ID > {FOLDER}/given.$SLURM_JOB_NAME
"""
GROUPS: list[list[str]] = [
    ["", "", "", "-N1", "-N2", "-N1-2", "-N1-3", "-N3", "-w n1", "-w n[1-2] -N2"],
    ["", "", "-n1", "-n2", "-n4", "-n6", "-n10"],
    ["", "", "", "--ntasks-per-node=1", "--ntasks-per-node=2", "--ntasks-per-node=3"],
    ["", "", "-c1", "-c2", "-c3"],
    ["", "", "--gpus=1", "--gpus=2", "--gpus=4", "--gpus=tesla:2", "--gpus=kepler:1,tesla:2", "--gpus-per-node=1",
     "--gpus-per-node=2", "--gpus-per-task=1", "--gres=gpu:1", "--gres=gpu:tesla:1", "--gres=gpu:2,gpu:1",
     "--gpus-per-socket=1 --sockets-per-node=2", "--gpus-per-socket=1 --sockets-per-node=1", "--gres="],
    ["", "", "", "--ntasks-per-gpu=1", "--ntasks-per-gpu=2"],
    ["", "", "", "--cpus-per-gpu=1", "--cpus-per-gpu=2"],
    ["", "", "", "--mem=200", "--mem=0", "--mem-per-cpu=50", "--mem-per-cpu=150", "--mem-per-cpu=450",
     "--mem-per-gpu=100"],
    ["", "", "", "", "--exclusive", "--exclusive=user", "-O", "--spread-job", "--use-min-nodes", "--mincpus=3",
     "-S1"],
    ["", "", "-L ansys:2", "-L ansys"],
    ["", "", "", "-p gpu", "-p whole", "-p wide", "-p debug,gpu", "-p gpu,whole", "--reservation=course"],
    ["", "", "-t5", "-t5 --time-min=2"],
]  # fmt: skip
"""Options by topic, one of each of which is drawn."""
CHANGES = [
    "NumNodes=2", "NumNodes=1-2", "NumNodes=3", "NumTasks=4", "NumCPUs=6", "NumCPUs=1", "MinCPUsNode=3",
    "TresPerNode=gres/gpu:2", "TresPerNode=gres/gpu:tesla:1", "TresPerTask=gres/gpu:1", "TresPerSocket=gres/gpu:1",
    "TresPerJob=gres/gpu:3", "CpusPerTres=gres/gpu:2", "MinMemoryNode=300", "MinMemoryCPU=120", "Partition=whole",
    "Partition=gpu", "Partition=wide", "Licenses=ansys:4", "TimeLimit=7", "TimeLimit=3", "OverSubscribe=NO",
    "ReqNodeList=n1", "CPUsPerTask=2",
]  # fmt: skip

CRASHES = {"--spread-job": "gpu"}
"""Options that crash slurmctld itself if the job, or an update of it, also asks for the other.

Shown on 24.11.5 without JobSubmitPlugins: `sbatch --spread-job --gpus=2`, and `sbatch -H --spread-job` with TresPerJob
set by scontrol, end slurmctld in eval_nodes_gres() as soon as the job is scheduled. 22.05.8 survives both.
"""


def options(generator: random.Random) -> str:
    """Return options of a job, a few or many; Slurm refuses some of these combinations."""
    some = GROUPS if generator.random() < 0.5 else generator.sample(GROUPS, generator.randint(2, 5))
    words = [word for word in (generator.choice(group) for group in GROUPS if group in some) if word]
    text = " ".join(words)
    if "--ntasks-per-gpu" in text:
        words = [
            word for word in words if not re.match("--ntasks-per-node|--gpus-per-(task|socket)|--gpus-per-node", word)
        ]
    elif "gpu" not in text:
        words = [word for word in words if "per-gpu" not in word]
    if "--cpus-per-gpu" in text:
        words = [word for word in words if not word.startswith("-c")]
    if "-per-gpu" in text and not re.search("--gpus|--gres=g", text):
        words = [word for word in words if not re.match("--(cpus|mem)-per-gpu", word)]
    return " ".join(word for word in words if word not in CRASHES or CRASHES[word] not in text)


def prepared(cluster: Cluster, hardware: Mapping[int, str] = HARDWARE, lines: str = "") -> Site:
    """Return a cluster of three nodes with GPUs of two types, licenses, a reservation, and different partitions.

    Args:
        cluster: the cluster.
        hardware: what each node has, by its number.
        lines: more lines of slurm.conf.
    """
    edits = [f"-e '/^NodeName=n{number} /s/CPUs=8/CPUs=8 {more}/'" for number, more in hardware.items()]
    # SelectTypeParameters may be set only once.
    edits += ["-e '/^PartitionName=/d'", "-e '/^SelectTypeParameters/d'"]
    cluster.root("sh", "-ec", f"sed -i {' '.join(edits)} /etc/slurm/slurm.conf", check=True)
    cluster.root("touch", *(f"/var/tmp/gpu{number}" for number in range(4)), check=True)
    cluster.put(GRES, "/etc/slurm/gres.conf")
    site = prepare(cluster, CONF + PARTITIONS + lines)
    cluster.root(
        "sh", "-ec",
        "scontrol create reservation=course partition=gpu licenses=ansys:4 flags=any_nodes users=alice"
        " starttime=now duration=1-0",
        check=True,
    )  # fmt: skip
    site.hooks(HOOK)
    cluster.put(JOB, SCRIPT, 0o755)
    return site


def changes(generator: random.Random, site: Site, given: str) -> str:
    """Return changes by scontrol of a job with given options; Slurm refuses some."""
    without = {other for option, other in CRASHES.items() if option in given.split()}
    possible = [change for change in CHANGES if not any(other in change for other in without)]
    text = " ".join(generator.sample(possible, generator.choice([1, 1, 2])))
    return text if site.release >= (23, 11) else text.replace("gres/", "gres:")


def run(
    site: Site,
    jobs: Mapping[str, str],
    updates: Mapping[str, str] = {},
    interactive: Collection[str] = (),
    variables: Mapping[str, str] = {},
) -> dict[str, str]:
    """Submit jobs that are held, change some of them, release them together, and wait until all have ended.

    Args:
        site: the cluster.
        jobs: the options of each job, by its name.
        updates: the changes by scontrol, by the names of jobs; the job is cancelled if they are refused.
        interactive: the names of jobs of salloc, which are not held.
        variables: environment variables of sbatch, by the names of jobs.

    Returns:
        what the commands said, by the names of the jobs.
    """
    lines = ["exec 2>&1", f"cd {FOLDER}"]
    for name, line in jobs.items():
        words = f"-J {name} {line} {SCRIPT}"
        if name in interactive:
            lines.append(f"setsid salloc -Q {words} > said.{name} 2>&1 < /dev/null &")
        else:
            lines.append(f"id=$({variables.get(name, '')} sbatch --parsable -H -o /dev/null {words} 2> said.{name})")
        if name in updates:
            command = f"scontrol update JobId=$id Comment={name} {updates[name]} || scancel $id"
            lines.append(f'[ -z "$id" ] || {{ {command}; }} 2> said.{name}')
    output = site.run("sh", "-c", "\n".join(lines)).stdout
    assert not output, output
    site.run("sh", "-c", "squeue -h -o %i | xargs -rn1 scontrol release", user="root")
    finish(site)
    return collected(site, "said")


def finish(site: Site) -> None:
    """Wait until all jobs have ended that can start; cancel those that wait while all nodes are idle."""
    idle = 0

    def ended() -> bool:
        nonlocal idle
        text = site.run("sh", "-c", "sinfo -h -o %T; squeue -h -o '%i %T %r'", user="root").stdout
        waiting = re.findall(r"^(\d+) PENDING (.*)$", text, re.MULTILINE)
        busy = re.search(r"^(alloc|mix|compl)| (RUNNING|COMPLETING|CONFIGURING) ", text, re.MULTILINE)
        idle = 0 if busy else idle + 1
        first = [job for job, reason in waiting if reason not in ("Priority", "None")]
        # The scheduler has not looked yet at jobs without a reason.
        if waiting and idle > (8 if first else 30):
            site.run("scancel", *(first or [job for job, _ in waiting]), user="root")
            idle = 0
        return not busy and not waiting

    site.cluster.wait(ended, timeout=240, what="the end of all jobs")


def given(site: Site) -> dict[str, dict[str, str]]:
    """Return what scontrol showed in each job, by its name."""
    return {
        name: {**shown(line), "line": line}
        for name, line in collected(site, "given").items()
        if "JobState=RUNNING" in line
    }


def collected(site: Site, what: str) -> dict[str, str]:
    """Return the texts that jobs or commands have written, by the names of the jobs, and remove them."""
    text = site.run("sh", "-c", f"cd {FOLDER}; for f in {what}.*; do echo \"{MARK}$f\"; cat $f; done; rm {what}.*",
                    user="root").stdout  # fmt: skip
    parts = (part.split("\n", 1) for part in text.split(MARK)[1:])
    return {name.removeprefix(f"{what}."): text.strip() for name, text in parts}


def amounts(job: dict[str, str]) -> dict[str, list[int]]:
    """Return what Slurm gave to a job: numbers that must lie within the bound of the same name."""
    nodes, cpus, memory, gpus, kinds = 0, [], [], [], dict[str, int]()
    for match in re.finditer(r" Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+) GRES=(\S*)", job["line"]):
        count = len(_expand(match[1]))
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


def _expand(nodes: str) -> list[str]:
    if "[" not in nodes:
        return nodes.split(",")
    inner = nodes[nodes.index("[") + 1 : nodes.index("]")]
    return [part for each in inner.split(",") for part in ["n"] * _width(each)]


def minutes(job: dict[str, str]) -> int | None:
    """Return the time limit of a job; None if it has none."""
    limit = re.match(r"(?:(\d+)-)?(\d+):(\d+):", job["TimeLimit"])
    return int(limit[1] or 0) * 1440 + int(limit[2]) * 60 + int(limit[3]) if limit else None


def outside(job: dict[str, str], bounds: dict[str, Any]) -> list[str]:
    """Return what Slurm gave beyond the bounds."""
    wrong = []
    for name, numbers in amounts(job).items():
        if name.startswith("type "):
            types = bounds["gpu_types"]
            either = [types.get(key, [0, 0])[1] for key in (name.removeprefix("type "), "None")]
            least, most = 0, None if None in either else sum(either)
        else:
            least, most = bounds[name]
        wrong += [f"{name}: {number}, not {least} to {most}" for number in numbers
                  if number < least or (most is not None and number > most)]  # fmt: skip
    time = minutes(job)
    if time is not None:
        least, most = bounds["time"]
        wrong += [f"time: {time}"] if time < least or (most is not None and time > most) else []
    licenses = dict(re.findall(r"(\w+):(\d+)", job.get("Licenses", "")))
    for name, count in licenses.items():
        least, most = bounds["licenses"].get(name, [0, 0])
        if int(count) < least or (most is not None and int(count) > most):
            wrong.append(f"license {name}: {count}")
    return wrong
