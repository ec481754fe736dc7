# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts of spank-lua on lines of plugstack.conf: their order, failures, what starts Lua, and which Lua."""

import re
from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.scripts import LUA_D, lua_site, rows, scripts
from tests.cluster.spank.site import Site
from tests.cluster.turns import moved_from

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped


@pytest.fixture(scope="module")
def lua(cluster: "Cluster") -> Site:
    """A site without hook files."""
    return lua_site(cluster)


SAY = """
local file = io.open("/opt/spank/records", "a")
mark = (mark or "") .. "%s"
function slurm_spank_task_init(spank)
   file:write(mark, " ", spank.args[1] or "none", " ", spank:getenv("PYTHON") or "nil", "\\n")
   file:flush()
   mark = mark .. "+"
end
"""
PYTHON = """
from slurmhooks import hook
@hook.spank.task_init
def first(spank):
    spank.env["PYTHON"] = "was here"
    with open("/opt/spank/records", "a") as file:
        file.write("python\\n")
"""


HOOK_FILE = """
from slurmhooks import Reject, hook
@hook.spank.task_init(order=%s)
def say(spank):
    with open("/opt/spank/records", "a") as file:
        file.write(f"%s {' '.join(spank.args)}\\n")
    if spank.env.get("REFUSES") == "%s":
        raise Reject("refused")
"""


def test_order(lua: Site) -> None:
    """Lines run in order, on each hook files first, then scripts, the last of the GLOB first, each in its state."""
    lines = (
        f"required spank_python.so failonerror {LUA_D}/*.lua x",
        "required spank_python.so hooks.d/*.py z 2",
        f"required spank_python.so {LUA_D}/m* y",
        f"optional spank_python.so {LUA_D}/b.lua",
    )
    scripts(lua, {name: SAY % name for name in ("a", "b", "m")}, *lines)
    lua.hooks(one=HOOK_FILE % (70, "one", "one"), two=HOOK_FILE % (60, "two", "two"))
    lua.cluster.put(PYTHON, f"{LUA_D}/m.py")
    assert lua.shell("srun -w n1 true").returncode == 0
    said = ["m x nil", "b x nil", "a x nil", "two z 2", "one z 2", "python", "m y was here", "b none was here"]
    assert rows(lua) == said
    lua.forget_records()
    assert lua.shell("REFUSES=two srun -w n1 true").returncode != 0
    # After a failure of a required line, Slurm does not call the later lines.
    assert rows(lua) == said[:4]
    lua.resume()


@pytest.mark.moved
def test_order_and_failures(lua: Site) -> None:
    """All scripts of a line run, even if one fails; none does if a hook file of the line refuses."""
    fails = SAY.replace("\nend\n", '\n   if spank:getenv("FAILS") == "%s" then return -1 end\nend\n')
    scripts(lua, {name: fails % (name, name) for name in ("a", "b", "c")}, f"required spank_python.so {LUA_D}/*")
    lua.cluster.put(HOOK_FILE % (50, "hook", "hook"), f"{LUA_D}/b.py")
    for env, said, passes in (
        ("A=1", ["hook ", "c none nil", "b none nil", "a none nil"], True),
        ("FAILS=b", ["hook ", "c none nil", "b none nil", "a none nil"], False),
        ("REFUSES=hook", ["hook "], False),
    ):
        lua.forget_records()
        assert (lua.shell(f"{env} srun -w n1 true").returncode == 0) == passes, env
        assert rows(lua) == said, env
    lua.resume()


FAIL = """
function slurm_spank_%s(spank)
   if spank.context ~= "%s" then return end
   %s
end
"""


@pytest.mark.parametrize(
    ("callback", "context", "what", "word", "fails"),
    moved_from(
        3,
        [
            ("init_post_opt", "local", "return SPANK.FAILURE", "", True),
            ("init_post_opt", "local", "return 5", "", False),
            ("init_post_opt", "local", "return false", "", False),
            ("task_init", "remote", "return -1", "", True),
            ("user_init", "remote", "return -1", "", True),
            ("init_post_opt", "local", "error('oops')", "", False),
            ("init_post_opt", "local", "error('oops')", "failonerror ", True),
            ("task_init", "remote", "error('oops')", "failonerror ", True),
            ("task_init", "remote", "local x = nil; x.y = 1", "", False),
        ],
    ),
)
def test_failures(lua: Site, callback: str, context: str, what: str, word: str, fails: bool) -> None:
    """A number below zero fails a callback; an error fails it only with failonerror, and names file and line."""
    if callback == "user_init" and lua.since < (23, 11):
        fails = False  # spank(7) of those releases: a failure of user_init does not fail srun
    text = FAIL % (callback, context, what)
    scripts(lua, {"fail": text}, f"required spank_python.so {word}{LUA_D}/*.lua")
    done = lua.shell("srun -w n1 true")
    assert (done.returncode != 0) == fails, done.stdout
    if context == "local" and fails:
        assert f"required plugin spank_python.so: {callback}() failed with rc=-1" in done.stdout
    if "return" not in what:
        where = rf"spank/lua: slurm_spank_{callback}: \S*{LUA_D}/fail\.lua:4: "
        said = done.stdout + lua.root("cat /var/log/slurm/slurmd*.log /var/log/slurmd*.log 2>/dev/null || true")
        assert re.search(where, said)
    lua.resume()


@pytest.mark.parametrize("word", ["", "failonerror "])
def test_a_script_that_cannot_be_loaded(lua: Site, word: str) -> None:
    """A broken script is refused, and the former scripts stay in force."""
    text = "function slurm_spank_init_post_opt(spank) SPANK.log_info('the good one ran') end"
    scripts(lua, {"good": text}, f"required spank_python.so {word}{LUA_D}/*.lua")
    assert "the good one ran" in lua.shell("srun -w n1 true").stdout
    lua.cluster.put("x = = 1\n", f"{LUA_D}/bad.lua")
    reason = f"{LUA_D}/bad.lua:1: unexpected symbol near '='"
    assert reason in lua.cluster.refusal()
    assert "the good one ran" in lua.shell("srun -w n1 true").stdout


def test_an_option_may_be_refused(lua: Site) -> None:
    """Any result other than 0 of an option's function ends the command; --help shows the option."""
    text = """
    spank_options = {{name = "limit", arginfo = "N", usage = "a limit", has_arg = true, cb = "given"}}
    function given(val, optarg, remote)
       if tonumber(optarg) == nil then SPANK.log_error("--limit=%s: not a number", optarg) return 1 end
    end
    """
    scripts(lua, {"option": text})
    assert re.search(r"--limit=N +a limit", lua.shell("srun --help").stdout)
    refused = lua.shell("srun -w n1 --limit=x true")
    assert refused.returncode != 0
    assert "--limit=x: not a number" in refused.stdout
    assert lua.shell("srun -w n1 --limit=5 true").returncode == 0


LOADED = """
local comm = io.open("/proc/self/comm"):read("*l")
local file = io.open("/opt/spank/records", "a")
file:write("loaded in ", comm, "\\n")
file:close()
spank_options = {{name = "quiet", usage = "no function"}}
function slurm_spank_task_init(spank) end
"""


def test_lua_starts_only_where_a_script_has_a_callback(lua: Site) -> None:
    """Neither srun nor prolog nor epilog starts Python or Lua for a script of task_init."""
    scripts(lua, {"only": LOADED})
    done = lua.shell("LD_DEBUG=files srun -w n1 --quiet true")
    assert done.returncode == 0
    assert "spank_python" in done.stdout
    assert "libpython" not in done.stdout
    assert "liblua" not in done.stdout
    lua.wait_until_idle()
    # slurmstepd has its final name by then.
    assert len(rows(lua)) == 1


def test_which_lua(lua: Site) -> None:
    """[lua] version chooses the version of Lua; the default is that of this Slurm's own Lua plugins."""
    text = "function slurm_spank_init_post_opt(spank) SPANK.log_info('%s%s', _VERSION, jit and ' jit' or '') end"
    before = lua.root("cat /etc/slurm/slurmhooks.toml")
    for version, shown in (("5.4", "Lua 5.4"), ("luajit", "Lua 5.1 jit"), (None, "")):
        added = "" if version is None else f'[lua]\nversion = "{version}"\n'
        lua.cluster.put(before + added, "/etc/slurm/slurmhooks.toml")
        scripts(lua, {"version": text})
        assert re.search(rf"srun: {shown or 'Lua 5.[1-4]'}$", lua.shell("srun -w n1 true").stdout, re.MULTILINE)
    lua.cluster.put(before, "/etc/slurm/slurmhooks.toml")
