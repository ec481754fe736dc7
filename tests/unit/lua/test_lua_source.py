# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of a script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.lua.source import entries, tokens

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


def test_comments_and_strings_are_no_code() -> None:
    """Comments and strings of all kinds are not analysed, nor is a #! line."""
    words = [word.text for word in tokens(SCRIPT)]
    assert "not_this" not in words
    assert " job_desc.nor_this " in words


def test_the_functions_that_slurm_calls() -> None:
    """They are found in both ways in which a script may define them, with their lines, and not where they are used."""
    assert entries(SCRIPT) == {"slurm_job_submit": 10, "slurm_job_modify": 19}
    assert entries("slurm_cli_pre_submit = function(o) end print(slurm_job_submit)") == {"slurm_cli_pre_submit": 1}


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
