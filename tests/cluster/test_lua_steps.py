# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts of spank-lua under slurmhooks, held against spank-lua itself in real steps.

They need its library or sources, which SLURMHOOKS_SPANK_LUA names.
"""

import os
import random
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster import reporting
from tests.cluster.spank import spank_lua
from tests.cluster.spank.scripts import LUA_D, lua_site, rows, scripts
from tests.cluster.spank.site import Site
from tests.lua_parts import STEP_OPTIONS, STEP_PARTS

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.moved, pytest.mark.stopped]

SCRIPTS = int(os.environ.get("SLURMHOOKS_DRAWN_SCRIPTS", "6"))
PUBLIC = os.environ.get("SLURMHOOKS_SPANK_SCRIPTS")
"""A folder with further scripts to compare, such as those that sites have published."""
ENGINES = {"lua": spank_lua.PLUGIN, "python": "spank_python.so"}
LINE = f"required %s failonerror {LUA_D}/*.lua a b"
CALLBACKS = ("init", "init_post_opt", "local_user_init", "user_init", "task_init", "task_exit", "exit")
"""Those that are drawn: a failure of the others drains the node."""
LISTED = ("S_JOB_UID", "'N', 5, true", "_log_msg(1, {})")
"""Parts of scripts whose results docs/lua.md lists as different."""
AROUND = """
local function record(...)
   local file = io.open("/opt/spank/records", "a")
   file:write(table.concat({ ... }, " "), "\\n")
   file:close()
end
for _, name in ipairs({ %s }) do
   local inner = _G["slurm_spank_" .. name]
   _G["slurm_spank_" .. name] = function(spank)
      local results = { pcall(inner or function() end, spank) }
      local words = { name, spank.context, tostring(results[1]), type(results[2]), tostring(results[2]) }
      for _, variable in ipairs({ "A", "N" }) do
         words[#words + 1] = variable .. "=" .. tostring(spank:getenv(variable))
      end
      record((table.unpack or unpack)(words))
      if not results[1] then error(results[2], 0) end
      return (table.unpack or unpack)(results, 2)
   end
end
local inner = taken
function taken(value, given, remote)
   record("taken", tostring(value), tostring(given), tostring(remote))
   return inner(value, given, remote)
end
"""
"""Writes a line for each call: its result, and the variables afterwards."""
COMMANDS = (
    "srun -w n1 true",
    "A=a srun -w n1 -n2 --greet=you --maybe=5 sh -c 'echo $A $N; exit 3'",
    "A=a srun -w n1 --greet=bad true",
    "srun -w n1 --maybe --quiet true",
)
ARGUMENTS = "error for a wrong argument, of a function that `pcall` calls"
HALF = '`get_item("S_JOB_NCPUS")`, and of ids of tasks'
KNOWN = {
    "register": "result of `register_option(...)`",
    "register late": "result of `register_option(...)`",
    "option": "argument of an option's function, in slurmstepd, if none was given",
    **dict.fromkeys(("S_JOB_NCPUS", "S_JOB_LOCAL_TO_GLOBAL_ID,0", "S_JOB_GLOBAL_TO_LOCAL_ID,0"), HALF),
    "no name": ARGUMENTS,
    "no value": ARGUMENTS,
    "job_control_no name": ARGUMENTS,
    "job_control_no value": ARGUMENTS,
    "S_JOB_PID_TO_LOCAL_ID,nil": ARGUMENTS,
    "set kept": "`setenv(name, value, true)`, `has_arg = true`",
    "job_control_set kept": "`setenv(name, value, true)`, `has_arg = true`",
    "get kept": "`setenv(name, value, true)`, `has_arg = true`",
    "getopt probe-flag": "`getopt` of a flag",
    "getopt probe-quiet": "`getopt` of a flag",
    "getopt probe-maybe": "`getopt` of an optional argument that was not given, in prolog and epilog",
    "S_JOB_UID": '`get_item("S_JOB_UID")` and `S_JOB_GID` in `slurm_spank_local_user_init`',
    "S_JOB_GID": '`get_item("S_JOB_UID")` and `S_JOB_GID` in `slurm_spank_local_user_init`',
    "S_TASK_PID": '`get_item("S_TASK_PID")` in `slurm_spank_task_init`',
    "S_SLURM_RESTART_COUNT": "`S_SLURM_RESTART_COUNT`, `S_JOB_ARRAY_ID`, `S_JOB_ARRAY_TASK_ID`",
    "S_JOB_ARRAY_ID": "`S_SLURM_RESTART_COUNT`, `S_JOB_ARRAY_ID`, `S_JOB_ARRAY_TASK_ID`",
    "S_JOB_ARRAY_TASK_ID": "`S_SLURM_RESTART_COUNT`, `S_JOB_ARRAY_ID`, `S_JOB_ARRAY_TASK_ID`",
}
"""Rows of the probe that differ, and the row of docs/lua.md that says so."""
VARYING = re.compile(r"(StepId=|task )[\d.]+|\[\d.*?\]|/opt/spank-lua/|lua\.so|spank_python\.so|\"(lua|python)\"")
"""Ids, times and names of plugins in what commands print."""
VARIES = ("S_JOB_ID", "S_TASK_PID", "S_JOB_PID_TO_GLOBAL_ID", "S_JOB_ALLOC_MEM", "S_STEP_ALLOC_MEM")
"""Items that differ from step to step."""
PROBE = (Path(__file__).parent / "lua" / "spank_probe.lua").read_text()
PREFIXES = 'ipairs({"", "job_control_"})'
ENDS = "test $SLURM_PROCID = 0 && kill -9 $$; exit 3"


@pytest.fixture(scope="module")
def both(cluster: "Cluster") -> Site:
    """A site with spank-lua beside our plugin."""
    where = os.environ.get(spank_lua.WHERE)
    if where is None:
        pytest.skip(f"{reporting.SKIPPED} SCRIPTS WERE COMPARED WITH spank-lua: {spank_lua.WHERE} does not name it")
    lent = lua_site(cluster)
    spank_lua.install(Path(where), lambda file, name: cluster.put(Path(file), name), lent.root)
    return lent


def run(lent: Site, plugin: str, script: str, command: str, last: str) -> tuple[list[str], list[str]]:
    """Return what a command prints, and the records of its processes, without what varies."""
    scripts(lent, {"drawn": script}, LINE % ENGINES[plugin])
    done = lent.shell(f"cd; timeout 60 {command}; echo exit $?")
    if last:
        lent.cluster.wait(lambda: any(row.startswith(last) for row in rows(lent)), what=f"a record {last}")
    lent.wait_until_idle()
    lent.resume()
    said = VARYING.sub("", done.stdout)
    # docs/lua.md: an optional argument that was not given.
    return sorted(said.splitlines()), sorted(row.replace("taken 2  true", "taken 2 nil true") for row in rows(lent))


def test_drawn_scripts(both: Site) -> None:
    """Results, variables, options and messages are those of spank-lua itself."""
    seed = int(os.environ.get("SLURMHOOKS_SEED", random.randrange(1 << 32)))
    print(f"SLURMHOOKS_SEED={seed}")  # noqa: T201 - to repeat a failure
    chance = random.Random(seed)
    parts = [part for part in STEP_PARTS if not any(word in part for word in LISTED)]
    calls: Counter[str] = Counter()
    for _ in range(SCRIPTS):
        script = STEP_OPTIONS
        for name in chance.sample(CALLBACKS, chance.randint(1, 3)):
            body = "\n".join(f"do {part} end" for part in chance.sample(parts, chance.randint(1, 3)))
            script += f"function slurm_spank_{name}(spank)\n{body}\nend\n"
        around = script + AROUND % ", ".join(f"{name!r}" for name in CALLBACKS)
        command = chance.choice(COMMANDS)
        theirs, ours = (run(both, plugin, around, command, "") for plugin in ENGINES)
        assert ours == theirs, f"{command}\n{script}"
        calls.update(row.split()[0] for row in ours[1])
    assert {"init", "init_post_opt"} <= set(calls)


def test_everything_that_a_script_can_read(both: Site) -> None:
    """In every callback and context, all values are those of spank-lua; docs/lua.md lists those that are not."""
    table = (Path(__file__).parents[2] / "docs" / "lua.md").read_text()
    assert all(f"| {row} |" in table for row in KNOWN.values())
    # spank-lua ends the process there.
    probe = PROBE.replace(PREFIXES, PREFIXES.replace('{"', 'spank.context == "job_script" and {""} or {"', 1))
    assert probe != PROBE
    command = (
        "env PROBE=value srun -w n1 -n2 --mem=64 --probe-word=w --probe-maybe=m --probe-flag --probe-quiet"
        f" --probe-dynamic=d sh -c '{ENDS}'"
    )
    found = {}
    for plugin in ENGINES:
        _, records = run(both, plugin, probe, command, "job_epilog@job_script")
        found[plugin] = Counter(row for row in records if row.split(" | ")[1].partition(",")[0] not in VARIES)
    differ = {row.split(" | ")[1] for row in (found["lua"] - found["python"]) + (found["python"] - found["lua"])}
    assert differ <= set(KNOWN), [
        row for row in (found["lua"] - found["python"]) + (found["python"] - found["lua"])
        if row.split(" | ")[1] not in KNOWN
    ]  # fmt: skip
    assert sum(found["python"].values()) > 1000


def test_published_scripts(both: Site) -> None:
    """Further scripts, if there are any, print the same under both plugins."""
    if PUBLIC is None:
        pytest.skip("SLURMHOOKS_SPANK_SCRIPTS names no folder")
    both.cluster.tool("add", "lua-posix")  # many of them need it
    for path in sorted(Path(PUBLIC).glob("*.lua")):
        for command in COMMANDS[:1]:
            theirs, ours = (run(both, plugin, path.read_text(), command, "") for plugin in ENGINES)
            if any("Fatal: " in line for line in theirs[0]):  # it does not load: only the reason is the same
                assert ours[0][0] == theirs[0][0] == "exit 1"
                assert {line for line in theirs[0] if "Fatal: " in line and "\\n" not in line} <= set(ours[0]), path
                continue
            assert ours == theirs, path
