# SPDX-License-Identifier: GPL-2.0-or-later
"""What a script uses, with its equivalents in Python."""

import ast

import pytest

from slurmhooks.workshop.adopt import spelling
from slurmhooks.workshop.adopt.script import Script
from tests.unit.lua.test_lua_source import SCRIPT


@pytest.fixture
def script() -> Script:
    """Return the script above, analysed."""
    return Script(SCRIPT.encode())


def names(script: Script, kind: str) -> set[str]:
    """Return the names of a kind that a script uses; names that it writes are marked."""
    return {use.name + ("=" if use.writes else "") for use in script.uses if use.of == kind}


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
    assert [use.line for use in script.uses if use.of == "part"] == [15]
    assert script.entries["slurm_job_modify"] == 19


def test_the_skeleton_is_python_that_loads(script: Script) -> None:
    """The skeleton is a valid hook file with the arguments that the script uses."""
    text = spelling.skeleton(script, "job_submit.lua")
    assert f"    # line 15: {script.lines[14].strip()}\n" in text
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
