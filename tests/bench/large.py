# SPDX-License-Identifier: GPL-2.0-or-later
"""What a large site has besides rules: 10,000 nodes, 100,000 jobs, 200 hook files; with little of it asked for."""

from collections.abc import Iterator
from typing import cast

from . import operations, sites
from .inside.interleave import turn
from .machine import FILES, LOCAL, PLUGSTACK, Machine
from .rows import Row, spread
from .rules import PYTHON, fill
from .saturation import TOML, Burst, burst, in_turns, relative

GROUP = "large"
TURNS = 4
"""Even, see turn()."""
BOTH = ("slurmctld", "slurmhooks-work")
NODES = (10, 10_000)
JOBS = (100, 1000)
"""Arrays, and tasks of each."""
OTHER = 65000
"""Id of a user without jobs."""
ALICE = 2001
COUNT = """
from slurmhooks import Reject, hook

@hook.job_submit
def at_most(job, jobs):
    word, _, user = job.name.partition(" ")
    if word == "slurmhooks" and jobs.count(user_id=int(user)) >= 10**9:
        raise Reject("too many jobs")
"""
COUNT_LUA = """
function slurm_job_submit(job, partitions, uid)
   local word, user = string.match(job.name, "^(%S+) (%d+)$")
   if word ~= "lua" then return slurm.SUCCESS end
   local wanted, count = tonumber(user), 0
   for _, each in pairs(slurm.jobs) do
      if each.user_id == wanted then count = count + 1 end
   end
   if count >= 1e9 then return slurm.ERROR end
   return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid) return slurm.SUCCESS end
return slurm.SUCCESS
"""
PEAK = "sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\) kB/\\1/p' $(pgrep -x slurmhooks-work | sed 's,.*,/proc/&/status,')"
FILE = """
from slurmhooks import Reject, hook

@hook.job_submit
def check(job):
    if job.name == "bad":
        raise Reject("no")
"""
MANY = (100, 200)
LAUNCHES = 30


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    machine.lab("put", str(FILES / "submit.c"), "/opt/submit.c")
    machine.root("gcc -O2 -o /opt/submit /opt/submit.c -lslurm")
    before = machine.root(f"cat {TOML}")
    machine.site({}, plugstack="")
    try:
        yield from _whole_nodes(machine)
    finally:
        machine.put(before, TOML)
    yield from _count(machine)
    yield from _hook_files(machine)


def _whole_nodes(machine: Machine) -> Iterator[Row]:
    """Yield the rows about jobs that ask for whole nodes: a rule about their CPUs has to know the nodes."""
    rule = {TOML: '[hooks]\npaths = []\n[[rule]]\nrule = "cpu_count"\nmost = 50000000\n'}
    cases, jobs = {}, {}
    for count in NODES:
        nodes = f"NodeName=c[1-{count}] CPUs=64 RealMemory=250000 State=CLOUD\n"
        for job in ("plain", "exclusive"):
            cases[f"{job}, {count}"] = rule | {LOCAL: PYTHON + nodes}
            jobs[f"{job}, {count}"] = job
    bursts = in_turns(machine, cases, TURNS, jobs)
    few, most = NODES
    for than, words, limit in ((f"plain, {most}", "a plain job", 3.0), (f"exclusive, {few}", f"{few} nodes", 2.5)):
        what = f"--exclusive with {most:,} nodes and one cpu_count rule: processor time, relative to {words}"
        yield relative(GROUP, what, limit, bursts, (f"exclusive, {most}", than), BOTH)


def _count(machine: Machine) -> Iterator[Row]:
    """Yield the rows about a rule that counts a user's jobs, in a long queue."""
    count = JOBS[0] * JOBS[1]
    machine.site({"count.py": COUNT}, plugstack="")
    machine.put(COUNT_LUA, "/etc/slurm/job_submit.lua")
    without = f"SlurmctldDebug=error\nMaxJobCount={2 * count}\n"
    plugins = f"JobSubmitPlugins=lua,python\n{without}"
    machine.put(plugins, LOCAL)
    machine.lab("down")
    machine.lab("up")
    cases = {f"{plugin} {user}": user for user in (ALICE, OTHER) for plugin in ("lua", "slurmhooks")}
    for name in cases:
        burst(machine, 1, 5, name)
    before = peak(machine)
    for lines in (without, plugins):  # each task that is changed would be a call of the plugins
        machine.put(lines, LOCAL)
        machine.lab("restart")
        if lines == without:
            fill(machine, *JOBS, "-J queued")
    bursts: dict[str, list[Burst]] = {name: [] for name in cases}
    for number in range(TURNS):
        for name in turn(list(cases), number):
            bursts[name].append(burst(machine, 1, 5, name))
    for user, words in ((ALICE, "who has all"), (OTHER, "who has none")):
        what = (
            f"a rule that counts the jobs of a user {words}, {count:,} jobs: processor time, relative to job_submit/lua"
        )
        yield relative(GROUP, what, 0.5, bursts, (f"slurmhooks {user}", f"lua {user}"), BOTH)
    what = "the same: memory that the worker needs more than with an empty queue"
    yield Row(GROUP, what, 1, "MiB", peak(machine) - before)


def peak(machine: Machine) -> float:
    """Return the MiB that a worker has used at most."""
    return max(map(int, machine.root(PEAK).split())) / 1024


def _hook_files(machine: Machine) -> Iterator[Row]:
    """Yield the rows about launches with hook files that have nothing to do with them."""
    machine.lab("add", "strace")
    machine.lab("down")  # ends slurmctld's jobs, too
    machine.lab("up")
    sets = {str(count): {"bench.py": sites.TASK} | {f"f{n}.py": FILE for n in range(count - 1)} for count in (1, *MANY)}
    looked: dict[str, int] = {}
    took: dict[str, list[float]] = {count: [] for count in sets}
    for number in range(TURNS):
        for count in turn(list(sets), number):
            machine.site(sets[count], local="JobSubmitPlugins=python\n", plugstack=PLUGSTACK)
            if not number:
                looked[count] = operations.operations(machine).total()
            took[count].append(cast("float", machine.inside("launched.py", str(LAUNCHES))) * 1e3)
    what = "srun true, 200 hook files, one of them with a task_init handler: names looked up more than with this one"
    yield Row(GROUP, what, 5, "", float(looked["200"] - looked["1"]), note=str(looked))
    what = "srun true, 100 such hook files: processor time of srun, slurmd and slurmstepd, relative to this one alone"
    parts = {f"{count} files, ms": spread(values) for count, values in took.items()}
    ratio = spread([many / one for many, one in zip(took["100"], took["1"], strict=True)])
    yield Row(GROUP, what, 1.05, "x", ratio.median, parts=parts)
