# SPDX-License-Identifier: GPL-2.0-or-later
"""Sixty ready-made rules in a real slurmctld, compared with the same checks in Lua and in Python."""

from collections.abc import Iterator, Mapping
from typing import cast

from .inside.interleave import turn
from .machine import FILES, LOCAL, BenchError, Machine
from .rows import Row, Spread, spread
from .saturation import LINES, TOML, Burst, in_turns, ratios, relative

GROUP = "rules"
RULES = 60
TURNS = 4
"""Even, see turn()."""
HOOKS = "/etc/slurm/hooks.d/rules.py"
SCRIPT = "/etc/slurm/job_submit.lua"
PYTHON, LUA = f"JobSubmitPlugins=python\n{LINES}", f"JobSubmitPlugins=lua\n{LINES}"
KINDS = (
    'rule = "time_ceiling"\nlimit = "30-00:00:00"',
    'rule = "node_count"\nmost = 5000',
    'rule = "task_count"\nmost = 500000',
    'rule = "cpu_count"\nmost = 500000',
    'rule = "memory_ceiling"\nper_node = "4T"',
    'rule = "gpu_ceiling"\nper_job = 64',
    'rule = "array_size"\nmost = 50000',
    'rule = "reserved_names"\nnames = ["zz*"]',
    'rule = "forbid"\naccounts = ["closed"]',
    'rule = "work_directory"\noutside = ["/root"]',
)
"""Rules that pass."""
RELOADS = 10
AUDITED = (100, 100)
"""Arrays, and tasks of each."""
TIME = """bash -c 'TIMEFORMAT="%U %S"; time slurmhooks {} >/dev/null' 2>&1"""
AUDIT = TIME.format("audit --json")
DEPLOYED = 20
"""Hook files of a deployment."""
# Tasks that were changed have a record of their own.
FILL = """
for n in $(seq {arrays}); do
    id=$(sbatch --parsable --hold --array=0-{tasks} {options} --output=/dev/null --wrap=true)
    scontrol update JobId="$id"_[0-{last}] Comment=queued
done
"""
PASSES = """
@hook.job_submit
def passes(job):
    pass
"""
CHECKS = """
@hook.job_submit
def check_{number}(job):
    if job.name == "bad{number}":
        raise Reject("no")
    if job.time_limit is not None and job.time_limit > 100000:
        job.time_limit = 100000
    if job.partition == "other" and job.num_tasks == 7:
        job.comment = "seven"
"""
CHECKS_LUA = """
function check_{number}(job)
   if job.name == "bad{number}" then return slurm.ERROR end
   if job.time_limit ~= slurm.NO_VAL and job.time_limit > 100000 then job.time_limit = 100000 end
   if job.partition == "other" and job.num_tasks == 7 then job.comment = "seven" end
   return slurm.SUCCESS
end
checks[{number} + 1] = check_{number}
"""
SUBMIT_LUA = """
function slurm_job_submit(job, partitions, uid)
   for _, check in ipairs(checks) do
      local code = check(job)
      if code ~= slurm.SUCCESS then return code end
   end
   return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid) return slurm.SUCCESS end
return slurm.SUCCESS
"""


def toml(count: int, more: str = "") -> str:
    """Return so many rules of the ten kinds."""
    rules = (f'[[rule]]\nname = "r{n}"\n{KINDS[n % len(KINDS)]}\n{more}\n' for n in range(count))
    return '[hooks]\npaths = ["hooks.d/*.py"]\n' + "".join(rules)


def many(text: str) -> str:
    """Return the text for each number."""
    return "".join(text.replace("{number}", str(number)) for number in range(RULES))


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    machine.lab("put", str(FILES / "submit.c"), "/opt/submit.c")
    machine.root("gcc -O2 -o /opt/submit /opt/submit.c -lslurm")
    before = machine.root(f"cat {TOML}")
    machine.site({"rules.py": header(PASSES)}, plugstack="")
    try:
        yield from _sixty(machine)
        yield _generations(machine)
        yield deployment(machine)
        yield _audit(machine)
    finally:
        machine.put(before, TOML)


def header(text: str) -> str:
    """Return a hook file."""
    return f"from slurmhooks import Reject, hook\n{text}"


def _sixty(machine: Machine) -> Iterator[Row]:
    """Yield the rows about sixty rules."""
    one = {HOOKS: header(PASSES), LOCAL: PYTHON}
    cases = {
        "lua": {LOCAL: LUA, SCRIPT: f"checks = {{}}\n{many(CHECKS_LUA)}{SUBMIT_LUA}"},
        "none": one | {TOML: toml(0)},
        "handlers": {HOOKS: header(many(CHECKS)), LOCAL: PYTHON, TOML: toml(0)},
        "rules": one | {TOML: toml(RULES)},
        "none applies": one | {TOML: toml(RULES, 'users = ["nobody"]')},
    }
    bursts = in_turns(machine, cases, TURNS)
    for case, limit in (("rules", 0.5), ("handlers", None)):
        what = f"{RULES} {case}, 4 clients: submissions a second, relative to job_submit/lua with as many checks"
        values = spread(ratios(bursts, "rate", case, "lua"))
        yield Row(GROUP, what, limit, "x", values.median, at_least=True, parts=parts(bursts, "rate", "a second"))
    for case, than, words, limit in (
        ("rules", "handlers", f"{RULES} rules, relative to {RULES} Python handlers with such checks", 2.0),
        ("none applies", "none", f"{RULES} rules for other jobs, relative to no rules", 1.5),
    ):
        what = f"the worker's processor time for a submission: {words}"
        yield relative(GROUP, what, limit, bursts, (case, than), ("slurmhooks-work",))


def _generations(machine: Machine) -> Row:
    """Return the row about what a generation takes."""
    machine.site({"rules.py": header(PASSES)}, local=PYTHON, plugstack="")
    cases = {"none": toml(0), "rules": toml(RULES)}
    found: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(TURNS):
        for name in turn(list(cases), number):
            machine.put(cases[name], TOML)
            machine.deploy()
            found[name].append(cast("float", machine.inside("reloads.py", str(RELOADS))) * 1e3)
    values = spread([rules / none for rules, none in zip(found["rules"], found["none"], strict=True)])
    what = f"a later generation with {RULES} rules: processor time, relative to one without rules"
    shown = {f"{name}, ms": spread(times) for name, times in found.items()}
    return Row(GROUP, what, 2, "x", values.median, parts=shown)


def deployment(machine: Machine) -> Row:
    """Return the row about what a deployment takes."""
    files = {f"rules{n}.py": header(CHECKS.replace("{number}", str(n))) for n in range(DEPLOYED)}
    machine.site(files, local=PYTHON, plugstack="")
    found: dict[str, list[float]] = {"check": [], "deploy": []}
    for number in range(TURNS):
        for name in turn(list(found), number):
            machine.root(f"echo '# {number}' >> {HOOKS.replace('rules', 'rules0')}")
            found[name].append(sum(map(float, machine.root(TIME.format(name)).split()[-2:])))
    values = spread([deploy / check for deploy, check in zip(found["deploy"], found["check"], strict=True)])
    what = f"deploy of {DEPLOYED} hook files: processor time, relative to check"
    parts = {f"{name}, ms": spread([1e3 * each for each in times]) for name, times in found.items()}
    return Row(GROUP, what, 1.3, "x", values.median, parts=parts)


def _audit(machine: Machine) -> Row:
    """Return the row about the audit of a queue whose jobs differ."""
    arrays, tasks = AUDITED
    fill(machine, arrays, tasks, "-t $((n % 90 + 1)) -J job$n")
    seconds = [sum(map(float, machine.root(AUDIT).split()[-2:])) for _ in range(2)]
    each = spread([1e3 * value / (arrays * tasks) for value in seconds])
    what = f"audit of {arrays * tasks:,} jobs, of {arrays} kinds, with {RULES} rules: processor time for a job"
    return Row(GROUP, what, None, "ms", each.median, parts={"a job, ms": each})


def fill(machine: Machine, arrays: int, tasks: int, options: str) -> None:
    """Let slurmctld have held jobs of alice with a record of each task; `n` in the options is the array's number."""
    machine.user(FILL.format(arrays=arrays, tasks=tasks, last=tasks - 1, options=options))
    lines = int(machine.root("squeue --noheader | wc -l"))
    if lines < arrays * tasks:
        raise BenchError(f"slurmctld has {lines} records of jobs, not {arrays * tasks}")


def parts(bursts: Mapping[str, list[Burst]], figure: str, words: str) -> dict[str, Spread]:
    """Return a figure of each case that has it."""
    return {f"{case}: {words}": spread([b[figure] for b in each]) for case, each in bursts.items() if figure in each[0]}
