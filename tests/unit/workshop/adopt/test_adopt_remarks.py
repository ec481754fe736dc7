# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of scripts: each rule finds its case, and nothing is said of a script that is right."""

import subprocess
from pathlib import Path

import pytest

from slurmhooks.lua.runtime import LuaState
from slurmhooks.workshop.adopt.differences import differences
from slurmhooks.workshop.adopt.script import Script
from slurmhooks.workshop.adopt.values import Settings

MODIFY = "function slurm_job_modify() return slurm.SUCCESS end\n"
CLI = "function slurm_cli_setup_defaults() return 0 end\nfunction slurm_cli_post_submit() return 0 end\n"


def submit(body: str) -> str:
    """Return a job_submit.lua whose function has a body, which begins in line 2."""
    return f"function slurm_job_submit(job_desc, part_list, submit_uid)\n{body}\nreturn slurm.SUCCESS end\n{MODIFY}"


def pre_submit(body: str) -> str:
    """Return a cli_filter.lua whose function has a body, which begins in line 2."""
    return f"function slurm_cli_pre_submit(options, offset)\n{body}\nreturn slurm.SUCCESS end\n{CLI}"


def spank(body: str) -> str:
    """Return a script of spank-lua whose function has a body, which begins in line 2."""
    return f"function slurm_spank_task_init_privileged(spank)\n{body}\nreturn SPANK.SUCCESS end\n"


def found(source: str, release: tuple[int, int] = (24, 11)) -> list[tuple[int, str, str]]:
    """Return line, level and rule of what is said of a script."""
    remarks = Script(source.encode(), Settings(release)).remarks
    return [(remark.line, remark.level, remark.kind) for remark in remarks]


CASES = {
    "a program": (submit("os.execute('true')"), [(2, "danger", "program")]),
    "a pipe": (submit("local f = io.popen('squeue')"), [(2, "danger", "program")]),
    "an alias of a function": ("local run = os.execute\n" + submit("run('true')"), [(3, "danger", "program")]),
    "posix": ("local posix = require 'posix'\n" + submit("posix.exec('/bin/true')"), [(3, "danger", "program")]),
    "the global posix": ("require 'posix'\n" + submit("posix.sleep(1)"), [(3, "danger", "program")]),
    "in another function": (
        "local function f() os.execute('true') end\n" + submit("f()"),
        [(1, "danger", "program")],
    ),
    "in a closure": (submit("pcall(function() os.execute('true') end)"), [(2, "danger", "program")]),
    "while loading": ("os.execute('true')\n" + submit(""), [(1, "warning", "program")]),
    "never called": ("function f() os.execute(job_desc) end\n" + submit(""), [(1, "warning", "program")]),
    "text of a user": (
        submit("os.execute('id ' .. (job_desc.account or ''))"),
        [(2, "danger", "injection"), (2, "danger", "program")],
    ),
    "in a format": (
        submit("local c = string.format('echo %s', job_desc.name) os.execute(c)"),
        [(2, "danger", "injection"), (2, "danger", "program")],
    ),
    "in quotes only": (
        submit("io.popen(\"grep '\" .. job_desc.name .. \"' /etc/motd\")"),
        [(2, "danger", "injection"), (2, "danger", "program")],
    ),
    "from the environment": (
        submit("local e = job_desc.environment.X if e then os.execute('echo ' .. e) end"),
        [(2, "danger", "injection"), (2, "danger", "program")],
    ),
    "through a function": (
        "local function run(c) os.execute('x ' .. c) end\n" + submit("run(job_desc.name)"),
        [(1, "danger", "injection"), (1, "danger", "program")],
    ),
    "a number is harmless": (submit("os.execute('id ' .. job_desc.user_id)"), [(2, "danger", "program")]),
    "the name of the user is harmless": (submit("os.execute('id ' .. job_desc.user_name)"), [(2, "danger", "program")]),
    "checked text is harmless": (
        submit("local n = job_desc.name if n:match('^[%w_-]+$') then os.execute('echo ' .. n) end"),
        [(2, "danger", "program")],
    ),
    "cleaned text is harmless": (
        submit("os.execute('echo ' .. job_desc.name:gsub('[^%w]', ''))"),
        [(2, "danger", "program")],
    ),
    "a weak check is none": (
        submit("local n = job_desc.name if n:match('^a.*$') then os.execute('echo ' .. n) end"),
        [(2, "danger", "injection"), (2, "danger", "program")],
    ),
    "a file": (submit("for line in io.lines('/etc/motd') do end"), [(2, "warning", "file")]),
    "a file while loading": ("local f = io.open('/etc/motd')\n" + submit(""), []),
    "the network": ("local http = require 'socket.http'\n" + submit("http.request('x')"), [(3, "danger", "network")]),
    "users": (
        "local posix = require 'posix'\n" + submit("local u = posix.getpasswd(submit_uid)"),
        [(3, "note", "lookup")],
    ),
    "exit": (submit("os.exit(1)"), [(2, "danger", "exit")]),
    "a number": (submit("if job_desc.time_limit > 60 then return slurm.ERROR end"), [(2, "warning", "unset")]),
    "a checked number": (
        submit("if job_desc.time_limit ~= slurm.NO_VAL and job_desc.time_limit > 60 then return slurm.ERROR end"),
        [],
    ),
    "checked by its value": (
        submit("if job_desc.cpus_per_task == 65534 then return 0 end local n = job_desc.cpus_per_task * 2"),
        [],
    ),
    "checked afterwards": (
        submit("local t = job_desc.time_limit if t < 60 or t == slurm.NO_VAL then return slurm.ERROR end"),
        [],
    ),
    "checked behind its use": (
        submit("local t = job_desc.time_limit if t > 60 and t < 0xFFFFFFF0 then return slurm.ERROR end"),
        [],
    ),
    "checked by a helper": (
        "local function is_set(n) return n ~= slurm.NO_VAL end\n"
        + submit("local t = is_set(job_desc.time_limit) and is_set(job_desc.num_tasks) and job_desc.num_tasks * 2"),
        [],
    ),
    "returned without a check": (
        "local function limit(job) return job.time_limit end\n"
        + submit("if limit(job_desc) > 60 then return slurm.ERROR end"),
        [(3, "warning", "unset")],
    ),
    "compared with nil": (
        submit("if job_desc.num_tasks == nil then return slurm.ERROR end"),
        [(2, "warning", "unset")],
    ),
    "a default that never is": (submit("local n = job_desc.min_nodes or 1"), [(2, "warning", "unset")]),
    "returns a text": (submit("if submit_uid == 0 then return 'no' end"), [(2, "danger", "result")]),
    "returns false": (submit("if submit_uid == 0 then return false end"), [(2, "danger", "result")]),
    "returns nothing": (
        f"function slurm_job_submit() end\n{MODIFY}",
        [(1, "note", "result")],
    ),
    "lacks a function": (
        "function slurm_job_submit() return slurm.SUCCESS end\n",
        [(1, "danger", "missing")],
    ),
    "a misspelled field": (submit("local p = job_desc.partitionn"), [(2, "warning", "unknown")]),
    "a misspelled write": (submit("job_desc.partitionn = 'x'"), [(2, "warning", "unknown")]),
    "a misspelled code": (submit("if submit_uid == 0 then return slurm.ESLURM_NO end"), [(2, "danger", "unknown")]),
    "a code of its own": (
        "slurm.ESLURM_OURS = 2099\n" + submit("if submit_uid == 0 then return slurm.ESLURM_OURS end"),
        [],
    ),
    "a member of its own": (submit("slurm.calls = (slurm.calls or 0) + 1"), []),
    "a field of a partition": (
        submit("for name, part in pairs(part_list) do local p = part.priority end"),
        [(2, "warning", "unknown")],
    ),
    "a read-only field": (submit("job_desc.alloc_node = 'x'"), [(2, "warning", "read-only")]),
    "a write to a partition": (submit("part_list.debug.max_time = 1"), [(2, "warning", "read-only")]),
    "the user's message in cli_filter": (pre_submit("slurm.log_user('no')"), [(2, "warning", "unknown")]),
    "an unknown option": (pre_submit("local a = options.acount"), [(2, "warning", "unknown")]),
    "a program in cli_filter": (pre_submit("os.execute('id ' .. (options.chdir or ''))"), [(2, "note", "program")]),
    "a variable of the user in a command": (
        spank("local v = spank:getenv('X') if v then os.execute('echo ' .. v) end"),
        [(2, "danger", "injection"), (2, "note", "program")],
    ),
    "an unknown item": (spank("local v = spank:get_item('S_JOB_IDD')"), [(2, "warning", "unknown")]),
    "an unknown method": (spank("spank:get_env('X')"), [(2, "warning", "unknown")]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_rules(case: str) -> None:
    """Each rule finds its case in its line, and nothing else."""
    source, expected = CASES[case]
    assert sorted(found(source)) == sorted(expected)


ESCAPED = r"""n:gsub("'", "'\\\\''")"""
COMMANDS = (
    "'echo ' .. n",
    """ "echo '" .. n .. "'" """,
    f""" "echo '" .. {ESCAPED} .. "'" """,
    f""" "echo '" .. {ESCAPED} .. "' '" .. {ESCAPED} .. "'" """,
    f""" "echo '" .. {ESCAPED} .. "' " .. n """,
    f"'echo ' .. {ESCAPED}",
    "'echo ' .. quoted(n)",
    """ "echo '" .. n:gsub("'", '\\'"\\'"\\'') .. "'" """,
    "string.format('echo %q', n)",
    "'echo ' .. n:gsub('[^%w]', '')",
    """ "echo '" .. n:gsub("'", "''") .. "'" """,
    """ "echo '" .. n:gsub("'", "'''") .. "'" """,
    """ "echo '" .. n:gsub("'", "") .. "'" """,
)
HOSTILE = ("; >hacked", "'; >hacked; '", "$(>hacked)", "`>hacked`", '"; >hacked; "', "\n>hacked\n", "''>hacked''")


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_agree_with_the_shell(command: str, tmp_path: Path) -> None:
    """A text of the user in a command is reported if, and only if, a shell runs a part of it."""
    quoted = """local function quoted(n) return "'" .. tostring(n):gsub("'", "'\\\\''") .. "'" end\n"""
    reported = found(quoted + submit(f"local n = job_desc.name\nlocal c = {command}\nos.execute(c)"))
    state = LuaState("5.4")
    write = state.call(state.compile(f"{quoted}return function(n) local c = {command} return c end", "=test"))
    for name in HOSTILE:
        subprocess.run(["/bin/sh", "-c", write(name.encode())], cwd=tmp_path, check=False, capture_output=True)
    assert ("injection" in {kind for _, _, kind in reported}) == (tmp_path / "hacked").exists()


RIGHT = """#!/usr/bin/lua
local limits = { debug = 60, long = 1440 }
local function split(text, sign)
   local parts = {}
   for part in string.gmatch(text or "", "[^" .. sign .. "]+") do parts[#parts + 1] = part end
   return parts
end
local rules = {}
rules[#rules + 1] = function(job_desc)
   if job_desc.account == nil then
      slurm.log_user("please name a project with --account")
      return slurm.ESLURM_INVALID_ACCOUNT
   end
   return slurm.SUCCESS
end
local function limit_time(job_desc)
   for _, name in ipairs(split(job_desc.partition, ",")) do
      local limit = limits[name]
      if limit and job_desc.time_limit ~= slurm.NO_VAL and job_desc.time_limit > limit then
         slurm.log_user("%s allows %d minutes", name, limit)
         return slurm.ESLURM_INVALID_TIME_LIMIT
      end
   end
   return slurm.SUCCESS
end
rules[#rules + 1] = limit_time
function slurm_job_submit(job_desc, part_list, submit_uid)
   for _, rule in ipairs(rules) do
      local rc = rule(job_desc)
      if rc ~= slurm.SUCCESS then return rc end
   end
   local gpus = job_desc.tres_per_node and tonumber(job_desc.tres_per_node:match("gpu:(%d+)"))
   if gpus and gpus > 0 and not job_desc.features then job_desc.features = "gpu" end
   for name, part in pairs(part_list) do
      if part.flag_default == 1 then slurm.log_debug("default: %s, %s", name, tostring(job_desc.qos)) end
   end
   return slurm.SUCCESS
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
   if job_desc.comment and #job_desc.comment > 100 then return slurm.ERROR end
   slurm.log_info("job %u of %s", job_rec.job_id, tostring(job_rec.account))
   return slurm.SUCCESS
end
slurm.log_info("initialized")
return slurm.SUCCESS
"""


def test_nothing_is_said_of_a_right_script() -> None:
    """A script that checks what it uses gets no remark."""
    assert found(RIGHT) == []


def test_names_depend_on_the_release() -> None:
    """A field or code that the release lacks is reported with the releases that have it."""
    source = submit("local c = job_desc.mcs_label\nif submit_uid == 0 then return slurm.ESLURM_INVALID_QOS end")
    assert found(source, (22, 5)) == [(2, "warning", "release"), (3, "danger", "release")]
    assert found(source, (24, 11)) == []
    remark = Script(source.encode(), Settings((22, 5))).remarks[0]
    assert "from 23.11 on" in remark.why


def test_a_similar_name_is_offered() -> None:
    """A misspelled field comes with the nearest names."""
    (remark,) = Script(submit("local p = job_desc.partitionn").encode()).remarks
    assert "partition" in remark.why


def test_what_is_used() -> None:
    """Uses are found through aliases, functions and both ways to write a field."""
    source = submit(
        "local job = job_desc\nlocal function f(j) return j['qos'] end\nf(job)\njob.comment = 'x'\n"
        "local h = job_desc.environment['HOME']\nlocal s = slurm.jobs['1']\nlocal n = s and s.nodes"
    )
    uses = {(use.of, use.name, use.line, use.writes) for use in Script(source.encode()).uses}
    assert {
        ("job_desc", "qos", 3, False),
        ("job_desc", "comment", 5, True),
        ("environment", "HOME", 6, False),
        ("slurm", "jobs", 7, False),
        ("job_rec", "nodes", 8, False),
    } <= uses


def test_what_differs() -> None:
    """Differences are named only if the script uses what differs."""
    assert differences(Script(submit("").encode())) == []
    source = "seen = {}\n" + submit(
        "seen[submit_uid] = job_desc\nfor n, p in pairs(part_list) do end\nio.popen('id', '\\27[1m')"
    )
    text = "\n".join(differences(Script(source.encode())))
    assert "seen keeps" in text
    assert "part_list" in text
    assert "no_new_privs" in text
    assert "only colours" in text


@pytest.mark.parametrize(
    ("code", "differs"),
    [
        ("io.open('limits.conf')", True),
        ("dofile('lib/' .. job_desc.name)", True),
        ("os.execute('python3 ../prolog.py')", True),
        ("io.popen(string.format('./check %d', submit_uid))", True),
        ("io.open('/etc/limits.conf')", False),
        ("io.open(os.getenv('LIMITS') or '/etc/limits.conf')", False),
        ("os.execute('/usr/bin/id -u')", False),
        ("os.execute('echo a.b/c')", False),
    ],
)
def test_relative_paths_differ(code: str, differs: bool) -> None:
    """Relative paths of files and commands begin elsewhere in a worker."""
    text = "\n".join(differences(Script(submit(code).encode())))
    assert ("relative paths (line 2) begin at /" in text) == differs


@pytest.mark.parametrize(
    "code",
    [
        "goto done ::done::",
        "local x <const> = 1",
        "local x = 7 // 2 & 3 | 4 ~ 5 << 1",
        "local x = 0xA.8p1 .. 'a\\z   b'",
        "local s = [==[ ]] ]==]",
        "repeat local y = 1 until y == 1",
        "local t = { [1] = 2; x = 3, 4, f = function(...) return ... end }",
        "f{1} f'x' local o = {} function o:m(a) return self.x end",
    ],
)
def test_syntax(code: str) -> None:
    """The syntax of Lua 5.1 to 5.4 is understood."""
    assert Script(submit(code).encode()).damaged == []


@pytest.mark.parametrize("source", ["x = = 1", "function f(", "if x then", "'", "\xff\xfe", "", "#!", "return"])
def test_damaged_scripts(source: str) -> None:
    """Whatever a file contains, reading it raises nothing."""
    Script(source.encode("latin-1"))
