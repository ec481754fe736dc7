# SPDX-License-Identifier: GPL-2.0-or-later
"""The trial of a script, and the comparison of answers: equal ones, different ones, and what cannot be compared."""

import subprocess
from pathlib import Path

import pytest

from slurmhooks.workshop.adopt import requests, trial
from slurmhooks.workshop.adopt.answers import Answer, TrialRequest, difference
from slurmhooks.workshop.adopt.script import Script
from slurmhooks.workshop.adopt.values import Settings

pytestmark = pytest.mark.moved

RELEASE = (24, 11)
SCRIPT = """#!/usr/bin/lua
calls = 0
function slurm_job_submit(job_desc, part_list, submit_uid)
   calls = calls + 1
   slurm.log_info("call %d, account %s", calls, tostring(job_desc.account))
   if job_desc.partition == "long" then
      slurm.log_user("too long: %d", job_desc.time_limit)
      return slurm.ESLURM_INVALID_TIME_LIMIT
   end
   if job_desc.account == nil then job_desc.account = "physics" end
   job_desc.min_mem_per_cpu = (job_desc.min_mem_per_node or 7) + 1
   job_desc.gres = "gpu:1,shard:2"
   job_desc.no_such_field = 1
   local names = {}
   for name, part in pairs(part_list) do names[#names + 1] = name .. part.max_time end
   slurm.log_debug(table.concat(names, " "))
   if job_desc.num_tasks == 7 then return "text" end
   return slurm.SUCCESS, job_desc.features .. "x"
end
function slurm_job_modify(job_desc, job_rec) return slurm.SUCCESS end
"""


def tried(path: Path, source: str, count: int = 60, encoding: str = "utf-8", lua: str = "5.4") -> trial.Tried:
    """Return what a script did."""
    path.write_text(source, encoding=encoding)
    script = Script(source.encode(encoding), Settings(RELEASE, lua))
    uses = frozenset(use.name for use in script.uses if use.of == "job_desc")
    hooks = ("job_submit", "job_modify")
    wanted = [each for hook in hooks for each in requests.generated(set(uses), script.constants, "24.11", hook, count)]
    return trial.run(str(path), RELEASE, lua, wanted, uses)


def test_refusals_and_errors_are_counted(tmp_path: Path) -> None:
    """A trial says how many requests a script refused, and on which line it failed."""
    outcome = tried(tmp_path / "job_submit.lua", SCRIPT, 120)
    assert outcome.requests > 60
    assert outcome.refused
    assert {text.split(":")[1] for text in outcome.errors} == {"18"}
    assert outcome.not_tried == {}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_scripts_and_texts_of_any_encoding(tmp_path: Path, encoding: str) -> None:
    """A script may begin with a byte order mark, and it, its messages and what users send need not be UTF-8."""
    source = (
        "function slurm_job_submit(job_desc) -- für jeden\n"
        "   slurm.log_user('refusé: %s', tostring(job_desc.comment))\n"
        "   job_desc.name = tostring(job_desc.comment) .. 'é'\n"
        "   return job_desc.account == 'é' and slurm.ERROR or slurm.SUCCESS\n"
        "end\nfunction slurm_job_modify() return slurm.SUCCESS end\n"
    )
    assert tried(tmp_path / "job_submit.lua", source, 20, encoding).errors == {}
    odd = TrialRequest("job_submit", "Latin-1", release="24.11", members={"comment": b"5\xa0", "account": b"\xe9"})
    outcome = trial.run(str(tmp_path / "job_submit.lua"), RELEASE, "5.4", [odd], frozenset())
    assert (outcome.errors, outcome.refused) == ({}, encoding == "latin-1")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("os.execute('true')", "os.execute"),
        ("io.popen('true')", "io.popen"),
        ("io.open('/tmp/x', 'w')", "io.open for writing"),
        ("os.exit(1)", "os.exit"),
        ("pcall(os.remove, '/tmp/x')", "os.remove"),
        ("require('no.such.module').call()", "no.such.module.call"),
    ],
)
def test_what_cannot_be_tried(tmp_path: Path, code: str, reason: str) -> None:
    """A request that leads to a program and the like counts as not tried, even if the script catches the error."""
    source = (
        f"function slurm_job_submit(job_desc, part_list) {code} return slurm.SUCCESS end\n"
        "function slurm_job_modify() return slurm.SUCCESS end\n"
    )
    outcome = tried(tmp_path / "job_submit.lua", source, 2)
    assert outcome.not_tried == {reason: 2}
    assert (outcome.requests, outcome.errors) == (4, {})


def test_functions_of_c_do_not_run(tmp_path: Path) -> None:
    """LuaJIT's own module ffi, which calls functions of C, is not there in a trial."""
    source = (
        "local ffi = require 'ffi'\npcall(function() ffi.cdef 'int getpid(void);' end)\n"
        "function slurm_job_submit(job_desc) job_desc.comment = tostring(ffi.C.getpid()) return slurm.SUCCESS end\n"
        "function slurm_job_modify() return slurm.SUCCESS end\n"
    )
    outcome = tried(tmp_path / "job_submit.lua", source, 2, lua="luajit2.1")
    assert outcome.not_tried == {"ffi.C.getpid": 2}


C_MODULE = """
#include <fcntl.h>
#include <unistd.h>
int luaopen_NAME(void *state) { return creat("TOUCHED", 0600) * 0; }
"""


def modules(folder: Path, *names: str) -> None:
    """Make C modules that create the file ``touched``, and a module in Lua for ``family``."""
    for name in names:
        path = folder.joinpath(*name.split(".")).with_suffix(".so")
        path.parent.mkdir(exist_ok=True)
        text = C_MODULE.replace("NAME", name.replace(".", "_")).replace("TOUCHED", str(folder / "touched"))
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", path, "-"], input=text.encode(), check=True)
    (folder / "family.lua").write_text("local core = require 'family.core' return { send = core.send }")
    (folder / "site.lua").write_text(
        "pcall(require, 'site.optional') local l = require 'leaves'"
        " return { good = function() return 'good' end, bad = function() l.go() end }"
    )


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("require('leaves').go()", "leaves.go"),
        ("require('leaves.deep').go()", "leaves.deep.go"),
        ("require('family').send()", "family.send"),
        ("require('site').bad()", "leaves.go"),
        ("if require('site').good() ~= 'good' then error('x') end", None),
        ("package.loadlib('leaves.so', 'luaopen_leaves')", "package.loadlib"),
    ],
)
def test_modules_in_c_do_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str | None
) -> None:
    """A module in C, which may start programs or change files, is not loaded, whether or not Lua is around it."""
    modules(tmp_path, "leaves", "leaves.deep", "family.core")
    monkeypatch.setenv("LUA_CPATH", f"{tmp_path}/?.so;;")
    monkeypatch.setenv("LUA_PATH", f"{tmp_path}/?.lua;;")
    source = (
        f"function slurm_job_submit() {code} return slurm.SUCCESS end\n"
        "function slurm_job_modify() return slurm.SUCCESS end\n"
    )
    outcome = tried(tmp_path / "job_submit.lua", source, 2)
    assert (outcome.not_tried, outcome.errors) == ({} if reason is None else {reason: 2}, {})
    assert not (tmp_path / "touched").exists()


def test_modules_that_only_compute_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known modules in C that leave nothing are loaded, so that scripts that need them can be tried."""
    modules(tmp_path, "cjson")
    monkeypatch.setenv("LUA_CPATH", f"{tmp_path}/?.so;;")
    source = (
        "function slurm_job_submit() require('cjson') return slurm.SUCCESS end\n"
        "function slurm_job_modify() return slurm.SUCCESS end\n"
    )
    assert tried(tmp_path / "job_submit.lua", source, 2).not_tried == {}
    assert (tmp_path / "touched").exists()


def test_an_endless_loop_ends_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that does not answer is named."""
    monkeypatch.setattr(trial, "PATIENCE", 3.0)
    source = "function slurm_job_submit() while true do end end\nfunction slurm_job_modify() return slurm.SUCCESS end\n"
    with pytest.raises(trial.TrialError, match="endless loop"):
        tried(tmp_path / "job_submit.lua", source, 2)


def test_a_script_that_does_not_load(tmp_path: Path) -> None:
    """The reason is Lua's own message."""
    with pytest.raises(trial.TrialError, match="near 'end'"):
        tried(tmp_path / "job_submit.lua", "function slurm_job_submit() x = end\n", 2)


SAME = Answer(0, ["a"], {"account": "x"}, ["info: lua: x"])


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (Answer(1, ["a"], {"account": "x"}, ["info: lua: x"]), "return code"),
        (Answer(0, ["b"], {"account": "x"}, ["info: lua: x"]), "messages"),
        (Answer(0, ["a"], {"account": "y"}, ["info: lua: x"]), "changed fields: account"),
        (Answer(0, ["a"], {}, ["info: lua: x"]), "changed fields: account"),
        (Answer(0, ["a"], {"account": "x"}, ["debug: lua: x"]), "log lines"),
        (Answer(0, ["a"], {"account": "x"}, []), "log lines"),
        (Answer(0, ["a"], {"account": "x"}, ["info: lua: x"], error="s.lua:1: no"), "error"),
    ],
)
def test_each_difference_is_found(other: Answer, what: str) -> None:
    """Answers that differ in one thing differ."""
    assert difference(SAME, SAME) is None
    for pair in ((SAME, other), (other, SAME)):
        assert what in (difference(*pair) or "")


def test_what_is_not_compared() -> None:
    """Line feeds at the end, the writes of a refused request, and the path in an error make no difference."""
    assert difference(Answer(0, ["a\n"], {}, []), Answer(0, ["a"], {}, [])) is None
    assert difference(Answer(1, [], {"account": "x"}, []), Answer(1, [], {}, [])) is None
    assert difference(Answer(0, [], {}, [], "/a/s.lua:7: no"), Answer(0, [], {}, [], "...s.lua:7: no")) is None
    assert difference(Answer(0, [], {}, [], "/a/s.lua:7: no"), Answer(0, [], {}, [], "/a/s.lua:8: no")) is not None


def test_fields_that_were_not_recorded() -> None:
    """A request without a field that the script uses is neither tried nor compared."""
    request = TrialRequest("job_submit", "", unknown=frozenset({"script"}))
    tried, compared = trial.Tried(), trial.Compared(plugin="")
    for field in ("script", "account"):
        tried.add(request, SAME, frozenset({field}))
        compared.add(request, SAME, SAME, frozenset({field}))
    assert tried.not_tried == compared.not_compared == {"script, which was not recorded": 1}
    assert (tried.requests, compared.same) == (2, 1)


def test_differences_are_counted() -> None:
    """A comparison counts answers that differ, and shows the first ones."""
    compared = trial.Compared(plugin="")
    for _ in range(trial.EXAMPLES + 1):
        compared.add(TrialRequest("job_submit", "a=b"), SAME, Answer(1, [], {}, []), frozenset())
    assert (compared.same, compared.different) == (0, trial.EXAMPLES + 1)
    assert [each.request for each in compared.examples] == ["job_submit with a=b"] * trial.EXAMPLES


def test_requests_try_what_the_script_compares() -> None:
    """Requests have each constant of the script in each field that it uses, its neighbours, and nothing."""
    made = requests.generated({"partition", "time_limit"}, ["special", 77.0], "24.11", "job_submit", 400)
    partitions = {request.fields.get("partition") for request in made}
    limits = {request.fields.get("time_limit") for request in made}
    assert {None, "special", "debug"} <= partitions
    assert {None, 76, 77, 78} <= limits
    assert made == requests.generated({"partition", "time_limit"}, ["special", 77.0], "24.11", "job_submit", 400)
