# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps with one task_init handler or script: the cost of Python in slurmstepd."""

import shlex
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from . import sites
from .machine import ABSENT, FILES, PLUGSTACK, SPANK_LUA, Machine
from .rows import Row, Spread, number, spread

GROUP = "launches"
ROUNDS = 40
TASK_ROUNDS = 30
TASKS = 64
BARE, FORKS, BARE_PLUGIN = "/opt/bare_python", "/opt/bare_forks", "/opt/bare_plugin"
PYTHON_FLAGS = (
    "$(/opt/slurmhooks/bin/python3 -c"
    """ 'import sysconfig as s; print("-I" + s.get_path("include"), "-lpython" + s.get_python_version())')"""
)
COMMAND = "python3 -I -S -c pass"
COMMAND_WITH_OS = "python3 -I -S -c 'import os'"
SCRIPT = "/etc/slurm/bench.lua"
SCRIPT_LIMIT = 1.8
TASK_LIMIT = 1.5
"""Of a further task, relative to spank-lua."""
SCRIPT_PLUGSTACK = f"required spank_python.so {SCRIPT}\n"
LOADS = 20
TIME_LUPA = f"""
for _ in $(seq {LOADS}); do
    /opt/slurmhooks/bin/python3 -I -S -c '
import sys, time
sys.path.append(sys.argv[1])
from slurmhooks.lua import finding, library
lua = finding.find()
before = time.perf_counter()
library.load(lua)
print(1e3 * (time.perf_counter() - before))
' $(/opt/slurmhooks/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
done
"""
FLOOR = f"""
import sys
from _frozen_importlib import ModuleSpec, module_from_spec
from _frozen_importlib_external import ExtensionFileLoader
loader = ExtensionFileLoader({{module!r}}, {{file!r}})
sys.modules[{{module!r}}] = lupa = module_from_spec(ModuleSpec({{module!r}}, loader, origin={{file!r}}))
loader.exec_module(lupa)
lua = lupa.LuaRuntime(encoding=None, register_eval=False, register_builtins=False)
lua.globals()[b"SPANK"] = lua.table()
with open("{SCRIPT}", "rb") as file:
    lua.execute(file.read())
lua.globals()[b"slurm_spank_task_init"](lua.table_from({{{{b"setenv": lambda *words: 1}}}}))
"""
"""Load lupa's module and run the script, without slurmhooks."""
FIND_LUPA = (
    "/opt/slurmhooks/bin/python3 -c 'from slurmhooks.lua import finding; it = finding.find();"
    " print(it.module, it.file)'"
)
MEBI = 1 << 20


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    machine.site({"bench.py": sites.TASK})
    machine.put(sites.TASK_LUA, SCRIPT)
    build_bare(machine, BARE)
    build_bare(machine, FORKS)
    build_bare(machine, BARE_PLUGIN, "-shared -fPIC")
    what = f"srun true, one task_init handler: wall time added, relative to '{COMMAND}'"
    yield _one_task(machine, what, COMMAND, 1.3)
    # What most hook files import; os needs _collections_abc, and so does slurmhooks.
    machine.site({"bench.py": f"import os\n{sites.TASK}"})
    yield _one_task(
        machine, f"the same with a hook file that imports os, relative to '{COMMAND_WITH_OS}'", COMMAND_WITH_OS, None
    )
    machine.site({"bench.py": sites.TASK})
    yield from _per_task(machine)
    yield _resident(machine)
    yield _processes(machine)
    yield from _script(machine)


def build_bare(machine: Machine, program: str, options: str = "") -> None:
    """Build a program that only embeds Python, from the source of the same name."""
    machine.lab("put", str(FILES / f"{Path(program).name}.c"), f"{program}.c")
    machine.root(f"gcc -O2 {options} {program}.c -o {program} {PYTHON_FLAGS}")


def _one_task(machine: Machine, what: str, command: str, limit: float | None) -> Row:
    cases: dict[str, tuple[str | None, str]] = {
        "no plugin": ("", "srun -Q true"),
        "slurmhooks": (PLUGSTACK, "srun -Q true"),
        command: (None, command),
        "embedded, bare": (None, BARE),
    }
    if machine.spank_lua:
        cases["spank-lua"] = (f"required {SPANK_LUA} {SCRIPT}\n", "srun -Q true")
    milliseconds = machine.times(ROUNDS, cases)
    times = {name: spread(values) for name, values in milliseconds.items()}
    added = _added(milliseconds, "slurmhooks")
    return Row(
        GROUP,
        what,
        limit,
        "x",
        added.median / times[command].median,
        parts={f"{name}, ms": part for name, part in times.items()} | {"added, by turns, ms": added},
        note="embedded, bare: a program that only starts an isolated interpreter",
    )


def _added(milliseconds: Mapping[str, Sequence[float]], plugin: str) -> Spread:
    """Return the time that a plugin adds.

    The cases run in turns, and each is compared with the others of its turn: the machine may be slow for a while.
    """
    turns = zip(milliseconds[plugin], milliseconds["no plugin"], strict=True)
    return spread([with_it - without for with_it, without in turns])


def _script(machine: Machine) -> Iterator[Row]:
    """Measure one script of spank-lua. spank-lua needs no Python, so the limit includes the start of an interpreter."""
    machine.site({}, plugstack=SCRIPT_PLUGSTACK)
    module, file = machine.root(FIND_LUPA).split()
    cases: dict[str, tuple[str | None, str]] = {
        "no plugin": ("", "srun -Q true"),
        "slurmhooks": (SCRIPT_PLUGSTACK, "srun -Q true"),
        "embedded, bare": (None, BARE),
        "embedded, lupa": (None, f"{BARE} {shlex.quote(FLOOR.format(module=module, file=file))}"),
    }
    if machine.spank_lua:
        cases["spank-lua"] = (f"required {SPANK_LUA} {SCRIPT}\n", "srun -Q true")
    milliseconds = machine.times(ROUNDS, cases)
    times = {name: spread(values) for name, values in milliseconds.items()}
    lupa = [float(line) for line in machine.root(TIME_LUPA).split()]
    parts = {**{f"{name}, ms": part for name, part in times.items()}, "of it, loading lupa, ms": spread(lupa)}
    what = "srun true, task_init of one Lua script: wall time added, relative to spank-lua plus a bare interpreter"
    floor = "the same with a bare interpreter that only loads lupa and runs the script"
    if not machine.spank_lua:
        yield Row(GROUP, what, SCRIPT_LIMIT, "x", None, parts=parts, note=ABSENT)
        return
    added = _added(milliseconds, "slurmhooks").median
    allowed = _added(milliseconds, "spank-lua").median + times["embedded, bare"].median
    note = f"{number(added)} ms added, the reference is {number(allowed)} ms"
    yield Row(GROUP, what, SCRIPT_LIMIT, "x", added / allowed, parts=parts, note=note)
    least = times["embedded, lupa"].median
    yield Row(
        GROUP, floor, None, "x", least / allowed, note=f"{number(least)} ms, the reference is {number(allowed)} ms"
    )


def _per_task(machine: Machine) -> Iterator[Row]:
    """Measure the time that the 2nd to the 64th task add: the time with the handler minus the time without it."""
    commands = {1: "srun -Q -n1 true", TASKS: f"srun -Q -O -n{TASKS} true"}
    plugins = {"no plugin": "", "slurmhooks": PLUGSTACK, "bare plugin": f"required {BARE_PLUGIN}\n"}
    if machine.spank_lua:
        plugins["spank-lua"] = f"required {SPANK_LUA} {SCRIPT}\n"
    cases: dict[str, tuple[str | None, str]] = {
        _case(name, tasks, "task"): (text, command)
        for tasks, command in commands.items()
        for name, text in plugins.items()
    }
    bare: dict[str, tuple[str | None, str]] = {
        _case(name, count, "fork"): (None, f"{FORKS} {count} {which}")
        for count in (1, TASKS)
        for name, which in (("no interpreter", "without"), ("bare interpreter", "python"))
    }
    milliseconds = machine.times(TASK_ROUNDS, cases | bare)
    what = f"each further task of {TASKS} on a node, one task_init handler: wall time added"
    ours = _further(milliseconds, what, 0.6, "task", "no plugin", "slurmhooks")
    yield ours
    what = "the same with spank-lua"
    ratio = f"each further task of {TASKS} on a node: wall time added, relative to spank-lua"
    if machine.spank_lua:
        theirs = _further(milliseconds, what, None, "task", "no plugin", "spank-lua")
        yield theirs
        assert ours.value is not None
        assert theirs.value is not None
        measured = theirs.value > 0
        note = "" if measured else "spank-lua takes less than the machine's times vary"
        yield Row(GROUP, ratio, TASK_LIMIT, "x", ours.value / theirs.value if measured else None, note=note)
    else:
        yield Row(GROUP, what, None, "ms", None, note=ABSENT)
        yield Row(GROUP, ratio, TASK_LIMIT, "x", None, note=ABSENT)
    what = "the same with a plugin that calls one function of a bare interpreter in each task"
    yield _further(milliseconds, what, None, "task", "no plugin", "bare plugin")
    what = f"each further child of {TASKS}, without Slurm: a bare interpreter, one function called in each"
    yield _further(milliseconds, what, None, "fork", "no interpreter", "bare interpreter")


def _case(name: str, count: int, unit: str) -> str:
    return f"{name}, {count} {unit}{'s' * (count > 1)}"


def _further(
    milliseconds: Mapping[str, Sequence[float]], what: str, limit: float | None, unit: str, without: str, with_it: str
) -> Row:
    """Return the row for all tasks except the first, compared by turns as in `_added`."""
    cases = [_case(name, count, unit) for count in (TASKS, 1) for name in (with_it, without)]
    turns = [
        ((many_with - many_without) - (one_with - one_without)) / (TASKS - 1)
        for many_with, many_without, one_with, one_without in zip(*(milliseconds[case] for case in cases), strict=True)
    ]
    parts = {f"{case}, ms": spread(milliseconds[case]) for case in cases} | {"by turns, ms": spread(turns)}
    return Row(GROUP, what, limit, "ms", statistics.median(turns), parts=parts)


def _resident(machine: Machine) -> Row:
    sizes: dict[str, Spread] = {}
    for name, plugstack in (("no plugin", ""), ("slurmhooks", PLUGSTACK)):
        machine.put(plugstack, "/etc/slurm/plugstack.conf")
        values = machine.inside("resident.py", "5")
        assert isinstance(values, list)
        sizes[f"{name}, MiB"] = spread([value / MEBI for value in values])
    before, after = (part.median for part in sizes.values())
    what = "slurmstepd, one task_init handler: resident memory added"
    return Row(GROUP, what, 12, "MiB", after - before, parts=sizes)


def _processes(machine: Machine) -> Row:
    machine.choose(lean=True)
    counts: dict[str, Spread] = {}
    for name, plugstack in (("no plugin", ""), ("slurmhooks", PLUGSTACK)):
        machine.put(plugstack, "/etc/slurm/plugstack.conf")
        machine.lab("restart")
        values = machine.inside("processes.py", "5")
        assert isinstance(values, list)
        counts[name] = spread(values)
    before, after = (part.median for part in counts.values())
    machine.choose(lean=False)
    machine.lab("restart")
    what = "processes that slurmd starts for a job, no prolog or epilog handler, lean plugin: added"
    return Row(GROUP, what, 0, "", after - before, parts=counts)
