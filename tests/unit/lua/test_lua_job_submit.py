# SPDX-License-Identifier: GPL-2.0-or-later
"""A job_submit.lua as handlers, without Slurm; cluster tests compare it with Slurm's own plugin."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slurmhooks.errors import LoadError, Reject, StaleHandleError
from slurmhooks.log import ERROR, INFO
from slurmhooks.lua import job_submit
from slurmhooks.lua.job_submit import Options
from tests.unit.lua.conftest import END, Load, Loaded


def test_fields_are_read_and_written_as_in_lua(load: Load) -> None:
    """Unset numbers are NO_VAL, unset texts are nil, and "" clears; writes can be read."""
    script = load(
        """
        assert(job_desc.time_limit == slurm.NO_VAL and job_desc.account == nil and job_desc.no_such == nil)
        assert(job_desc.argv[0] == "script" and job_desc.argv[1] == "one" and job_desc.argv[2] == nil)
        assert(job_desc.min_mem_per_cpu == nil and job_desc.min_mem_per_node == 5)
        assert(job_desc.environment.HOME == "/h" and job_desc.environment.NONE == nil)
        job_desc.time_limit = 60.9
        assert(job_desc.time_limit == 60)
        job_desc.begin_time = -1
        assert(job_desc.begin_time == -1)
        job_desc.comment = ""
        job_desc.nice = slurm.NICE_OFFSET + 3
        job_desc.environment.ADDED = "yes"
        return slurm.SUCCESS
        """
    )
    job = script.submit(
        comment="gone", script="#!/bin/sh", argv=["script", "one"], environment={"HOME": "/h"}, min_mem_per_node=5
    )
    assert (job.time_limit, job.comment, job.nice) == (60, None, 3)
    assert dict(job.environment) == {"HOME": "/h", "ADDED": "yes"}


@pytest.mark.parametrize(
    ("bits", "value", "raw"),
    [
        (32, -1.0, 0xFFFFFFFF),
        (32, 2.0**40, 0),
        (16, 65536.0, 0),
        (16, 4294967294.0, 0),
        (16, -1.0, 0xFFFF),
        (64, 2.0**64, 0),
        (64, 2.0**63, 1 << 63),
        (64, -1.0, (1 << 64) - 1),
        (8, 1.9, 1),
        (32, float("nan"), 0),
    ],
)
def test_numbers_become_what_c_makes_of_them(bits: int, value: float, raw: int) -> None:
    """A double that does not fit is converted as in Slurm's plugin."""
    from slurmhooks.lua.job_fields import to_c

    assert to_c(value, bits) == raw


RECORDS = ("part_list.debug", "pairs(part_list)", "slurm.jobs['7']", "next(slurm.reservations)")
CATCHERS = (
    "pcall(function() return {} end)",
    "xpcall(function() return {} end, function(e) return e end)",
    "coroutine.resume(coroutine.create(function() return {} end))",
    "pcall(function() pcall(function() return {} end) error('its own') end)",
    "{}",
)


@pytest.mark.parametrize("catcher", CATCHERS)
@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("on_error", ["accept", "reject"])
def test_a_script_cannot_pass_over_records_that_the_build_lacks(
    load: Load, monkeypatch: pytest.MonkeyPatch, record: str, catcher: str, on_error: str
) -> None:
    """A request is refused if the script reads a record without Slurm's sources, also if the script catches it."""
    script = load(f"local x = {catcher.replace('{}', record)}\nreturn slurm.SUCCESS", on_error=on_error)
    script.submit()
    monkeypatch.setattr(job_submit, "lacks_records", lambda: True)
    with pytest.raises(job_submit.NotThereError):
        script.submit()


def test_an_error_between_two_calls_fails_neither(load: Load) -> None:
    """Such as one of a finalizer, which Lua may call at any time."""
    script = load("return slurm.SUCCESS")
    function: Any = script.handlers[0].function
    function.__self__.state.note(StaleHandleError("slurm.jobs was used outside of a call"))
    script.submit()


@pytest.mark.parametrize("error", ["{1}", "nil", "print", "true"])
def test_errors_without_a_text(load: Load, said: SimpleNamespace, error: str) -> None:
    """An error that is no text has Slurm's words in 26.05, and reads as C prints a null pointer before."""
    load(f"error({error})").submit()
    assert [text.rpartition("job_submit.lua: ")[2] for level, text in said.lines if level == ERROR] == ["(null)"]
    with pytest.raises(Reject, match=r"^Lua function execution failed due to runtime error$"):
        load(f"error({error})", (26, 5)).submit()


def test_nil_is_refused_and_unknown_names_are_logged(load: Load, said: SimpleNamespace) -> None:
    """Writing nil raises an error with its line; an unknown field is logged, and the script continues."""
    script = load(
        "job_desc.no_such = 1\nlocal ok, text = pcall(function() job_desc.account = nil end)\n"
        'slurm.log_info("%s", text)'
    )
    script.submit()
    assert said.lines[0] == (ERROR, "_set_job_field: unrecognized field: no_such")
    assert said.lines[1][1].endswith("job_submit.lua:3: bad argument #3 to '?' (string expected, got nil)") or (
        "got nil)" in said.lines[1][1]
    )
    assert said.lines[2] == (INFO, said.lines[2][1])
    assert "non-numeric return code" in said.lines[2][1]


def test_partitions_and_jobs_are_tables(load: Load, said: SimpleNamespace) -> None:
    """pairs() and next() iterate over records in every Lua; an unknown name is nil."""
    for version in ("5.1", "5.4", "luajit"):
        script = load(
            """
            local seen = {}
            for name, part in pairs(part_list) do
               seen[#seen + 1] = name .. part.name .. string.format("%.0f", part.max_time)
            end
            table.sort(seen)
            slurm.log_info("%s %s %s", table.concat(seen, " "), tostring(part_list.none), type((next(part_list))))
            for id, job in pairs(slurm.jobs) do slurm.log_info("%s on %s", id, job.nodes) end
            slurm.log_info("%s", tostring(slurm.jobs["8"]))
            return 0
            """,
            version=version,
        )
        script.submit()
        lines = [text for _, text in said.lines]
        assert lines == ["lua: debugdebug60 longlong4294967295 nil string", "lua: 7 on n1", "lua: nil"]
        said.lines.clear()


def test_tables_of_records_belong_to_a_call(load: Load, said: SimpleNamespace) -> None:
    """A script reads what it writes to part_list, slurm.jobs and their records, however it lists them, in that call."""
    writes = """
        assert(part_list.debug == part_list.debug)
        assert(part_list.debug.mine == nil and part_list.mine == nil and slurm.jobs.mine == nil)
        assert(part_list.debug.max_time == 60 and part_list.long ~= nil)
        %s
        part_list.debug.max_time, part_list.debug.mine = 5, "mine"
        assert(part_list.debug.max_time == 5 and part_list.debug.mine == "mine" and part_list.debug.name == "debug")
        part_list.mine, slurm.jobs.mine, part_list.long = 1, 2, nil
        assert(part_list.mine == 1 and slurm.jobs.mine == 2 and part_list.long == nil)
        local names = {}
        for name in pairs(part_list) do names[#names + 1] = name end
        table.sort(names)
        slurm.log_info("%%s %%s", table.concat(names, " "), type(next(slurm.jobs)))
        for name, part in pairs(part_list) do part_list[name] = nil end
        assert(next(part_list) == nil and part_list.debug == nil)
        return 0
    """
    for version in ("5.1", "5.4", "luajit"):
        for first in ("", "for _, part in pairs(part_list) do part.seen = true end assert(part_list.debug.seen)"):
            script = load(writes % first, version=version)
            for _ in range(2):
                script.submit()
            assert [text for _, text in said.lines] == ["lua: debug mine string"] * 2
            said.lines.clear()


def test_metatables_are_those_of_slurms_plugin(load: Load) -> None:
    """Metatables have functions that a script can call or replace; tables of records have no metatables."""
    for version in ("5.1", "5.4", "luajit"):
        script = load(
            """
            local meta = getmetatable(job_desc)
            assert(type(meta.__index) == "function" and type(meta.__newindex) == "function")
            assert(meta.__index(job_desc, "name") == "j" and job_desc.name == "j")
            assert(_get_job_req_field_name(meta._job_desc, "name") == "j")
            local inner = meta.__index
            meta.__index = function(t, k) return k == "own" and "mine" or inner(t, k) end
            assert(job_desc.own == "mine" and job_desc.name == "j")
            assert(getmetatable(job_desc.environment)._job_desc == meta._job_desc)
            local part = getmetatable(part_list.debug)
            assert(type(part.__index) == "function" and _get_part_rec_field(part._part_rec_ptr, "name") == "debug")
            assert(getmetatable(slurm.jobs["7"])._job_rec_ptr and getmetatable(part_list) == nil)
            for _, job in pairs(slurm.jobs) do assert(type(getmetatable(job).__index) == "function") end
            assert(getmetatable("").__index == string and getmetatable({}) == nil)
            job_desc.comment = "seen"
            return 0
            """,
            version=version,
        )
        assert script.submit(name="j").comment == "seen"


def test_odd_keys(load: Load) -> None:
    """A key that is no text is an error at the line of the script, as in Slurm; a name ends at a NUL byte."""
    for version, callee in (("5.1", "?"), ("5.4", "index")):
        script = load(
            """
            for _, record in ipairs { job_desc, job_desc.environment, part_list.debug, slurm.jobs["7"] } do
               for kind, key in pairs { boolean = true, table = {}, ["function"] = print } do
                  local ok, text = pcall(function() return record[key] end)
                  local wrong = "bad argument #2 to 'CALLEE' (string expected, got " .. kind .. ")"
                  assert(not ok and text:match(":%d+: (.*)$") == wrong)
               end
               assert(not pcall(function() return record[nil] end))
               assert(record[7] == nil and record[1.5] == nil)
            end
            job_desc["comment\\0x"] = "seen"
            assert(job_desc["comment\\0y"] == "seen" and part_list.debug["name\\0x"] == "debug")
            return 0
            """.replace("CALLEE", callee),
            version=version,
        )
        assert script.submit(environment={"HOME": "/h"}, script="#!/bin/sh").comment == "seen"


def test_codes_refuse(load: Load) -> None:
    """A result other than 0 refuses with that code, converted as C does."""
    lowest = -1 << 31
    for body, code in (("slurm.ERROR", -1), ("2050", 2050), ('"7"', 7), ("0/0", lowest), ("-2^40", lowest)):
        with pytest.raises(Reject) as caught:
            load(f"return {body}").submit()
        assert caught.value.code == code
    load("return 0.7").submit()


@pytest.mark.parametrize(
    ("release", "on_error", "refused"),
    [((24, 11), None, False), ((26, 5), None, True), ((24, 11), "reject", True), ((26, 5), "accept", False)],
)
def test_an_error_does_what_the_release_does(
    load: Load, said: SimpleNamespace, release: tuple[int, int], on_error: str | None, refused: bool
) -> None:
    """Before 26.05 a request passes after an error, since then it is refused; the configuration can change that."""
    script = load('job_desc.comment = "edited"\nslurm.log_user("said")\nreturn nil .. "x"', release, on_error=on_error)
    if refused:
        with pytest.raises(Reject, match="attempt to concatenate a nil value"):
            script.submit()
        assert said.user == []
    else:
        assert script.submit().comment == "edited"
        assert said.user == ["said"]
    first = next(text for _, text in said.lines if text.startswith("job_submit/lua: "))
    assert "job_submit.lua:4: attempt to concatenate a nil value" in first
    assert any("slurm_job_submit" in text for _, text in said.lines[1:])


def test_globals_last_until_the_script_is_loaded_again(load: Load, said: SimpleNamespace) -> None:
    """Calls share a state; a new load has a new one."""
    script = load('calls = (calls or 0) + 1\nslurm.log_user("%d", calls)\nreturn 0')
    script.submit()
    script.submit()
    Loaded(Path(script.handlers[0].path), (24, 11), Options()).submit()
    assert said.user == ["1", "2", "1"]


@pytest.mark.parametrize(
    ("text", "said_of_it"),
    [
        ("x = = 1", "job_submit.lua:1: unexpected symbol near '='"),
        ("error('at load')", "job_submit.lua:1: at load"),
        ("function slurm_job_submit() end", "required function(s) not present"),
        ("return slurm.ERROR", "returned -1 on load"),
        ("return 1/0", "returned -2147483648 on load"),
    ],
)
def test_a_script_that_does_not_load_is_a_finding(
    tmp_path: Path, said: SimpleNamespace, text: str, said_of_it: str
) -> None:
    """An error is a finding with file and line, and logged as by Slurm."""
    path = tmp_path / "job_submit.lua"
    path.write_text(text)
    with pytest.raises(LoadError) as caught:
        job_submit.load(str(path), Options(), (24, 11))
    assert said_of_it in caught.value.findings[0]
    assert len([line for _, line in said.lines if line.startswith("job_submit/lua: ") and said_of_it in line]) == 1


@pytest.mark.parametrize(("release", "times"), [((25, 5), 0), ((25, 11), 1)])
def test_an_error_at_load_has_the_lines_of_the_release(
    tmp_path: Path, said: SimpleNamespace, release: tuple[int, int], times: int
) -> None:
    """Since 25.11, Slurm's own plugin also logs the failed lua_pcall() of the load."""
    path = tmp_path / "job_submit.lua"
    path.write_text("error('at load')")
    with pytest.raises(LoadError):
        job_submit.load(str(path), Options(), release)
    assert sum(line.startswith("slurm_lua_loadscript: lua_pcall(") for _, line in said.lines) == times


def test_a_record_kept_over_the_call_is_stale(load: Load) -> None:
    """A job_desc cannot be read after its call."""
    script = load("kept = job_desc\nslurm.later = function() return kept.name end\nreturn 0")
    script.submit(name="n")
    with pytest.raises(StaleHandleError):
        script.handlers[0].function.__self__.state.globals[b"slurm"][b"later"]()  # type: ignore[attr-defined]


def test_a_request_kept_for_a_later_call_is_refused(load: Load) -> None:
    """A job_desc of an earlier call is refused in a later call."""
    script = load("kept = kept or job_desc\nreturn kept.name and 0", on_error="reject")
    script.submit(name="first")
    for use in ("reads", "reads again"):
        with pytest.raises(Reject, match=r"job_submit\.lua:3: this job_desc was used after the call"):
            script.submit(name=use)


def test_a_handler_names_its_line(load: Load) -> None:
    """A handler has file and line of its function."""
    submit, modify = load("return 0").handlers
    assert submit.where.endswith("job_submit.lua:1")
    assert modify.where.endswith("job_submit.lua:4")
    assert submit.label == "job_submit.lua:slurm_job_submit"


def test_the_cluster_of_a_build_without_sources(
    load: Load, said: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLUSTER_NAME comes from slurm.conf in the folder that the plugins were built for, or from SLURM_CONF."""
    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.setitem(sys._xoptions, "slurmhooks_sysconfdir", str(tmp_path / "built"))
    for folder, name in (("built", "First"), ("other", "Second")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "slurm.conf").write_text("Include more.conf\n")
        (tmp_path / folder / "more.conf").write_text(f"ClusterName = {name} # here\n")
    body = 'slurm.log_user("%s", slurm.CLUSTER_NAME)\nreturn 0'
    load(body).submit()
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "other" / "slurm.conf"))
    load(body + " ").submit()
    assert said.user == ["first", "second"]


def test_conversions(load: Load, said: SimpleNamespace) -> None:
    """The functions for JSON and YAML of 26.05 convert values; errors are errors in Lua."""
    pytest.importorskip("yaml")
    load(
        """
        local function show(...) slurm.log_info("%s", tostring((...))) end
        show(slurm.to_json({1, 2, {a = "x"}}))
        show(slurm.to_yaml({"x", true}))
        show(slurm.from_json('{"a": [1, 2.5, "t"]}').a[3])
        show(slurm.from_yaml("a:\\n  - 7\\n  - text\\n").a[2])
        for _, call in ipairs({
            function() slurm.from_json("{") end, function() slurm.from_yaml("a: [") end,
            function() slurm.from_json(nil) end, function() slurm.to_json(print) end,
        }) do
            local ok, text = pcall(call)
            slurm.log_info("%s %s", tostring(ok), string.match(text, "Conversion %a+ application/[%a-]+ failed"))
        end
        return 0
        """,
        release=(26, 5),
    ).submit()
    assert [text.removeprefix("lua: ") for _, text in said.lines] == [
        '[1,2,{"a":"x"}]',
        '["x",true]',
        "t",
        "text",
        "false Conversion from application/json failed",
        "false Conversion from application/x-yaml failed",
        "false Conversion from application/json failed",
        "false Conversion to application/json failed",
    ]


def test_conversions_end(load: Load, said: SimpleNamespace) -> None:
    """Malicious values of users are errors in Lua: deep nesting, huge numbers, YAML that repeats itself."""
    pytest.importorskip("yaml")
    load(
        """
        local bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\\n"
        for i = 1, 30 do
            bomb = bomb .. string.format("a%d: &a%d [%s]\\n", i, i, string.rep("*a" .. (i - 1) .. ",", 10))
        end
        local nines = string.rep("9", 400)
        for _, text in ipairs({string.rep("[", 50000), string.rep("[", 200) .. string.rep("]", 200), nines}) do
            slurm.log_info("%s", string.match(select(2, pcall(slurm.from_json, text)), "Conversion.*"))
        end
        for _, text in ipairs({bomb, "&a [*a]", string.rep("[", 50000)}) do
            slurm.log_info("%s", string.match(select(2, pcall(slurm.from_yaml, text)), "Conversion.*"))
        end
        slurm.log_info("%s", tostring(slurm.from_json("[18446744073709551615]")[1] == 2 ^ 64))
        slurm.log(0/0, "not a number")
        slurm.log(1e999, "too much")
        return 0
        """,
        release=(26, 5),
    ).submit()
    lines = [text.removeprefix("lua: ") for _, text in said.lines]
    json, yaml = (f"Conversion from application/{kind} failed: " for kind in ("json", "x-yaml"))
    assert lines[:3] == [f"{json}it is nested too deeply"] * 2 + [f"{json}int too large to convert to float"]
    assert lines[3:6] == [f"{yaml}it repeats too much of itself"] * 2 + [f"{yaml}it is nested too deeply"]
    assert lines[6] == "true"


def test_an_open_file_has_what_was_written(load: Load, tmp_path: Path) -> None:
    """A file that the script never closes has its lines after each call: workers end without C's exit()."""
    end = f"file = io.open('{tmp_path}/log', 'a')\nfile:write('loaded ')\n{END}"
    loaded = load("file:write(job_desc.name, ' ')\nif job_desc.name == 'b' then error('x') end\nreturn 0", end=end)
    assert (tmp_path / "log").read_text() == "loaded "
    for name in ("a", "b"):
        loaded.submit(name=name)
    assert (tmp_path / "log").read_text() == "loaded a b "
