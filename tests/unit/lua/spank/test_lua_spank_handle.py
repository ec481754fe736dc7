# SPDX-License-Identifier: GPL-2.0-or-later
"""The handle that callbacks get, and the log, have the members, results and messages of spank-lua."""

import random

import pytest

from slurmhooks.log import visible
from slurmhooks.lua import finding
from slurmhooks.lua.spank_options import LuaOption
from tests.unit.lua.spank.conftest import Site

VERSIONS = list(filter(finding.is_installed, finding.VERSIONS))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_handle_in_each_lua(site: Site, version: str) -> None:
    """The handle has context, arguments, version and methods in every Lua."""
    site.write(
        """
        function slurm_spank_task_init(spank)
           SPANK.log_info("%s %s %s %s", spank.context, spank:remote(), spank.slurm_version, #spank.args)
           SPANK.log_info("%s|%s", spank.args[1], spank.args[2])
           SPANK.log_info("%d %s", spank:get_item("S_JOB_ID"), spank:getenv("HOME"))
           local status, exit, signal, core = spank:get_item("S_TASK_EXIT_STATUS")
           SPANK.log_info("%s %s", tostring(status), tostring(exit))
        end
        """
    )
    site.load(version=version)
    assert site.call("task_init", args=("a=1", "b=2")) == 0
    assert site.said() == ["remote yes 24.11.5 2", "a=1|b=2", "67108863 /home/alice", "nil text of ESPANK_NOT_TASK"]


def test_items(site: Site) -> None:
    """Items are numbers, texts and tables; the step id of special steps is negative."""
    site.native.items.update(
        job_stepid=0xFFFFFFFB,
        job_argv=["a", "b c"],
        job_supplementary_gids=[1, 2],
        job_alloc_cores=None,
        job_local_to_global_id={0: 3},
        job_array_task_id=4,
        job_uid=0xFFFFFFF0,
    )
    site.write(
        """
        function slurm_spank_task_init(spank)
           local function say(...)
              local parts = {}
              for i = 1, select("#", ...) do
                 local value = (select(i, ...))
                 parts[i] = type(value) == "number" and string.format("%d", value) or tostring(value)
              end
              SPANK.log_info("%s", table.concat(parts, " "))
           end
           say(spank:get_item("S_JOB_STEPID"))
           say(spank:get_item("S_JOB_UID"))
           say(table.concat(spank:get_item("S_JOB_ARGV"), "|"))
           say(spank:get_item("S_JOB_SUPPLEMENTARY_GIDS")[2])
           say(spank:get_item("S_JOB_ENV").HOME)
           say(spank:get_item("S_JOB_ALLOC_CORES"))
           say(spank:get_item("S_JOB_LOCAL_TO_GLOBAL_ID", 0))
           say(spank:get_item("S_JOB_LOCAL_TO_GLOBAL_ID", -1))
           say(spank:get_item("S_JOB_ARRAY_TASK_ID"))
           say(spank:get_item("S_TASK_EXIT_STATUS"))
           say(pcall(spank.get_item, spank, "S_NO"))
           say(pcall(spank.get_item, spank, "S_JOB_LOCAL_TO_GLOBAL_ID"))
           say(pcall(spank.get_item, "S_JOB_ID"))
        end
        """
    )
    site.load(version="5.1")
    assert site.call("task_init") == 0
    assert site.said() == [
        "-5",
        str(0xFFFFFFF0),
        "a|b c",
        "2",
        "/home/alice",
        "nil",
        "3",
        "nil text of ESPANK_NOEXIST",
        "4",
        "nil text of ESPANK_NOT_TASK",
        "false Invalid spank item S_NO",
        "false bad argument #2 to 'get_item' (number expected, got no value)",
        "false Invalid argument expected table got string",
    ]


@pytest.mark.parametrize(
    ("status", "shown"),
    [(0, "0 0 nil nil"), (3 << 8, "768 3 nil nil"), (9, "9 nil 9 0"), (11 | 0x80, "139 nil 11 128")],
)
def test_exit_status(site: Site, status: int, shown: str) -> None:
    """The exit status is four values: raw status, exit code, signal and core flag, of which some are nil."""
    site.native.items["task_exit_status"] = status
    site.write(
        """
        function slurm_spank_task_exit(spank)
           local status, exit, signal, core = spank:get_item("S_TASK_EXIT_STATUS")
           SPANK.log_info("%s %s %s %s", tostring(status), tostring(exit), tostring(signal), tostring(core))
        end
        """
    )
    site.load(version="5.1")
    site.call("task_exit")
    assert site.said() == [shown]


def test_environments(site: Site) -> None:
    """Failures return nil and Slurm's message; overwrite is a boolean or a number; long values are complete."""
    site.native.env["LONG"] = "x" * 9000
    site.write(
        """
        function slurm_spank_task_init(spank)
           local function say(...) SPANK.log_info("%s %s", tostring((...)), tostring((select(2, ...)))) end
           say(spank:getenv("NO"))
           say(#spank:getenv("LONG"))
           say(spank:setenv("HOME", "a"))
           say(spank:setenv("HOME", "a", false))
           say(spank:setenv("HOME", "a", 0))
           say(spank:setenv("HOME", "b", true))
           say(spank:getenv("HOME"))
           say(spank:setenv("HOME", 5, 1))
           say(spank:getenv("HOME"))
           say(spank:unsetenv("HOME"))
           say(spank:getenv("HOME"))
           say(spank:job_control_setenv("X", "y", 1))
           say(pcall(spank.getenv, spank))
           say(pcall(spank.setenv, spank, "X", {}))
        end
        function slurm_spank_init_post_opt(spank)
           SPANK.log_info("%s", tostring((spank:job_control_setenv("X", "y", 1))))
           SPANK.log_info("%s", tostring((spank:job_control_getenv("X"))))
           SPANK.log_info("%s", tostring((spank:job_control_unsetenv("X"))))
           SPANK.log_info("%s", select(2, spank:getenv("HOME")))
        end
        """
    )
    site.load(version="5.1")
    assert site.call("task_init") == 0
    assert site.said() == [
        "nil text of ESPANK_ENV_NOEXIST",
        "9000 nil",
        "nil text of ESPANK_ENV_EXISTS",
        "nil text of ESPANK_ENV_EXISTS",
        "nil text of ESPANK_ENV_EXISTS",
        "true nil",
        "b nil",
        "true nil",
        "5 nil",
        "true nil",
        "nil text of ESPANK_ENV_NOEXIST",
        "nil text of ESPANK_NOT_LOCAL",
        "false bad argument #1 to 'getenv' (string expected, got no value)",
        "false bad argument #2 to 'setenv' (string expected, got table)",
    ]
    site.lines.clear()
    assert site.call("init_post_opt", "local") == 0
    assert site.said() == ["true", "y", "true", "text of ESPANK_NOT_REMOTE"]


def test_job_control_environment_of_prolog(site: Site) -> None:
    """The job control environment can be read in prolog and epilog, but not written, and Slurm is not asked to."""
    site.native.job_control_env["X"] = "y"
    site.native.spank_job_control_setenv = site.native.spank_job_control_unsetenv = None  # type: ignore[assignment,method-assign]
    site.native.context = "job_script"
    site.write(
        """
        function slurm_spank_job_prolog(spank)
           SPANK.log_info("%s", spank:job_control_getenv("X"))
           SPANK.log_info("%s", select(2, spank:job_control_setenv("X", "z", 1)))
           SPANK.log_info("%s", select(2, spank:job_control_unsetenv("X")))
        end
        """
    )
    site.load()
    assert site.call("job_prolog") == 0
    assert site.said() == ["y", "text of ESPANK_NOT_AVAIL", "text of ESPANK_NOT_AVAIL"]


def test_logs(site: Site) -> None:
    """Lines are logged at each level without a prefix; a percent sign needs no escape."""
    site.write(
        """
        for _, name in ipairs({"error", "info", "verbose", "debug", "debug2", "debug3", "user"}) do
           SPANK["log_" .. name]("%s %d%%", name, 5)
        end
        got = SPANK._log_msg(-1, "by number")
        assert(got == -1 and SPANK.SUCCESS == 0 and SPANK.FAILURE == -1)
        """
    )
    site.load()
    for level in ("error", "info", "verbose", "debug", "debug2", "debug3", "user"):
        assert f"{level} 5%" in site.said(level)
    assert "by number" in site.said("error")


def test_texts_of_several_lines(site: Site) -> None:
    """Newlines at the end are dropped, further lines are marked, and those of arguments are escaped."""
    site.write(
        """
        for _, name in ipairs({"error", "info", "verbose", "debug", "debug2", "debug3"}) do
           SPANK["log_" .. name]("first\\nsecond of %s\\n", "a\\nb")
        end
        SPANK.log_user("first\\nsecond\\n")
        """
    )
    site.load()
    for level in ("error", "info", "verbose", "debug", "debug2", "debug3"):
        assert site.said(level)[:2] == ["first", r"| second of a\nb"]
    assert site.said("user") == ["first\nsecond"]


def literal(text: str) -> str:
    """Return a Lua literal of a text."""
    return '"' + "".join(f"\\{byte:03}" for byte in text.encode()) + '"'


def test_lines_of_random_texts(site: Site) -> None:
    """Each line of a script's own text is a record, marked after the first; an argument adds none."""
    chosen = random.Random(3)
    texts = ["T" + "".join(chosen.choices("ab\n\n\t\x1bä|", k=chosen.randrange(20))) for _ in range(100)]
    site.write("\n".join(f'SPANK.log_info({literal(text)})\nSPANK.log_info("%s", {literal(text)})' for text in texts))
    site.load()
    wanted = []
    for text in texts:
        first, *others = text.rstrip("\n").split("\n")
        wanted += [visible(first), *(f"| {visible(line)}" for line in others), visible(text)]
    assert [line for line in site.said("info") if line[0] in "T|"] == wanted


def test_a_handle_ends_with_its_callback(site: Site) -> None:
    """A handle can be used only while a callback runs."""
    site.write(
        """
        function slurm_spank_init(spank) kept = spank end
        function given() return kept:getenv("HOME") end
        spank_options = {{name = "x", usage = "y", cb = "given"}}
        """
    )
    option = site.load().options[0]
    site.call("init", "local")
    assert isinstance(option, LuaOption)
    assert option.take(None, False) == -1
    assert "the spank handle is good in the callback" in site.said("error")[0]
