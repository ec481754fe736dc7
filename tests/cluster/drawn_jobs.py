# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs with random options on a real cluster: their options, and what slurmctld and scontrol say of them."""

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

    def tell_bounds(job, name, what):
        tell(name=name, what=what, bounds={name: plain(value) for name, value in job.bounds._asdict().items()})

    @hook.job_submit
    def submitted(job):
        tell_bounds(job, job.name, "submission")
"""
"""Tells the bounds of each job."""
UPDATE_HOOK = """\

    @hook.job_modify
    def updated(job, record):
        task = "" if record.array_task_id is None else f"_{record.array_task_id}"
        # What Slurm 24.11 computes for one component, it leaves in the request for the next one.
        changes = job.comment is not None or job.num_tasks is not None
        tell_bounds(job, record.name + task, "change" if changes else "release")
"""
"""Tells the bounds of each update by the name of the job, component or task (see run()).

Updates without a comment release a job and change nothing, unless slurmctld fills in a number of tasks.
"""
PARTITIONS = """\
PartitionName=debug Nodes=ALL Default=YES MaxTime=60 State=UP DefMemPerCPU=100
PartitionName=gpu Nodes=n[1-2] MaxTime=60 State=UP DefMemPerNode=500 DefCpuPerGPU=2 DefMemPerGPU=200
PartitionName=whole Nodes=ALL MaxTime=60 State=UP OverSubscribe=EXCLUSIVE DefMemPerNode=1000
PartitionName=wide Nodes=ALL MaxTime=60 State=UP MinNodes=2 MaxMemPerCPU=300 DefMemPerCPU=100
PartitionName=smt Nodes=n3 MaxTime=60 State=UP DefMemPerCPU=10
PartitionName=old Nodes=n1 MaxTime=60 State=DRAIN Alternate=older
PartitionName=older Nodes=n1 MaxTime=60 State=INACTIVE Alternate=gpu
PartitionName=both Nodes=ALL MaxTime=60 State=UP Alternate=gpu DefMemPerCPU=100
PartitionName=bare Nodes=n[1-2] MaxTime=60 State=UP
"""
CONF = "GresTypes=gpu,tape\nLicenses=ansys:20,matlab:10\nJobSubmitPlugins=python\n"
SELECT = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
HARDWARE = {
    1: "Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 Gres=gpu:tesla:4,tape:8 Feature=a,b",
    2: "Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 Gres=gpu:tesla:2,gpu:kepler:2,tape:8 Feature=a",
    3: "Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 Gres=gpu:kepler:1 Feature=c Weight=2",
}
GRES = """\
NodeName=n1 Name=gpu Type=tesla File=/var/tmp/gpu[0-3]
NodeName=n2 Name=gpu Type=tesla File=/var/tmp/gpu[0-1]
NodeName=n2 Name=gpu Type=kepler File=/var/tmp/gpu[2-3]
NodeName=n3 Name=gpu Type=kepler File=/var/tmp/gpu0
NodeName=n[1-2] Name=tape Count=8
"""
MARK = "=== "
SCRIPT = "/var/tmp/job.sh"
JOB = f"""\
#!/bin/sh
scontrol -d show job -o $SLURM_JOB_ID > {FOLDER}/given.$SLURM_JOB_NAME${{SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}}
"""
GROUPS: list[list[str]] = [
    ["", "", "", "-N1", "-N2", "-N1-2", "-N1-3", "-N3", "-w n1", "-w n[1-2] -N2", "-w n[1-3] -N2", "-N 1,3"],
    ["", "", "-n1", "-n2", "-n4", "-n6", "-n10"],
    ["", "", "", "--ntasks-per-node=1", "--ntasks-per-node=2", "--ntasks-per-node=3"],
    ["", "", "-c1", "-c2", "-c3"],
    ["", "", "--gpus=1", "--gpus=2", "--gpus=4", "--gpus=tesla:2", "--gpus=kepler:1,tesla:2", "--gpus-per-node=1",
     "--gpus-per-node=2", "--gpus-per-task=1", "--gres=gpu:1", "--gres=gpu:tesla:1", "--gres=gpu:2,gpu:1",
     "--gpus-per-socket=1 --sockets-per-node=2", "--gpus-per-socket=1 --sockets-per-node=1", "--gres=",
     "--tres-per-task=cpu:2,gres/gpu:1", "--tres-per-task=gres/gpu:tesla=1", "--gpus-per-task=2"],
    ["", "", "", "--ntasks-per-gpu=1", "--ntasks-per-gpu=2"],
    ["", "", "", "--cpus-per-gpu=1", "--cpus-per-gpu=2"],
    ["", "", "", "--mem=200", "--mem=0", "--mem-per-cpu=50", "--mem-per-cpu=150", "--mem-per-cpu=450",
     "--mem-per-gpu=100", "--mem-per-cpu=0", "--mem-per-gpu=0"],
    ["", "", "", "", "--exclusive", "--exclusive=user", "-O", "--spread-job", "--use-min-nodes", "--mincpus=3",
     "-S1", "--exclusive=mcs", "--exclusive=topo", "-s", "--gres-flags=enforce-binding",
     "--gres-flags=enforce-binding", "--gres-flags=disable-binding"],
    ["", "", "", "", "--threads-per-core=1", "--threads-per-core=2", "--ntasks-per-core=1", "--hint=nomultithread",
     "--hint=memory_bound", "--hint=compute_bound", "-B 2:2", "-B 1:2:1", "--ntasks-per-socket=1", "-m plane=2",
     "-m pack", "-m cyclic"],
    ["", "", "", "", "", "-C a", "-C c", "-C 'a&b'", "-C 'b|c'", "-C '[a|c]'", "-C 'a*2'", "-C 'a*1&c*1'",
     "-C '[a*1&c*1]'", "-C '[a*2&c*1]'", "-C '(a&b)'", "-C nosuch", "--prefer=c"],
    ["", "", "", "", "", "--segment=1", "--segment=2", "--contiguous", "--switches=1@0:01", "-x n1"],
    ["", "", "", "-L ansys:2", "-L ansys", "-L 'ansys;matlab:2'", "-L 'ansys|matlab:2'", "-L ansys,nosuch",
     "-L nosuch@elsewhere", "-L ,ansys=1", "-L ansys:2,ansys"],
    ["", "", "", "", "-a0-1", "-a1-2%1"],
    ["", "", "", "-p gpu", "-p whole", "-p wide", "-p smt", "-p debug,gpu", "-p gpu,whole", "-p smt,gpu",
     "--reservation=course", "-p old", "-p old,debug", "-p both"],
    ["", "", "-t5", "-t5 --time-min=2", "--deadline=now+30minutes", "--time-min=2"],
]  # fmt: skip
"""Options by topic, one of each of which is drawn."""
CHANGES = [
    "NumNodes=2", "NumNodes=1-2", "NumNodes=3", "NumTasks=4", "NumCPUs=6", "NumCPUs=1", "MinCPUsNode=3",
    "TresPerNode=gres/gpu:2", "TresPerNode=gres/gpu:tesla:1", "TresPerTask=gres/gpu:1", "TresPerSocket=gres/gpu:1",
    "TresPerJob=gres/gpu:3", "CpusPerTres=gres/gpu:2", "MinMemoryNode=300", "MinMemoryCPU=120", "Partition=whole",
    "Partition=gpu", "Partition=wide", "Licenses=ansys:4", "TimeLimit=7", "TimeLimit=3", "OverSubscribe=NO",
    "ReqNodeList=n1", "CPUsPerTask=2", "Partition=smt", "NumTasks=2", "ReqThreads=1", "ReqThreads=2", "ReqCores=2",
    "ReqSockets=2", "Features=a", "Features=a*2", "Features=[a*1&c*1]", "Features=", "Licenses=", "Licenses=matlab:1",
    "ReservationName=course", "ExcNodeList=n1", "Contiguous=yes", "TresPerNode=", "Partition=debug,gpu",
    "MinMemoryNode=0", "MinMemoryCPU=0", "MemPerTres=gres/gpu:150", "NumNodes=1,3", "NumNodes=ALL", "NumCPUs=2-9",
    "TasksPerNode=2", "TresPerTask=cpu:2", "OverSubscribe=YES", "OverSubscribe=EXCLUSIVE", "CoreSpec=1", "TimeMin=2",
    "Prefer=c", "TimeLimit=+3", "Partition=old",
]  # fmt: skip

UNSTEADY = ((23, 2), (26, 5))
"""The releases between which slurmctld itself ends by a signal while it places some jobs, without JobSubmitPlugins."""
GPUS = re.compile(r"--\S*gpu|--gres|Tres\w+=")
PLACES = re.compile(
    r"--(spread-job|exclusive|ntasks-per-(node|core|socket)|use-min-nodes|mincpus|threads)|TasksPerNode"
)
"""Options and changes by which a user says how tasks lie on nodes, many of which are always safe."""


def left_out(release: tuple[int, int], given: str, changes: str = "") -> bool:
    """Return whether a job, with an update of it, is not tried: some releases get only plain jobs with GPUs."""
    text = f"{given} {changes}"
    return UNSTEADY[0] <= release < UNSTEADY[1] and bool(GPUS.search(text) and PLACES.search(text))


def options(generator: random.Random, release: tuple[int, int]) -> str:
    """Return options of a job, a few or many; Slurm refuses some of these combinations.

    Some are those of a heterogeneous job with two components.
    """
    components = [_options(generator, release) for _ in range(1 if generator.random() < 0.9 else 2)]
    if len(components) > 1:
        components = [re.sub(r"-a\S+ ?", "", component) for component in components]
    text = " : ".join(components)
    # An update of all components gives some of one to another.
    return re.sub(rf"({PLACES.pattern})\S* ?", "", text) if left_out(release, text) else text


def _options(generator: random.Random, release: tuple[int, int]) -> str:
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
    if release < (24, 5):
        words = [word for word in words if not re.match("--segment|--exclusive=topo", word)]
    if release < (23, 11):
        words = [word for word in words if not re.match("--tres-per-task|-N 1,3", word)]
    return " ".join(words)


def prepared(cluster: Cluster, select: str = SELECT) -> Site:
    """Return a cluster of three nodes with GPUs of two types, features, licenses, a reservation, several partitions."""
    edits = [
        f"-e '/^NodeName=n{number} .*Sockets/!{{/^NodeName=n{number} /s/CPUs=8/CPUs=8 {more}/}}'"
        for number, more in HARDWARE.items()
    ]
    # SelectTypeParameters may be set only once.
    edits += ["-e '/^PartitionName=/d'", "-e '/^SelectType/d'"]
    cluster.root("sh", "-ec", f"sed -i {' '.join(edits)} /etc/slurm/slurm.conf", check=True)
    cluster.root("touch", *(f"/var/tmp/gpu{number}" for number in range(4)), check=True)
    cluster.put(GRES, "/etc/slurm/gres.conf")
    site = prepare(cluster, f"{CONF}{select}{PARTITIONS}")
    cluster.root(
        "sh", "-ec",
        "scontrol delete reservation=course 2>/dev/null || true\n"
        "scontrol create reservation=course partition=gpu licenses=ansys:4 flags=any_nodes users=alice"
        " starttime=now duration=1-0",
        check=True,
    )  # fmt: skip
    site.hooks(HOOK + UPDATE_HOOK if cluster.has_sources else HOOK)
    cluster.put(JOB, SCRIPT, 0o755)
    return site


def changes(generator: random.Random, site: Site, given: str) -> str:
    """Return changes by scontrol of a job with given options; Slurm refuses some."""
    while True:
        text = " ".join(f"'{change}'" for change in generator.sample(CHANGES, generator.choice([1, 1, 2])))
        if not left_out(site.release, given, text):
            break
    return text if site.release >= (23, 11) else text.replace("gres/", "gres:")


def target(generator: random.Random, name: str, given: str) -> str:
    """Return the name of what an update changes: a job, one or all of its components, or a task of an array."""
    if " : " in given:
        return generator.choice([name, f"{name}c", f"{name}w"])
    return generator.choice([name, f"{name}_1"]) if re.search(r"-a\d", given) else name


def job_of(name: str) -> str:
    """Return the name of the job of a component or task."""
    return re.sub(r"[cw]$|_\d+$", "", name)


def told(site: Site) -> dict[str, list[Any]]:
    """Return the bounds of each job, component or task: of the last change, and of the release of an unchanged job.

    All of them must hold. Of a job that was changed, the record does not say all that later updates keep.
    """
    bounds: dict[str, list[Any]] = {}
    changed = set()
    for each in site.told():
        name = each["name"]
        if each["what"] != "release":
            bounds[name] = [each["bounds"]]
            changed |= {name} if each["what"] == "change" else set()
        elif name not in changed:
            bounds[name] = [*(bounds.get(name) or bounds[job_of(name)]), each["bounds"]]
    return bounds


def bounds_of(told: Mapping[str, list[Any]], name: str) -> list[Any]:
    """Return the bounds of a job, component or task; those of an array are those of its tasks without an update."""
    return told[name] if name in told else told[job_of(name)]


def run(
    site: Site,
    jobs: Mapping[str, str],
    updates: Mapping[str, str] = {},
    interactive: Collection[str] = (),
    variables: Mapping[str, str] = {},
    program: str = "",
) -> dict[str, str]:
    """Submit jobs that are held, change some of them, release them together, and wait until all have ended.

    ``updates`` are changes by scontrol, by the names of jobs, components (job and "c"), all components (job and "w") or
    tasks (job, "_" and a number); the job is cancelled if they are refused. Jobs of salloc (``interactive``) are not
    held. ``program`` sends jobs and changes instead of sbatch and scontrol: describe, whose arguments both are then.
    Returns what the commands said, by the names of the jobs.
    """
    lines = ["exec 2>&1", f"cd {FOLDER}"]
    for name, line in jobs.items():
        parts = [f"{part} -J {name}{'c' * number}" for number, part in enumerate(line.split(" : "))]
        words = f"{' : '.join(parts)} {SCRIPT}"
        if program:
            # Before 23.02 sbatch itself sets the name of the job in its environment.
            words = f"priority=0 name={name} script='#!/bin/sh\nSLURM_JOB_NAME={name} exec {SCRIPT}' {line}"
            lines.append(f"id=$({program} {words} 2> said.{name})")
        elif name in interactive:
            lines.append(f"setsid salloc -Q {words} > said.{name} 2>&1 < /dev/null &")
        else:
            lines.append(f"id=$({variables.get(name, '')} sbatch --parsable -H -o /dev/null {words} 2> said.{name})")
        for each in (each for each in updates if job_of(each) == name):
            suffix = each.removeprefix(name)
            if len(parts) > 1:
                suffix = {"": "+0", "c": "+1", "w": ""}[suffix]
            update = f"scontrol update JobId=$id{suffix} Comment={each}"
            update = f"{program} update=$id{suffix} comment={each}" if program else update
            lines.append(f'[ -z "$id" ] || {{ {update} {updates[each]} || scancel $id; }} 2> said.{name}')
    output = site.run("sh", "-c", "\n".join(lines)).stdout
    assert not output, output
    site.run("sh", "-c", "squeue -h -o %A | sort -u | paste -sd, | xargs -r scontrol release", user="root")
    finish(site)
    return collected(site, "said")


def finish(site: Site) -> None:
    """Wait until all jobs have ended that can start; cancel those that wait while all nodes are idle.

    Slurm 24.11 never launches the scripts of some jobs that got GPUs by an update: if the same jobs keep running, they
    are cancelled, too.
    """
    idle = same = 0
    running: set[str] = set()

    def ended() -> bool:
        nonlocal idle, same, running
        done = site.run("sh", "-c", "sinfo -h -o %T && squeue -h -o '%A %T %r'", user="root")
        assert done.returncode == 0, f"slurmctld does not answer any more: {done.stderr}"
        text = done.stdout
        waiting = re.findall(r"^(\d+) PENDING (.*)$", text, re.MULTILINE)
        before, running = running, set(re.findall(r"^(\d+) RUNNING ", text, re.MULTILINE))
        same = same + 1 if running and running == before else 0
        if same > 20:
            site.run("scancel", *running, user="root")
            same = 0
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
    """Return what scontrol showed in each job, by its name; see run() for the names of components and tasks."""
    jobs = {}
    for line in "\n".join(collected(site, "given").values()).splitlines():
        job = shown(line)
        if job.get("JobState") == "RUNNING":
            task = job.get("ArrayTaskId", "")
            jobs[f"{job['JobName']}_{task}" if task.isdecimal() else job["JobName"]] = {**job, "line": line}
    return jobs


def collected(site: Site, what: str) -> dict[str, str]:
    """Return the texts that jobs or commands have written, by the names of the jobs, and remove them."""
    text = site.run("sh", "-c", f"cd {FOLDER}; for f in {what}.*; do echo \"{MARK}$f\"; cat $f; done; rm {what}.*",
                    user="root").stdout  # fmt: skip
    parts = (part.split("\n", 1) for part in text.split(MARK)[1:])
    return {name.removeprefix(f"{what}."): text.strip() for name, text in parts}
