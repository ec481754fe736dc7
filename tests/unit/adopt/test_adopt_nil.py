# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of values that may be nil, compared with what Lua does."""

from itertools import product

import pytest

from slurmhooks.adopt.answers import Request
from slurmhooks.adopt.reference import Reference
from slurmhooks.adopt.script import Script
from slurmhooks.adopt.values import Settings
from slurmhooks.lua import finding

RELEASE = (24, 11)
HELPERS = """
local function is_set(value) return value ~= nil and value ~= "" end
local function is_empty(value)
   if value == nil then return true end
   if value == "" then return true end
   return false
end
function check(job) if job.account == nil then return slurm.ERROR end return slurm.SUCCESS end
function give(job) if not job.account then job.account = "x" end end
local function default(value, other) if value == nil then return other end return value end
local known = { physics = true }
"""
GUARDS = {
    "nothing": "{use}",
    "if": "if a then {use} end",
    "if not nil": "if a ~= nil then {use} end",
    "if nil": "if a == nil then {use} end",
    "else": "if a == nil then job_desc.comment = 'x' else {use} end",
    "return": "if a == nil then return slurm.SUCCESS end {use}",
    "return not": "if not a then return slurm.SUCCESS end {use}",
    "and": "if job_desc.min_cpus > 0 and a then {use} end",
    "or return": "if a == nil or a == '' then return slurm.SUCCESS end {use}",
    "or": "if a ~= nil or job_desc.min_cpus > 0 then {use} end",
    "type": "if type(a) == 'string' then {use} end",
    "type nil": "if type(a) ~= 'nil' then {use} end",
    "equal": "if a == 'physics' then {use} end",
    "unequal": "if a ~= 'physics' then {use} end",
    "assigned": "if a == nil then a = 'x' end {use}",
    "default": "a = a or 'x' {use}",
    "helper": "if is_set(a) then {use} end",
    "not helper": "if not is_set(a) then {use} end",
    "helper returns": "if is_empty(a) then return slurm.SUCCESS end {use}",
    "helper is false": "if is_empty(a) == false then {use} end",
    "wrong helper": "if is_empty(a) then {use} end",
    "function with a default": "a = default(a, 'x') {use}",
    "listed": "if known[a or ''] then {use} end",
    "loop": "while a do {use} break end",
    "loop that does not run": "for i = 1, 0 do a = 'x' end {use}",
    "both branches": "if job_desc.min_cpus == 7 then a = 'x' else a = 'y' end {use}",
    "one branch": "if job_desc.min_cpus == 7 then a = 'x' end {use}",
    "error": "if a == nil then error('no') end {use}",
    "another variable": "local b = a if b == nil then return slurm.SUCCESS end {use}",
}
USES = {
    "concatenated": "local s = 'x' .. a",
    "first": "local s = a .. 'x'",
    "method": "local s = a:upper()",
    "string function": "local s = string.find(a, 'x')",
    "length": "local s = #a",
    "number format": "local s = string.format('%s %d', 'x', #a)",
    "in the log": "slurm.log_info('%s', a)",
    "in a condition": "if a .. 'x' == 'yx' then return slurm.ERROR end",
    "in a table": "local s = { a .. 'x' }",
    "to a function": "local function f(v) return v .. 'x' end f(a)",
    "compared": "local s = a < 'x'",
    "safe": "local s = tostring(a) .. 'x'",
    "safe comparison": "local s = a == 'x'",
    "with a default": "local s = (a or '') .. 'x'",
    "searched after a check": "local s = a and a:find('x')",
    "passed on": "local t = { a = a } local s = tonumber(a)",
}
OF_FIELDS = {
    "field": ("job_desc.account .. 'x'", True),
    "checked field": ("job_desc.account and job_desc.account .. 'x'", False),
    "field by another name": ("job_desc['account'] .. 'x'", True),
    "environment": ("job_desc.environment.HOME .. 'x'", True),
    "memory": ("job_desc.min_mem_per_node * 2", True),
    "number": ("job_desc.min_cpus * 2", False),
    "what commands always send": ("job_desc.name .. 'x'", False),
    "a partition of the user": ("part_list[job_desc.partition or 'nowhere'].max_time", True),
    "a partition of the site": ("part_list.debug.max_time", False),
}


def script(body: str) -> str:
    """Return a script whose function has a body."""
    return (
        f"{HELPERS}\nfunction slurm_job_submit(job_desc, part_list, submit_uid)\n{body}\nreturn slurm.SUCCESS\nend\n"
        "function slurm_job_modify() return slurm.SUCCESS end\n"
    )


def remarks(source: str) -> list[str]:
    """Return what is said of nil."""
    found = Script(source.encode(), Settings(RELEASE, "5.4")).remarks
    return [remark.what for remark in found if remark.kind == "nil"]


def fails(source: str, **given: str) -> str | None:
    """Return Lua's message if the script fails on a request with some texts and nothing else."""
    partitions = {"debug": {"name": "debug", "max_time": 60.0}}
    lua = finding.find("5.4")
    answer = Reference("script.lua", source.encode(), lua, RELEASE, partitions, 0).answer(
        Request("job_submit", "", fields={"name": "job", "min_cpus": 1, **given})
    )
    assert not answer.stopped
    return answer.error


@pytest.mark.parametrize("guard", GUARDS)
def test_remarks_agree_with_lua(guard: str) -> None:
    """A value is reported if, and only if, Lua fails on it when it is nil."""
    wrong = []
    for use, code in USES.items():
        source = script(f"local a = job_desc.account\n{GUARDS[guard].format(use=code)}")
        error = fails(source)
        if error is not None and "no" in error.split(": ")[-1:]:
            error = None  # the script's own error()
        if bool(remarks(source)) != (error is not None):
            wrong.append((use, remarks(source), error))
    assert wrong == []


@pytest.mark.parametrize("name", OF_FIELDS)
def test_what_may_be_nil(name: str) -> None:
    """Fields that may be nil are reported, others are not."""
    expression, reported = OF_FIELDS[name]
    assert bool(remarks(script(f"local s = {expression}"))) == reported


@pytest.mark.parametrize(
    ("check", "use"),
    list(
        product(
            (
                "if check(job_desc) ~= slurm.SUCCESS then return slurm.ERROR end",
                "local rc = check(job_desc) if rc ~= slurm.SUCCESS then return rc end",
                "give(job_desc)",
                "job_desc.account = 'x'",
            ),
            ("local s = job_desc.account .. 'x'", "local a = job_desc.account local s = a:upper()"),
        )
    ),
)
def test_checks_of_other_functions_count(check: str, use: str) -> None:
    """A function of the script that checks or sets a field makes its use safe."""
    assert remarks(script(f"{check}\n{use}")) == []


CALLS = ("is_set({})", "is_empty({})", "not is_set({})", "not is_empty({})")


@pytest.mark.parametrize("operator", ["and", "or"])
@pytest.mark.parametrize("form", ["if {} then {} end", "if {} then return -1 end {}", "if not ({}) then {} end"])
def test_two_calls_of_one_function(operator: str, form: str) -> None:
    """What a helper says of one field says nothing of another: what fails for some request is reported."""
    missed = []
    for first, second, used in product(CALLS, CALLS, ("account", "comment")):
        condition = f"{first.format('job_desc.account')} {operator} {second.format('job_desc.comment')}"
        source = script(form.format(condition, f"local s = job_desc.{used} .. 'x'"))
        requests: tuple[dict[str, str], ...] = (
            {},
            {"account": "a"},
            {"comment": "c"},
            {"account": "a", "comment": "c"},
        )
        if any(fails(source, **given) for given in requests) and not remarks(source):
            missed.append(condition)
    assert missed == []


def test_updates_lack_what_they_do_not_change() -> None:
    """In slurm_job_modify every text may be nil."""
    source = (
        "function slurm_job_submit() return slurm.SUCCESS end\n"
        "function slurm_job_modify(job_desc) local s = job_desc.name .. 'x' return slurm.SUCCESS end\n"
    )
    assert len(remarks(source)) == 1


def test_the_last_argument_of_a_log_function() -> None:
    """nil as the last argument of slurm.log_* is an error in every version of Lua, elsewhere only in 5.1."""
    last = script("slurm.log_info('%s', job_desc.account)")
    inner = script("slurm.log_info('%s %s', job_desc.account, 'x')")
    assert fails(last) is not None
    assert fails(inner) is None
    assert len(remarks(last)) == 1
    assert remarks(inner) == []
    old = Script(inner.encode(), Settings(RELEASE, "5.1")).remarks
    assert [remark.kind for remark in old] == ["nil"]


ROWS = {
    "nothing": "{use}",
    "if": "if part_list[p] then {use} end",
    "if not nil": "if part_list[p] ~= nil then {use} end",
    "and": "if p ~= '' and part_list[p] and job_desc.min_cpus > 0 then {use} end",
    "return": "if not part_list[p] then return slurm.ERROR end {use}",
    "return nil": "if part_list[p] == nil then return slurm.ERROR end {use}",
    "or": "if part_list[p] or job_desc.min_cpus > 0 then {use} end",
    "another name": "local q = 'debug' if part_list[q] then {use} end",
    "name changes": "local q = p p = 'debug' if part_list[p] then p = q {use} end",
    "walk": "for p in pairs(part_list) do {use} end",
    "walk with rows": "for p, row in pairs(part_list) do if row.name == p then {use} end end",
    "walk, name changes": "for name in pairs(part_list) do {use} end",
    "walk, variable changes": "local q = p for p in pairs(part_list) do p = q {use} end",
}


@pytest.mark.parametrize("guard", ROWS)
def test_rows_agree_with_lua(guard: str) -> None:
    """A row of a table that the user names is reported if, and only if, Lua fails because it does not exist."""
    source = script(
        f"local p = job_desc.partition or 'nowhere'\n{ROWS[guard].format(use='local s = part_list[p].max_time')}"
    )
    assert bool(remarks(source)) == (fails(source) is not None)


def test_a_row_of_the_requests_partition() -> None:
    """A check of part_list[job_desc.partition] counts until the script assigns the field."""
    check = "if not part_list[job_desc.partition or ''] then return slurm.ERROR end"
    named = "if job_desc.partition == nil or part_list[job_desc.partition] == nil then return slurm.ERROR end"
    use = "local s = part_list[job_desc.partition].max_time"
    assert remarks(script(f"{named} {use}")) == []
    assert len(remarks(script(f"{named} job_desc.partition = job_desc.qos or 'x' {use}"))) == 1
    assert len(remarks(script(f"{check} {use}"))) <= 1  # 'or' is not followed: at worst a remark too much
