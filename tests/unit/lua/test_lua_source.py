# SPDX-License-Identifier: GPL-2.0-or-later
"""The names that a script uses, found in its text."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.lua import spelling
from slurmhooks.lua.source import Script, tokens

SCRIPT = """#!/usr/bin/lua
--[[ job_desc.not_this ]]
local text = [==[ job_desc.nor_this ]==] .. 'job_desc.nor_that' -- job_desc.or_that
local function check(jd, who)
   if jd["time_limit"] == slurm.NO_VAL then jd.time_limit = 60 end
   while who do break end
   return helper(jd)
end
helper = function(inner) for i = 1, 2 do if i then inner.comment = "x" end end return inner[text] end
function slurm_job_submit(job, parts, uid)
   check(job, uid)
   local home = job.environment["HOME"]
   job.environment.ADDED = "1"
   job.no_such = 1
   for name, part in pairs(parts) do slurm.log_info("%s", part.max_time) end
   if slurm.jobs["7"].nodes then return slurm.ESLURM_INVALID_QOS end
   return slurm.SUCCESS
end
function slurm_job_modify(job, rec) return rec.job_id end
local json = require "json"
"""


@pytest.fixture
def script() -> Script:
    """Return the script above, analysed."""
    return Script(SCRIPT)


def names(script: Script, kind: str) -> set[str]:
    """Return the names of a kind that a script uses; names that it writes are marked."""
    return {use.name + ("=" if use.writes else "") for use in script.uses_of(kind)}


def test_comments_and_strings_are_no_code() -> None:
    """Comments and strings of all kinds are not analysed, nor is a #! line."""
    words = [word.text for word in tokens(SCRIPT)]
    assert "not_this" not in words
    assert " job_desc.nor_this " in words


def test_arguments_are_followed_into_functions(script: Script) -> None:
    """Arguments are followed through calls, whatever their names and wherever the function is defined."""
    assert names(script, "job_desc") == {"time_limit", "time_limit=", "comment=", "", "environment", "no_such="}
    assert names(script, "environment") == {"HOME", "ADDED="}
    assert names(script, "part") == {"max_time"}
    assert names(script, "job_rec") == {"nodes", "job_id"}
    assert names(script, "slurm") == {"NO_VAL", "log_info", "jobs", "ESLURM_INVALID_QOS", "SUCCESS"}
    assert names(script, "require") == {"json"}


def test_lines_are_those_of_the_file(script: Script) -> None:
    """Lines are counted also in comments and long strings."""
    assert [use.line for use in script.uses_of("part")] == [15]
    assert script.entries["slurm_job_modify"].line == 19


def test_the_skeleton_is_python_that_loads(script: Script) -> None:
    """The skeleton is a valid hook file with the arguments that the script uses."""
    text = spelling.skeleton(script, "job_submit.lua")
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    assert [argument.arg for argument in functions["job_submit"].args.args] == [
        "job",
        "submit_uid",
        "partitions",
        "jobs",
    ]
    assert [argument.arg for argument in functions["job_modify"].args.args] == ["job", "record"]


def test_what_has_no_spelling_says_so(script: Script) -> None:
    """Unknown fields and computed names are marked as such."""
    rows = {used: python for _, table in spelling.tables(script) for used, _, python in table}
    assert rows["no_such (written)"] == "no such field: it reads as nil, and was not written"
    assert rows["[computed at run time]"].startswith("look at the script")
    assert rows["time_limit (written)"] == "job.time_limit"


@pytest.mark.parametrize(
    ("text", "string"),
    [
        ('"a\\z\n   b" c', "a\\z\n   b"),
        ('"a\\z" c', "a\\z"),
        ("'a\\\r\nb' c", "a\\\r\nb"),
        ("'a\\\nb' c", "a\\\nb"),
        ('"a\\"b" c', 'a\\"b'),
    ],
)
def test_strings_go_on_in_the_next_line(text: str, string: str) -> None:
    """A string may contain escaped line ends, and blanks that an escaped z skips."""
    assert [(word.kind, word.text) for word in tokens(text)] == [("string", string), ("name", "c")]


@given(st.text("\"'\\z\r\n a[]=-") | st.binary().map(lambda data: data.decode("utf-8", "surrogateescape")))
def test_any_text_has_tokens(text: str) -> None:
    """A string without an end, or a binary file, is analysed like anything else."""
    assert all(token.kind for token in tokens(text))


def test_the_search_for_the_end_of_a_string_ends() -> None:
    """Blanks after an escaped z can be matched in one way only; otherwise this would take years."""
    assert tokens('"' + "\\z  " * 1000)[0].kind == "sign"
