# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts of spank-lua on a line of plugstack.conf: values, functions and the effects of failures."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import HOOKS_D, RECORDS, Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

PROBE = {"probe": (Path(__file__).parent / "lua" / "spank_probe.lua").read_text()}
LUA_D = "/etc/slurm/lua.d"
LINE = f"required spank_python.so {LUA_D}/*.lua a=1 b=2"
NOT_AVAILABLE = "nil:nil string:Item not available from this callback"
ONLY_REMOTE = "nil:nil string:Valid only in remote context"

Facts = dict[str, dict[str, list[str]]]
"""By place, such as task_init@remote, then by function: the results, in order."""


@pytest.fixture(scope="module")
def lua(cluster: "Cluster") -> Iterator[Site]:
    """A site without hook files."""
    with site(cluster) as lent:
        lent.hooks()
        # slurmd checks only at its start whether its plugins have job_prolog and job_epilog.
        cluster.restart()
        yield lent
        lent.root(f"rm -rf {LUA_D}")


def scripts(lent: Site, files: dict[str, str], *lines: str, compiled: bool = False) -> None:
    """Install exactly these scripts and these lines of plugstack.conf."""
    lent.wait_until_idle()
    lent.hooks()
    lent.root(f"rm -rf {LUA_D}; mkdir {LUA_D}")
    for stem, text in files.items():
        lent.cluster.put(text, f"{LUA_D}/{stem}.lua")
    lent.plugstack(*(lines or (LINE,)))
    if compiled:
        lent.compile()
    lent.forget_records()


def rows(lent: Site) -> list[str]:
    """Return the records of scripts."""
    return lent.root(f"cat {RECORDS}").splitlines()


def wait_for(lent: Site, *starts: str) -> None:
    """Wait for records of scripts that begin like this, because some callbacks run after the command has ended."""
    lent.cluster.wait(
        lambda: all(any(row.startswith(start) for row in rows(lent)) for start in starts), what=f"rows {starts}"
    )


def facts(lent: Site) -> Facts:
    """Return the records of the probe script."""
    found: Facts = {}
    for row in rows(lent):
        place, what, answers = row.split(" | ", 2)
        found.setdefault(place, {}).setdefault(what, []).append(answers)
    return found


ENDS = "test $SLURM_PROCID = 0 && kill -9 $$; exit 3"
OPTIONS = "--probe-word=w --probe-maybe --probe-flag --probe-quiet --probe-dynamic=d"
PLACES = (
    *("init@local", "init_post_opt@local", "local_user_init@local", "exit@local"),
    *("job_prolog@job_script", "job_epilog@job_script"),
    *("init@remote", "init_post_opt@remote", "user_init@remote", "task_init_privileged@remote", "task_init@remote"),
    *("task_post_fork@remote", "task_exit@remote", "exit@remote"),
)


@pytest.fixture(scope="module", params=[False, True], ids=["loaded", "compiled"])
def probed(lua: Site, request: pytest.FixtureRequest) -> Facts:
    """The probe's records of a step of two tasks, without a hook manifest and with one."""
    scripts(lua, PROBE, compiled=request.param)
    done = lua.shell(f"cd; PROBE=value timeout 60 srun -w n1 -n2 --mem=64 {OPTIONS} sh -c '{ENDS}'")
    assert done.returncode != 0
    wait_for(lua, "exit@remote", "job_epilog@job_script")
    lua.wait_until_idle()
    return facts(lua)


def test_every_callback_is_called(probed: Facts) -> None:
    """All functions of spank(7) that belong to the step are called, once for each task or each process."""
    assert set(PLACES) <= set(probed)
    for place in ("task_init_privileged@remote", "task_init@remote", "task_exit@remote"):
        assert len(probed[place]["logs"]) == 2, place


def test_the_handle(lua: Site, probed: Facts) -> None:
    """The handle is a table with context, the script's own arguments, version, and remote() as text."""
    version = lua.root("sinfo --version").split()[1].split("-")[0]
    for place in PLACES:
        remote = "yes" if place.endswith("@remote") else "no"
        seen = {row.rsplit(" ", 1)[0] for row in probed[place]["handle"]}
        assert seen == {f"string:table {{a=1,b=2}} string:{version} string:{remote}"}, place
        assert set(probed[place]["logs"]) == {"number:0 number:-1 nil:nil number:-1"}


def test_a_state_lasts_as_long_as_its_process(probed: Facts) -> None:
    """Globals last between the callbacks of a process; forked tasks have copies made at the fork."""
    for place in ("init_post_opt@local", "exit@local", "task_init@remote", "exit@remote"):
        assert {row.rsplit(" ", 1)[1] for row in probed[place]["handle"]} == {"boolean:true"}, place
    for place in ("init@local", "job_prolog@job_script", "job_epilog@job_script"):
        assert {row.rsplit(" ", 1)[1] for row in probed[place]["handle"]} == {"boolean:false"}, place


def test_option_callbacks(probed: Facts) -> None:
    """The function of an option gets val, the argument or nil, and whether this is slurmstepd."""
    for context, remote in (("local", "false"), ("remote", "true")):
        # The same for options from the table and from init; of two options with the same name the first is used.
        answers = {
            row for place, found in probed.items() if place.endswith(f"@{context}") for row in found.get("option", ())
        }
        assert answers == {
            f"number:11 string:w boolean:{remote}",
            f"number:12 nil:nil boolean:{remote}",
            f"number:0 nil:nil boolean:{remote}",
            f"number:2 string:d boolean:{remote}",
        }


def test_registering(probed: Facts) -> None:
    """register_option works in init, returns nil and a reason later, and raises for an invalid option."""
    assert probed["init@local"]["register"] == ["boolean:true", "boolean:true"]
    assert set(probed["task_exit@remote"]["register late"]) == {"nil:nil string:Bad argument"}
    for place in PLACES:
        assert sorted(set(probed[place]["register wrong"])) == [
            "boolean:false string:Expected table argument to spank_option_register",
            'boolean:false string:Required field "name" missing from spank option table',
            'boolean:false string:Required field "usage" missing from spank option table',
            "boolean:false string:Unable to find spank option cb function nobody",
        ]


@pytest.mark.parametrize(
    "place",
    [
        "local_user_init@local",
        "user_init@remote",
        "task_init_privileged@remote",
        "task_init@remote",
        "task_exit@remote",
        "job_prolog@job_script",
        "job_epilog@job_script",
    ],
)
def test_getopt(probed: Facts, place: str) -> None:
    """getopt returns the argument, or true without one, wherever Slurm has options, also without a callback."""
    options = {what.removeprefix("getopt "): set(rows) for what, rows in probed[place].items() if "getopt" in what}
    assert options == {
        "probe-word": {"string:w"},
        "probe-maybe": {"boolean:true"},
        "probe-flag": {"boolean:true"},
        "probe-quiet": {"boolean:true"},
        "dynamic": {"string:d"},
        "wrong": {"boolean:false string:Expected table argument to spank_option_getopt"},
    }


def test_getopt_where_slurm_knows_none(probed: Facts) -> None:
    """A failing function returns nil and Slurm's text."""
    for place in ("init@local", "init_post_opt@local", "task_post_fork@remote", "exit@remote"):
        assert set(probed[place]["getopt probe-word"]) == {NOT_AVAILABLE}, place


def test_items_of_a_task(lua: Site, probed: Facts) -> None:
    """get_item returns every item of the manual page, as numbers, texts and arrays."""
    answers = probed["task_exit@remote"]
    assert sorted(answers["S_TASK_EXIT_STATUS"]) == [
        "boolean:true number:768 number:3 nil:nil nil:nil",
        "boolean:true number:9 nil:nil number:9 number:0",
    ]
    assert sorted(answers["S_TASK_ID"]) == ["boolean:true number:0", "boolean:true number:1"]
    once = {
        "S_JOB_UID": "number:2001",
        "S_JOB_GID": "number:2001",
        "S_JOB_STEPID": "number:0",
        "S_JOB_NNODES": "number:1",
        "S_JOB_NODEID": "number:0",
        "S_JOB_LOCAL_TASK_COUNT": "number:2",
        "S_JOB_TOTAL_TASK_COUNT": "number:2",
        "S_JOB_NCPUS": "number:2",
        "S_JOB_ARGV": f"{{sh,-c,{ENDS}}}",
        "S_JOB_SUPPLEMENTARY_GIDS": "{2001}",
        "S_STEP_CPUS_PER_TASK": "number:1",
        "S_JOB_ALLOC_CORES": "string:0-1",
        "S_STEP_ALLOC_CORES": "string:0-1",
        "S_SLURM_RESTART_COUNT": "number:0",
        "S_JOB_ARRAY_TASK_ID": "nil:nil",
        "S_JOB_LOCAL_TO_GLOBAL_ID,0": "number:0",
        "S_JOB_GLOBAL_TO_LOCAL_ID,0": "number:0",
    }
    for item, answer in once.items():
        assert set(answers[item]) == {f"boolean:true {answer}"}, item
    for item in ("S_JOB_ALLOC_MEM", "S_STEP_ALLOC_MEM"):
        assert re.fullmatch(r"boolean:true number:\d+", answers[item][0]), item
    assert re.fullmatch(r"boolean:true nil:nil string:.+", answers["S_JOB_LOCAL_TO_GLOBAL_ID,99"][0])
    assert set(answers["S_NO_SUCH"]) == {"boolean:false string:Invalid spank item S_NO_SUCH"}
    assert set(answers["S_JOB_ENV"]) == {"string:table string:/home/alice string:value"}
    assert set(probed["init@local"]["S_JOB_ID"]) == {f"boolean:true {NOT_AVAILABLE}"}
    assert set(probed["job_prolog@job_script"]["S_JOB_UID"]) == {"boolean:true number:2001"}


def test_the_jobs_environment(probed: Facts) -> None:
    """The environment is read and written in slurmstepd, and overwritten only on request; elsewhere it is missing."""
    answers = probed["user_init@remote"]
    assert [answers[what] for what in ("get unset", "set", "set again", "get", "set 0", "set 1", "unset")] == [
        ["nil:nil string:No such environment variable"],
        ["boolean:true"],
        ["nil:nil string:Environment variable exists"],
        ["string:one", "string:4"],
        ["nil:nil string:Environment variable exists"],
        ["boolean:true"],
        ["boolean:true"],
    ]
    assert answers["no name"] == ["boolean:false string:bad argument #1 to 'getenv' (string expected, got no value)"]
    assert answers["no handle"] == ["boolean:false string:Invalid argument expected table got string"]
    assert set(probed["task_init@remote"]["get kept"]) == {"string:remote"}
    for place in ("init_post_opt@local", "job_prolog@job_script"):
        assert {*probed[place]["get"], *probed[place]["set"], *probed[place]["unset"]} == {ONLY_REMOTE}


def test_the_job_control_environment(probed: Facts) -> None:
    """srun passes the job control environment to prolog and epilog, which can read it; slurmstepd has none."""
    found = probed["init_post_opt@local"]
    # Slurm always overwrites here.
    answers = [found[f"job_control_{what}"] for what in ("get unset", "set", "get", "set 0", "set 1", "unset")]
    assert answers == [
        ["nil:nil string:No such environment variable"],
        ["boolean:true"],
        ["string:one", "string:4"],
        ["boolean:true"],
        ["boolean:true"],
        ["boolean:true"],
    ]
    for place in ("job_prolog@job_script", "job_epilog@job_script"):
        assert probed[place]["job_control_get kept"] == ["string:local"]
    for place in ("task_init@remote", "job_prolog@job_script"):
        assert all(row.startswith("nil:nil string:") for row in probed[place]["job_control_set"])


def test_steps_of_a_batch_job(lua: Site) -> None:
    """Special steps have negative ids, as in spank-lua; options of sbatch reach the prolog and all steps."""
    scripts(lua, PROBE, compiled=True)
    done = lua.shell("cd; sbatch -w n1 --probe-word=of-sbatch -o /dev/null --wrap 'srun true'")
    job = re.search(r"Submitted batch job (\d+)", done.stdout)
    assert job is not None, done.stdout
    assert lua.wait_for_job(int(job.group(1))) == "COMPLETED"
    wait_for(lua, "job_epilog@job_script")
    answers = facts(lua)
    assert "init_post_opt@allocator" in answers
    assert sorted(set(answers["task_init@remote"]["S_JOB_STEPID"])) == [
        "boolean:true number:-5",
        "boolean:true number:0",
    ]
    assert set(answers["task_init@remote"]["getopt probe-word"]) == {"string:of-sbatch"}
    assert answers["job_prolog@job_script"]["getopt probe-word"] == ["string:of-sbatch"]


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


@pytest.mark.parametrize("compiled", [False, True])
def test_order(lua: Site, compiled: bool) -> None:
    """Lines run in order, on each hook files first, then scripts, the last of the GLOB first, each in its state."""
    lines = (
        f"required spank_python.so failonerror {LUA_D}/*.lua x",
        f"required spank_python.so {HOOKS_D}/*.py z 2",
        f"required spank_python.so {LUA_D}/m* y",
        f"optional spank_python.so {LUA_D}/b.lua",
    )
    scripts(lua, {name: SAY % name for name in ("a", "b", "m")}, *lines)
    lua.hooks(one=HOOK_FILE % (70, "one", "one"), two=HOOK_FILE % (60, "two", "two"))
    lua.cluster.put(PYTHON, f"{LUA_D}/m.py")
    if compiled:
        lua.compile()
    assert lua.shell("srun -w n1 true").returncode == 0
    said = ["m x nil", "b x nil", "a x nil", "two z 2", "one z 2", "python", "m y was here", "b none was here"]
    assert rows(lua) == said
    lua.forget_records()
    assert lua.shell("REFUSES=two srun -w n1 true").returncode != 0
    # After a failure of a required line, Slurm does not call the later lines.
    assert rows(lua) == said[:4]
    lua.resume()


@pytest.mark.parametrize("compiled", [False, True])
def test_order_and_failures(lua: Site, compiled: bool) -> None:
    """All scripts of a line run, even if one fails; none does if a hook file of the line refuses."""
    fails = SAY.replace("\nend\n", '\n   if spank:getenv("FAILS") == "%s" then return -1 end\nend\n')
    scripts(lua, {name: fails % (name, name) for name in ("a", "b", "c")}, f"required spank_python.so {LUA_D}/*")
    lua.cluster.put(HOOK_FILE % (50, "hook", "hook"), f"{LUA_D}/b.py")
    if compiled:
        lua.compile()
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
    ("callback", "context", "what", "word", "fails", "compiled"),
    [
        (*case, compiled)
        for modes, *case in (
            ([False], "init_post_opt", "local", "return SPANK.FAILURE", "", True),
            ([False], "init_post_opt", "local", "return 5", "", False),
            ([False], "init_post_opt", "local", "return false", "", False),
            ([False], "task_init", "remote", "return -1", "", True),
            ([False, True], "user_init", "remote", "return -1", "", True),
            ([False], "init_post_opt", "local", "error('oops')", "", False),
            ([False, True], "init_post_opt", "local", "error('oops')", "failonerror ", True),
            ([False, True], "task_init", "remote", "error('oops')", "failonerror ", True),
            ([False, True], "task_init", "remote", "local x = nil; x.y = 1", "", False),
        )
        for compiled in modes
    ],
)
def test_failures(lua: Site, callback: str, context: str, what: str, word: str, fails: bool, compiled: bool) -> None:
    """A number below zero fails a callback; an error fails it only with failonerror, and names file and line."""
    if callback == "user_init" and lua.since < (23, 11):
        fails = False  # spank(7) of those releases: a failure of user_init does not fail srun
    text = FAIL % (callback, context, what)
    scripts(lua, {"fail": text}, f"required spank_python.so {word}{LUA_D}/*.lua", compiled=compiled)
    done = lua.shell("srun -w n1 true")
    assert (done.returncode != 0) == fails, done.stdout
    if context == "local" and fails:
        assert f"required plugin spank_python.so: {callback}() failed with rc=-1" in done.stdout
    if "return" not in what:
        where = rf"spank/lua: slurm_spank_{callback}: {LUA_D}/fail\.lua:4: "
        said = done.stdout + lua.root("cat /var/log/slurm/slurmd*.log /var/log/slurmd*.log 2>/dev/null || true")
        assert re.search(where, said)
    lua.resume()


@pytest.mark.parametrize("word", ["", "failonerror "])
def test_a_script_that_cannot_be_loaded(lua: Site, word: str) -> None:
    """A broken script is ignored, and users read why; with failonerror nothing runs. 'slurmhooks check' reports it."""
    good = "function slurm_spank_init_post_opt(spank) SPANK.log_info('the good one ran') end"
    scripts(lua, {"bad": "x = = 1\n", "good": good}, f"required spank_python.so {word}{LUA_D}/*.lua")
    done = lua.shell("srun -w n1 true")
    reason = f"{LUA_D}/bad.lua:1: unexpected symbol near '='"
    if word:
        assert done.returncode != 0
        assert f"spank/lua: Fatal: {reason}" in done.stdout
    else:
        assert done.returncode == 0, done.stdout
        assert f"spank/lua: Disabling bad.lua: {reason}" in done.stdout
        assert "the good one ran" in done.stdout
    checked = lua.shell("slurmhooks check", user="root")
    assert checked.returncode == 1
    assert reason in checked.stdout
    compiled = lua.shell("slurmhooks compile", user="root")
    assert (compiled.returncode != 0) == bool(word)
    assert reason in compiled.stdout


@pytest.mark.parametrize("compiled", [False, True])
def test_an_option_may_be_refused(lua: Site, compiled: bool) -> None:
    """Any result other than 0 of an option's function ends the command; --help shows the option."""
    text = """
    spank_options = {{name = "limit", arginfo = "N", usage = "a limit", has_arg = true, cb = "given"}}
    function given(val, optarg, remote)
       if tonumber(optarg) == nil then SPANK.log_error("--limit=%s: not a number", optarg) return 1 end
    end
    """
    scripts(lua, {"option": text}, compiled=compiled)
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
    """With a hook manifest, neither srun nor prolog nor epilog starts Python or Lua for a script of task_init."""
    scripts(lua, {"only": LOADED}, compiled=True)
    done = lua.shell("LD_DEBUG=files srun -w n1 --quiet true")
    assert done.returncode == 0
    assert "spank_python" in done.stdout
    assert "libpython" not in done.stdout
    assert "liblua" not in done.stdout
    lua.wait_until_idle()
    # slurmstepd has its final name by then.
    assert len(rows(lua)) == 1
    scripts(lua, {"only": LOADED})
    assert "libpython" in lua.shell("LD_DEBUG=files srun -w n1 true").stdout
    lua.wait_until_idle()
    assert "loaded in srun" in rows(lua)


def test_which_lua(lua: Site) -> None:
    """[lua] version chooses the version of Lua; the default is that of this Slurm's own Lua plugins."""
    text = "function slurm_spank_init_post_opt(spank) SPANK.log_info('%s%s', _VERSION, jit and ' jit' or '') end"
    before = lua.root("cat /etc/slurm/slurmhooks.toml")
    for version, shown in (("5.4", "Lua 5.4"), ("luajit", "Lua 5.1 jit"), (None, "")):
        added = "" if version is None else f'[lua]\nversion = "{version}"\n'
        lua.cluster.put(before + added, "/etc/slurm/slurmhooks.toml")
        for compiled in (False, True):
            scripts(lua, {"version": text}, compiled=compiled)
            assert re.search(rf"srun: {shown or 'Lua 5.[1-4]'}$", lua.shell("srun -w n1 true").stdout, re.MULTILINE)
    lua.cluster.put(before, "/etc/slurm/slurmhooks.toml")
