# SPDX-License-Identifier: GPL-2.0-or-later
"""Burst buffers: the script of a set in each version of Lua, the program that it runs, and the kit."""

import inspect
import json
import os
import runpy
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from slurmhooks.burst_buffer import script
from slurmhooks.burst_buffer.model import BurstBuffer
from slurmhooks.cli import main
from slurmhooks.config.model import read
from slurmhooks.errors import ConfigError
from slurmhooks.handlers import loader
from slurmhooks.hooks.points import POINTS
from slurmhooks.lua import finding
from slurmhooks.lua.runtime import LuaState, ScriptError, to_text
from slurmhooks.scrun import StagingError
from slurmhooks.testing import FakeBurstBuffer, run
from tests.forks import keeps_files_in_forks
from tests.sets import put_in_force

VERSIONS = list(filter(finding.is_installed, finding.VERSIONS))
HOOKS = """
import os, sys, time
from slurmhooks import Reject, hook, log

@hook.burst_buffer.setup
def setup(buffer, record):
    print("to the log")
    os.system("echo by a program")
    log.info("pool %s of %s", buffer.pool, record)
    if buffer.size == 1:
        raise Reject("no\\nroom " + "x" * 5000)
    if buffer.size == 2:
        os._exit(0)
    if buffer.size == 3:
        os.kill(os.getpid(), 9)
    if buffer.size == 4:
        raise OSError("broken")
    if buffer.size == 5 and not os.fork():
        os.setsid()
        time.sleep(60)
        os._exit(0)

@hook.burst_buffer.test_data_in
def first(buffer):
    return buffer.job_id == 7

@hook.burst_buffer.test_data_in
def second():
    return False

@hook.burst_buffer.real_size
def small():
    return 5

@hook.burst_buffer.real_size
def large(buffer):
    return 9 if buffer.job_id == 7 else "9"

@hook.burst_buffer.get_status
def status(buffer):
    if "fork" in buffer.arguments:
        os.fork()
    if "files" in buffer.arguments and not keeps_files_in_forks():
        raise Reject("a file was closed")
    return " ".join(buffer.arguments)

"""


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hook file of a configuration."""
    (tmp_path / "state").mkdir()
    (tmp_path / "slurm.conf").write_text(f"StateSaveLocation={tmp_path}/state\nSlurmUser={os.geteuid()}\n")
    (put_in_force(tmp_path) / "slurmhooks.toml").write_text('[hooks]\npaths = ["hooks.py"]\n')
    (tmp_path / "hooks.py").write_text(f"{HOOKS}\n{inspect.getsource(keeps_files_in_forks)}")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    return tmp_path / "hooks.py"


def rendered(hooks: Path, program: Path, section: str = "") -> str:
    """Return the script of a configuration."""
    toml = hooks.parent / "slurmhooks.toml"
    toml.write_text(f'[hooks]\npaths = ["hooks.py"]\n{section}')
    registry = loader.load([loader.Source(path=str(hooks), name=str(hooks))])
    return script.render(program, read(toml).burst_buffer, registry).decode()


def lua(version: str, source: str) -> LuaState:
    """Return a state that has run the script, beside what Slurm defines."""
    state = LuaState(version)
    state.call(state.compile("slurm = {SUCCESS = 0, ERROR = -1}", "=slurm"))
    state.call(state.compile(source, "@burst_buffer.lua"))
    return state


def called(state: LuaState, call: str) -> tuple[int, str | None]:
    """Return code and text of a function."""
    result: Any = state.call(state.compile(f"return {call}", "=call"))
    code, text = result if isinstance(result, tuple) else (result, None)
    return int(code), None if text is None else to_text(text)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_slurmctld_runs_itself(version: str, hooks: Path) -> None:
    """These functions know the values of slurmhooks.toml, and can neither run a program nor look at other files."""
    section = """[burst_buffer]
pools = ["flash:2GiB:1MiB", "x-1:7"]
environment = ["A=/f/%j/%j", "B=\\"q\\\\", "C=@FUNCTIONS@"]
"""
    state = lua(version, rendered(hooks, Path("/none"), section))
    state.call(state.compile("io = {open = io.open} os = nil require = nil package = nil", "=less"))
    assert called(state, "slurm_bb_job_process('/script', '1', '1', {})") == (0, None)
    code, pools = called(state, "slurm_bb_pools()")
    assert code == 0
    assert json.loads(pools or "") == {
        "pools": [
            {"id": "flash", "quantity": 2048, "granularity": 1 << 20},
            {"id": "x-1", "quantity": 7, "granularity": 1},
        ]
    }
    path = hooks.with_name("path")
    assert called(state, f"slurm_bb_paths('42', '/script', '{path}', '1', '1', {{}})") == (0, None)
    assert path.read_text() == 'A=/f/42/42\nB="q\\\nC=@FUNCTIONS@\n'
    with pytest.raises(ScriptError):
        called(state, "slurm_bb_paths('42', '/script', '/none/path')")


@pytest.mark.parametrize("version", VERSIONS)
def test_what_it_hands_over(version: str, hooks: Path) -> None:
    """Any text arrives; the answer is a success only with the exit code 0, and a failure has a text of one line."""
    program = hooks.with_name("a 'program'")
    program.write_text(
        '#!/bin/sh\ncase "$4" in (refuse|silent);; (*) echo passed;; esac\nprintf \'%s|\' "$@"\n'
        'case "$4" in (refuse) exit 1;; (end) exit 3;; (kill) kill -9 $$;; (0) echo 0;; esac\n'
    )
    program.chmod(0o755)
    state = lua(version, rendered(hooks, program))
    text = "it's $(x) `y` \\\\ \\n*\\t\\\""
    assert called(state, f"slurm_bb_setup('7', '1', '{text.replace(chr(39), chr(92) + chr(39))}', 'p', {{}})") == (
        0,
        "setup|7|1|it's $(x) `y` \\ \n*\t\"|p|",
    )
    assert called(state, "slurm_bb_setup('7', '1', '0')") == (0, "setup|7|1|0|0\n")
    assert called(state, "slurm_bb_setup('7', '1', 'refuse')") == (-1, "setup|7|1|refuse|")
    code, reason = called(state, "slurm_bb_setup('7', '1', 'end')")
    assert (code, reason) == (-1, "passed setup|7|1|end| the process of the handlers ended with status 3")
    code, reason = called(state, "slurm_bb_setup('7', '1', 'kill')")
    assert code == -1
    assert "ended with status 137" in (reason or "")
    code, reason = called(state, "slurm_bb_setup('7', '1', 'silent')")
    assert (code, reason) == (-1, "setup|7|1|silent| the process of the handlers ended with status 0")
    program.unlink()
    code, reason = called(state, "slurm_bb_setup('7')")
    assert code == -1
    assert "ended with status 127" in (reason or "")
    assert "\n" not in (reason or "")
    assert called(state, "slurm_bb_data_out('7', '/script', {})") == (0, None)  # no handler, so no process


def test_it_has_each_function_that_slurm_needs(hooks: Path) -> None:
    """Slurm does not start without one of them (req_fxns in burst_buffer_lua.c)."""
    state = lua(VERSIONS[0], rendered(hooks, Path("/none")))
    own = {"job_process", "pools", "paths"}
    assert {*script.FUNCTIONS} == {spec.function[9:-2] for spec in POINTS["burst_buffer"].hooks}
    assert len({*script.FUNCTIONS} | own) == 13
    for name in {*script.FUNCTIONS} | own:
        assert state.call(state.compile(f"return type(slurm_bb_{name})", "=type")) == b"function", name


def program(*words: str) -> tuple[int, str]:
    """Return exit code and answer of the program."""
    command = (sys.executable, "-I", "-m", "slurmhooks.burst_buffer.program", *words)
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=60)
    return done.returncode, done.stdout.decode()


@pytest.mark.slow
def test_the_program(hooks: Path) -> None:
    """It answers with the text of a handler, in one line of limited length; what is printed goes to the log."""
    setup = ("setup", "7", "1000", "1000", "(null)")
    assert program(*setup, "0", "/script") == (0, "passed\n")
    log = (hooks.parent / "state/slurmhooks/burst_buffer/log").read_text()
    assert "to the log\n" in log
    assert "by a program\n" in log
    assert "pool None of None" in log
    code, text = program(*setup, "1", "/script")
    assert (code, text[:9]) == (1, "no room x")
    assert len(text) < 1100
    assert program(*setup, "2", "/script") == (0, "")  # the script does not take this for a success
    assert program(*setup, "3", "/script") == (-9, "")
    code, text = program(*setup, "4", "/script")
    assert code == 1
    assert "handler hooks:setup failed (error " in text
    assert program("test_data_in", "7", "/script") == (0, "passed\nBUSY")
    assert program("test_data_in", "8", "/script") == (0, "passed\n")
    assert program("real_size", "7") == (0, "passed\n9")
    assert program("real_size", "8")[0] == 1
    assert program("get_status", "0", "0", "a b") == (0, "passed\n0 0 a b\n")
    assert program("job_teardown", "7", "/script", "true") == (0, "passed\n")


def test_children_of_handlers(hooks: Path) -> None:
    """A child that comes back gives no answer of its own, and Slurm waits for none that stays."""
    for _ in range(3):
        assert program("get_status", "fork") == (0, "passed\nfork\n")
    assert program("get_status", "files") == (0, "passed\nfiles\n")
    began = time.monotonic()
    assert program("setup", "7", "1000", "1000", "(null)", "5", "/script") == (0, "passed\n")
    assert time.monotonic() - began < 30
    assert "its child came back" in (hooks.parent / "state/slurmhooks/burst_buffer/log").read_text()


def test_handlers_that_do_not_load(hooks: Path) -> None:
    """Nothing passes."""
    hooks.write_text("1 / 0\n")
    code, text = program("job_teardown", "7", "/script", "true")
    assert code == 1
    assert "the hooks could not be loaded" in text
    (hooks.parent / "state").rename(hooks.parent / "gone")
    (hooks.parent / "state").touch()
    code, text = program("job_teardown", "7", "/script", "true")
    assert code == 1
    assert "the log cannot be written" in text


def test_what_slurm_gives() -> None:
    """Each function has its own order; 22.05 leaves out ids of the user."""
    setup = BurstBuffer.of("setup", ("7", "1000", "100", "flash", "2097152", "/s"))
    assert setup == BurstBuffer(job_id=7, user_id=1000, group_id=100, pool="flash", size=2 << 20, script_path="/s")
    assert BurstBuffer.of("data_in", ("7", "/s")) == BurstBuffer(job_id=7, script_path="/s")
    assert BurstBuffer.of("pre_run", ("7", "/s", "1", "2")).group_id == 2
    assert BurstBuffer.of("job_teardown", ("7", "/s", "true", "1", "2")).hurry
    assert not BurstBuffer.of("job_teardown", ("7", "/s", "false")).hurry
    assert BurstBuffer.of("real_size", ("7", "1", "2")).user_id == 1


def test_directives() -> None:
    """They are the lines that Slurm finds: before the first command, with continued lines joined."""
    text = "#!/bin/sh\n\n#BB_LUA a=1 \\\n#BB_LUA b=2\n#SBATCH -n1\n#BB_LUA c \\\n#SBATCH -n2\n#BB_LUA\n"
    assert FakeBurstBuffer(f"{text}sleep 1\n#BB_LUA d\n").directives() == ["a=1 b=2", "c", ""]
    assert FakeBurstBuffer("#DW x").directives("DW") == ["x"]


def test_the_kit(hooks: Path) -> None:
    """`run` and `try` call the handlers, and show what Slurm would get."""
    assert run(hooks, "burst_buffer.real_size", buffer=FakeBurstBuffer(job_id=7)).changes == {"answer": "9"}
    refused = run(hooks, "burst_buffer.setup", buffer=FakeBurstBuffer(size=1))
    assert not refused.accepted
    assert (refused.text or "").startswith("no\nroom")
    command = ["try", "burst_buffer", "--hooks", str(hooks), "--really"]
    done = CliRunner().invoke(main, [*command, "real_size", "--job", "7", "--json"])
    assert (done.exit_code, json.loads(done.stdout)["answer"]) == (0, "9")
    done = CliRunner().invoke(main, [*command, "setup", "--size", "much"])
    assert done.exit_code == 2
    assert "must be bytes" in done.stderr


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('pools = ["flash"]', "must be a name, its size"),
        ('pools = ["a b:1"]', "must be a name, its size"),
        ('pools = ["flash:1MiB:1GiB"]', "must not be smaller"),
        ('pools = ["flash:unlimited"]', "must be a name, its size"),
        ('pools = ["flash:1:0"]', "at least 1"),
        ('environment = ["A"]', "must be a variable"),
        ('environment = ["A=1\\nB=2"]', "must be a variable"),
        ('environment = ["A=1=2"]', "must be a variable"),
        ('environment = ["A=%u"]', "only %j"),
    ],
)
def test_wrong_values(line: str, why: str, hooks: Path) -> None:
    """slurmctld never sees them."""
    toml = hooks.parent / "slurmhooks.toml"
    toml.write_text(f"[burst_buffer]\n{line}\n")
    with pytest.raises(ConfigError, match=why):
        read(toml)


EXAMPLE = Path(__file__).parents[3] / "contrib/programs/flash_scratch.py"


def test_the_example_gives_no_files_to_another_user(tmp_path: Path) -> None:
    """The folder that a job with the same id has left is not given to the user of the next one."""
    make = runpy.run_path(str(EXAMPLE))["make"]
    user, folder = os.geteuid() or 1, tmp_path / "7"
    for _ in range(2):
        make(folder, user, os.getegid())
    with pytest.raises(StagingError, match="has files of another user"):
        make(folder, user + 1, os.getegid())
    assert folder.stat().st_uid == user


@pytest.mark.parametrize("words", [["move", "7", "/data"], ["copy_in", "7"], ["remove", "7", "more"]])
def test_the_example_knows_its_actions(words: list[str]) -> None:
    """What the program does not know fails."""
    with subprocess.Popen([sys.executable, EXAMPLE, *words], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stderr is not None
        assert b"no such action" in program.stderr.read()
    assert program.returncode == 1
