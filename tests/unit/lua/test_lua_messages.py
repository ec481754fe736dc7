# SPDX-License-Identifier: GPL-2.0-or-later
"""What a job_submit.lua says to users and to the log."""

import random
from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.log import INFO, visible
from slurmhooks.lua import job_submit
from slurmhooks.lua.job_submit import Options
from slurmhooks.lua.runtime import LuaState
from slurmhooks.workshop.testing.job_submit import FakeJob, FakeRecord
from slurmhooks.workshop.testing.job_tables import fake_jobs, fake_partitions, fake_reservations
from tests.unit.lua.conftest import END, Load


def test_messages_reach_the_user_with_those_of_loading(load: Load, said: SimpleNamespace) -> None:
    """Messages from the load are shown with the first call."""
    script = load(
        'slurm.log_user("%s %d%%", "at", 7)\nreturn 0', end=END.replace("return", 'slurm.log_user("loaded")\nreturn')
    )
    script.submit()
    assert said.user == ["loaded", "at 7%"]


def test_a_message_never_reaches_the_next_user(load: Load, said: SimpleNamespace) -> None:
    """If a Python exception ends a call, its messages go to its own user, and not to the next one."""
    script = load('slurm.log_user("for %s", job_desc.name)\nif job_desc.name == "bob" then return 0 end\nreturn f()')

    def bug() -> None:
        raise RuntimeError("no error of Lua")

    function = script.handlers[0].function.__self__  # type: ignore[attr-defined]
    function.state.globals[b"f"] = bug
    with pytest.raises(RuntimeError, match="no error of Lua"):
        script.submit(name="alice")
    assert said.user == ["for alice"]
    said.user.clear()
    script.submit(name="bob")
    assert said.user == ["for bob"]


@pytest.mark.parametrize("level", ["error", "info", "verbose", "debug", "debug2", "debug3", "debug4"])
def test_texts_of_several_lines(load: Load, said: SimpleNamespace, level: str) -> None:
    """Newlines at the end are dropped, further lines are marked, and those of arguments are escaped."""
    body = f'slurm.log_{level}("first\\nsecond of %s\\n", job_desc.name)\nslurm.log_user("one\\ntwo\\n")\nreturn 0'
    load(body).submit(name="a\nb")
    assert [line for _, line in said.lines] == ["lua: first", r"| second of a\nb"]
    assert said.user == ["one\ntwo"]


def literal(text: str) -> str:
    """Return a Lua literal of a text."""
    return '"' + "".join(f"\\{byte:03}" for byte in text.encode()) + '"'


def test_lines_of_random_texts(load: Load, said: SimpleNamespace) -> None:
    """Each line of a script's own text is a record, marked after the first; an argument adds none."""
    chosen = random.Random(3)
    texts = ["T" + "".join(chosen.choices("ab\n\n\t\x1bä|", k=chosen.randrange(20))) for _ in range(100)]
    calls = "\n".join(f'slurm.log_info({literal(text)})\nslurm.log_info("%s", {literal(text)})' for text in texts)
    load(f"{calls}\nreturn 0").submit()
    wanted = []
    for text in texts:
        first, *others = text.rstrip("\n").split("\n")
        wanted += [f"lua: {visible(first)}", *(f"| {visible(line)}" for line in others), f"lua: {visible(text)}"]
    assert [line for _, line in said.lines] == wanted


def test_what_scripts_log_is_escaped(load: Load, said: SimpleNamespace) -> None:
    """Texts from users are escaped in the log."""
    load('slurm.log_info("%s", job_desc.name)\nslurm.log_user("%s", job_desc.name)\nerror(job_desc.name)').submit(
        name="a\nslurmctld: fatal:\x1b[2J"
    )
    assert said.lines[0] == (INFO, r"lua: a\nslurmctld: fatal:\x1b[2J")
    assert all("\n" not in text and "\x1b" not in text for _, text in said.lines)
    assert said.user == ["a\nslurmctld: fatal:\\x1b[2J"]


def test_an_error_in_an_update_discards_no_message_that_nobody_wrote(load: Load, said: SimpleNamespace) -> None:
    """22.05 has no messages in job_modify; it logs only messages that were written."""
    for body, lines in (("", 0), ('slurm.log_user("said")', 1)):
        end = f"function slurm_job_modify(job_desc, job_rec) {body} return nil .. 'x' end\nreturn slurm.SUCCESS\n"
        script = load("return 0", (22, 5), end=end)
        said.lines.clear()
        job, record = FakeJob(release="22.05"), FakeRecord(job_id=7, release="22.05")
        tables = fake_partitions({}, release="22.05")
        others = fake_jobs([record], release="22.05"), fake_reservations({}, release="22.05")
        script.handlers[1].function(job, record, 1000, tables, *others)
        assert sum("Message discarded" in text for _, text in said.lines) == lines


def test_the_first_user_reads_what_a_script_says_while_it_is_loaded(load: Load, said: SimpleNamespace) -> None:
    """A message at the top level is shown with the first call, as in job_submit/lua."""
    script = load('slurm.log_user("called")\nreturn 0', end=f'slurm.log_user("initialized")\n{END}')
    assert said.user == []
    script.submit()
    script.submit()
    assert said.user == ["initialized", "called", "called"]


@pytest.mark.parametrize(("text", "told"), [("x = 7 // 2 = 3", True), ("error('at load')", False)])
def test_a_syntax_error_names_the_lua(tmp_path: Path, said: SimpleNamespace, text: str, told: bool) -> None:
    """Which syntax is valid depends on the version of Lua: the finding names it, and the key that chooses another.

    The line in the log is Slurm's alone.
    """
    path = tmp_path / "job_submit.lua"
    path.write_text(text)
    with pytest.raises(LoadError) as caught:
        job_submit.load(str(path), Options(), (24, 11))
    version = LuaState(None).version
    remark = f"read as Lua {version}; [lua] version of slurmhooks.toml chooses another one"
    assert (remark in caught.value.findings[0]) == told
    assert not [line for _, line in said.lines if "[lua] version" in line]
