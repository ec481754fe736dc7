# SPDX-License-Identifier: GPL-2.0-or-later
"""A container whose handlers do nothing, compared with a scrun.lua whose functions do nothing."""

from collections.abc import Iterator

from . import launches
from .machine import INSIDE, TESTS, Machine
from .rows import Row, number, spread

GROUP = "containers"
ROUNDS = 120
WITHOUT_SCRUN = ("22.05",)
BUNDLE = "/home/alice/bench-bundle"
EMPTY_LUA = """
function slurm_scrun_stage_in() return slurm.SUCCESS end
function slurm_scrun_stage_out() return slurm.SUCCESS end
return slurm.SUCCESS
"""
HOOKS = """from slurmhooks import hook

@hook.scrun.stage_in
def stage_in(container):
    pass

@hook.scrun.stage_out
def stage_out(container):
    pass
"""


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    if machine.release in WITHOUT_SCRUN:
        return
    machine.site({"bench.py": HOOKS})
    launches.build_bare(machine, launches.BARE)
    machine.lab("put", str(TESTS / "cluster" / "make_bundle.py"), "/opt/make_bundle.py")
    machine.user(f"python3 /opt/make_bundle.py {BUNDLE} /bin/echo running; mkdir -p -m 700 /run/user/2001/scrun")
    machine.lab("put", str(INSIDE / "interleave.py"), "/opt/interleave.py")
    cases = {
        "empty scrun.lua": {"lua": EMPTY_LUA},
        "slurmhooks": {"lua": None},
        "embedded, bare": {"command": [launches.BARE]},
        launches.COMMAND: {"command": launches.COMMAND.split()},
    }
    request = {"rounds": ROUNDS, "user": "alice", "bundle": BUNDLE, "cases": cases}
    nanoseconds = machine.inside("containers.py", request=request)
    assert isinstance(nanoseconds, dict)
    times = {name: spread([value / 1e6 for value in values]) for name, values in nanoseconds.items()}
    added = times["slurmhooks"].median - times["empty scrun.lua"].median
    yield Row(
        GROUP,
        "scrun create until the container runs, handlers that do nothing: time relative to an empty scrun.lua",
        1.25,
        "x",
        times["slurmhooks"].median / times["empty scrun.lua"].median,
        parts={f"{name}, ms": part for name, part in times.items()},
        note=f"{number(added)} ms added; embedded, bare: starts an isolated interpreter and ends at once",
    )
