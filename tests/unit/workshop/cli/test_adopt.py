# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `slurmhooks adopt`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from slurmhooks.cli import slurm
from slurmhooks.lua import finding
from tests.unit.cli.conftest import Call
from tests.unit.workshop.replay.recordings import record

pytestmark = pytest.mark.slow

RIGHT = """
function slurm_job_submit(job_desc, part_list, submit_uid)
   if job_desc.account == nil then job_desc.account = "physics" end
   if job_desc.script and #job_desc.script > 100 then return slurm.ERROR end
   return slurm.SUCCESS
end
function slurm_job_modify() return slurm.SUCCESS end
"""
CLI_FILTER = """
function slurm_cli_setup_defaults(options) return slurm.SUCCESS end
function slurm_cli_pre_submit(options, offset) options.account = "physics" return slurm.SUCCESS end
function slurm_cli_post_submit(offset, job_id, step_id) return slurm.SUCCESS end
"""
SPANK = """
function slurm_spank_init(spank)
   spank:register_option { name = "greet", usage = "whom", cb = "greeted", has_arg = 1, arginfo = "NAME" }
   return SPANK.SUCCESS
end
function greeted(value, argument, remote) os.execute("echo " .. argument) end
"""
HOOKS = "from slurmhooks import hook\n@hook.job_submit\ndef nothing(job): pass\n"


@pytest.fixture(autouse=True)
def no_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test depend on a Slurm of this machine."""
    monkeypatch.setattr(slurm, "library", lambda: None)


@pytest.fixture
def adopt(run: Call, tmp_path: Path) -> Callable[..., Result]:
    """Return a function that runs the command for 24.11, few requests and a folder of its own."""

    def adopt(script: str, *words: str, name: str = "job_submit.lua") -> Result:
        (tmp_path / name).write_text(script)
        common = ("--release=24.11", "--lua=5.4", "--requests=5", f"--sysconfdir={tmp_path}")
        return run("adopt", str(tmp_path / name), *common, *words)

    return adopt


def test_a_right_script(adopt: Callable[..., Result]) -> None:
    """A script without findings exits with 0; the lines to change and the way back are shown."""
    done = adopt(RIGHT)
    assert done.exit_code == 0, done.output
    assert "nothing found" in done.output
    assert "tried under slurmhooks with 10 requests: 0 refused" in done.output
    assert "not compared: this machine lacks Slurm's plugin" in done.output
    assert '[job_submit]\n  lua = "job_submit.lua"' in done.output
    assert "- JobSubmitPlugins=lua\n  + JobSubmitPlugins=python" in done.output
    assert "put JobSubmitPlugins=lua back" in done.output


@pytest.mark.parametrize("installed", [True, False])
def test_the_lua_of_the_machine(adopt: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, installed: bool) -> None:
    """The command says so if it has not tried a script in the library that Slurm's plugins load."""
    own = finding.find("5.4")
    own.own = "/usr/lib/liblua5.4.so.0" if installed else ""
    monkeypatch.setattr(finding, "find", lambda _: own)
    assert ("this machine has no liblua" in adopt(RIGHT).output) is not installed


def test_other_plugins_keep_their_places(adopt: Callable[..., Result], tmp_path: Path) -> None:
    """The line of slurm.conf keeps the site's other plugins, in their order."""
    (tmp_path / "slurm.conf").write_text("JobSubmitPlugins=require_timelimit,lua,partition\n")
    output = adopt(RIGHT).output
    assert "+ JobSubmitPlugins=require_timelimit,python,partition" in output
    assert "put JobSubmitPlugins=require_timelimit,lua,partition back" in output


def test_a_danger(adopt: Callable[..., Result]) -> None:
    """Something dangerous makes the command exit with 1."""
    done = adopt(RIGHT.replace("return slurm.ERROR", "os.exit(1)"))
    assert done.exit_code == 1
    assert "line 4: danger [exit]" in done.output


@pytest.mark.parametrize(
    "text", ["x=" + "(" * 3000 + ")" * 3000, "x=" + "{" * 3000 + "}" * 3000, "function f() " * 800 + " end" * 800]
)
def test_a_script_that_is_nested_too_deeply(adopt: Callable[..., Result], text: str) -> None:
    """It is a finding, not a traceback."""
    result = adopt(f"{RIGHT}\n{text}")
    assert result.exit_code == 1
    assert "nested too deeply" in result.output


def test_json(adopt: Callable[..., Result]) -> None:
    """The JSON document has everything."""
    report = json.loads(adopt(RIGHT, "--json").stdout)
    assert report["family"] == "job_submit"
    assert report["functions"] == {"slurm_job_submit": 2, "slurm_job_modify": 7}
    assert {"name": "account", "lines": [3], "written": True} in report["uses"]["job_desc"]
    assert report["tried"]["requests"] == 10
    assert report["compared"] is None
    failing = RIGHT.replace('= "physics"', '= nil .. "x"')
    assert list(json.loads(adopt(failing, "--json").stdout)["tried"]["errors"].values()) == [2]
    assert report["changes"]["after"] == "JobSubmitPlugins=python"


def test_cli_filter_and_spank(adopt: Callable[..., Result], tmp_path: Path) -> None:
    """Scripts of cli_filter and spank-lua are read, and their lines are shown."""
    done = adopt(CLI_FILTER, name="cli_filter.lua")
    assert done.exit_code == 0, done.output
    assert "+ CliFilterPlugins=python" in done.output
    done = adopt(SPANK, name="greet.lua")
    assert done.exit_code == 1
    assert "line 6: danger [injection] passes the option's argument to a shell" in done.output
    assert f"- required lua.so {tmp_path}/*.lua" in done.output
    assert f"+ required spank_python.so {tmp_path}/*.lua" in done.output


def test_nothing_is_overwritten(adopt: Callable[..., Result], tmp_path: Path) -> None:
    """--write makes a new file, and refuses one that exists."""
    target = tmp_path / "slurmhooks.toml"
    assert adopt(RIGHT, f"--write={target}").exit_code == 0
    assert target.read_text().startswith('[job_submit]\nlua = "job_submit.lua"\n')
    target.write_text("mine\n")
    done = adopt(RIGHT, f"--write={target}")
    assert done.exit_code == 1
    assert "exists and is not changed" in done.output
    assert target.read_text() == "mine\n"


def test_recorded_requests(adopt: Callable[..., Result], tmp_path: Path) -> None:
    """Recorded requests are tried; those without a field that the script uses are not."""
    path = tmp_path / "recording"
    jobs: list[dict[str, object]] = [{"account": "physics"}, {"script": "#!/bin/sh\n"}, {"time_limit": 7}]
    record(path, HOOKS, jobs).end("the test is over")
    tried = json.loads(adopt(RIGHT, "--json", f"--recording={path}").stdout)["tried"]
    assert (tried["requests"], tried["not_tried"]) == (3, {"script, which was not recorded": 1})
    (tmp_path / "recording").unlink()
    record(path, HOOKS, jobs, kept=["script"]).end("the test is over")
    tried = json.loads(adopt(RIGHT, "--json", f"--recording={path}").stdout)["tried"]
    assert (tried["requests"], tried["not_tried"]) == (3, {})


def test_no_script_of_slurm(adopt: Callable[..., Result]) -> None:
    """Another Lua file is refused."""
    done = adopt("print('x')")
    assert done.exit_code == 1
    assert "defines no function that Slurm calls" in done.output


@pytest.mark.parametrize("text", ["#!/bin/bash\nexit 0\n", "from slurmhooks import hook\n", "\x7fELF\0"])
def test_what_is_no_lua(adopt: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Another file is refused without the packages that read Lua."""
    for name in ("tree_sitter", "tree_sitter_lua", "lupa"):
        monkeypatch.setitem(sys.modules, name, None)
    done = adopt(text)
    assert done.exit_code == 1
    assert "is not Lua, or defines no function that Slurm calls" in done.output


def test_a_script_that_does_not_load(adopt: Callable[..., Result]) -> None:
    """Lua's message says why there is no trial, and which lines were not read."""
    done = adopt(RIGHT + "x = = 1\n")
    assert "not tried:" in done.output
    assert "unexpected symbol near '='" in done.output
    assert "not valid Lua" in done.output


def test_without_the_parser(adopt: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the command says how to install it beside slurmhooks, whatever pip is in the PATH."""
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    done = adopt(RIGHT)
    assert done.exit_code == 1
    assert f"{sys.executable} -m pip install tree-sitter tree-sitter-lua" in done.output
