# SPDX-License-Identifier: GPL-2.0-or-later
import os
from pathlib import Path

import pytest

from slurmhooks.handlers import loader
from tests.unit.cli.conftest import Call

SPANK = """
function greeted(val, optarg, remote) SPANK.log_info("%s", optarg) end
spank_options = { { name = "greet", arginfo = "NAME", has_arg = 1, cb = "greeted", usage = "whom" } }
function slurm_spank_task_init(spank)
   spank:setenv("HELLO", spank:get_item("S_JOB_ID"), 1)
   return SPANK.SUCCESS
end
"""
SCRUN = """
local json = require 'json'
function slurm_scrun_stage_in(id, bundle, spool_dir, config_file, job_id, user_id, group_id, job_env)
   slurm.set_bundle_path("/tmp/" .. id)
   return slurm.SUCCESS
end
function slurm_scrun_stage_out() return slurm.SUCCESS end
"""

CLI_FILTER = """
function slurm_cli_setup_defaults(options) return slurm.SUCCESS end
function slurm_cli_pre_submit(options, offset)
   if options["time"] == nil then options.gres = options.type end
   slurm.cli_store(0, slurm.json_cli_options(options))
   return slurm.SUCCESS
end
function slurm_cli_post_submit(offset, jobid, stepid) return slurm.SUCCESS end
"""


def test_options_of_commands(run: Call, tmp_path: Path) -> None:
    """For a cli_filter.lua, functions, options and helpers are shown with their Python equivalents."""
    script = tmp_path / "cli_filter.lua"
    script.write_text(CLI_FILTER)
    shown = run("adopt", "--port", str(script)).output
    for text in ("@hook.cli_filter.post_submit", "options.time_limit", 'options["gres"]', "options.command",
                 "options.given, a mapping"):  # fmt: skip
        assert text in shown


def test_each_kind_of_script_has_a_skeleton_that_loads(run: Call, tmp_path: Path) -> None:
    """For job_submit.lua, spank-lua and scrun.lua, slurmhooks loads the resulting hook file."""
    job = "function slurm_job_submit(d, parts, uid) d.comment = parts.debug.name return slurm.ERROR end\\n"
    for name, text, hook in (
        ("job_submit.lua", job.replace("\\n", "\n"), "job_submit"),
        ("spank.lua", SPANK, "spank.task_init"),
        ("scrun.lua", SCRUN, "scrun.stage_in"),
        ("cli_filter.lua", CLI_FILTER, "cli_filter.pre_submit"),
    ):
        script = tmp_path / name
        script.write_text(text)
        done = run.passed("adopt", "--port", str(script))
        ported = tmp_path / f"ported_{name.removesuffix('.lua')}.py"
        ported.write_text(done.stdout)
        registry = loader.load([loader.Source(path=str(ported))])
        assert [handler.label for handler in registry.handlers(hook)]


def test_what_a_script_uses_is_listed_with_lines(run: Call, tmp_path: Path) -> None:
    """Each use is shown with its lines, and with the equivalent in Python."""
    script = tmp_path / "spank.lua"
    script.write_text(SPANK)
    shown = run("adopt", "--port", str(script)).output
    assert "setenv    line 5  spank.env[name] = value" in shown
    assert 'hook.spank.option("greet", ...)' in shown
    assert "S_JOB_ID: spank.job_id" in shown


REGISTERS = """
local memory = { name = "memory", has_arg = 1 }
function slurm_spank_init(spank)
   cpus = {
      usage = "how many",
      name = "cpus",
   }
   spank:register_option(memory)
   spank:register_option(cpus) spank:register_option({ name = "fast" }) spank:register_option { name = "slow" }
   return SPANK.SUCCESS
end
"""


def test_options_of_a_script_become_options_of_the_skeleton(run: Call, tmp_path: Path) -> None:
    """Tables are found where they are registered, and in variables."""
    script = tmp_path / "spank.lua"
    script.write_text(REGISTERS)
    shown = run("adopt", "--port", str(script)).stdout
    names = [line.split('"')[1] for line in shown.splitlines() if line[:1].isalpha() and "hook.spank.option(" in line]
    assert sorted(names) == ["cpus", "fast", "memory", "slow"]


@pytest.mark.parametrize("content", [b"print(1)\n", b'print("a)\n', bytes(range(256))])
def test_a_file_that_is_no_such_script_is_a_finding(run: Call, tmp_path: Path, content: bytes) -> None:
    """The exit code is 1, and the error says what was looked for."""
    script = tmp_path / "other.lua"
    script.write_bytes(content)
    run.refused("adopt", "--port", str(script), says="defines no function that Slurm calls")


def test_what_is_no_lua_is_said(run: Call, tmp_path: Path) -> None:
    """A skeleton that lacks lines of the script, because they are not valid Lua, is a finding that names them."""
    path = tmp_path / "job_submit.lua"
    path.write_text("function slurm_job_submit(job_desc)\n  if x the\nend\n")
    result = run("adopt", "--port", path)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (1, "lines that are not valid Lua, and not read: 2")
    assert "def job_submit(job)" in result.stdout


def test_pipes(run: Call, tmp_path: Path) -> None:
    """A script may come from a pipe; nothing waits for somebody who writes to a FIFO."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert run("adopt", "--port", fifo).exit_code == 1
    reader, writer = os.pipe()
    with open(reader, "rb") as pipe, open(writer, "wb") as end:
        end.write(SPANK.encode())
        end.close()
        assert "S_JOB_ID" in run("adopt", "--port", f"/proc/self/fd/{pipe.fileno()}").output
