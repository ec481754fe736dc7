# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts are loaded, and their callbacks are called, in spank-lua's order and with its results."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.handlers import loader
from slurmhooks.hooks.points import HOOKS
from slurmhooks.lua import spank
from tests.unit.lua.spank.conftest import Site


def test_the_last_of_the_glob_runs_first(site: Site) -> None:
    """All scripts run in reverse order, each in its own state, whatever they return."""
    for name in ("a", "b", "c"):
        site.write(
            f"""
            mark = (mark or "") .. "{name}"
            function slurm_spank_exit(spank)
               SPANK.log_info(mark)
               mark = mark .. "+"
               return "{name}" == "b" and SPANK.FAILURE or SPANK.SUCCESS
            end
            """,
            f"{name}.lua",
        )
    site.load()
    assert [site.call("exit"), site.call("exit")] == [-1, -1]
    assert site.said() == ["c", "b", "a", "c+", "b+", "a+"]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("", 0), ("nil", 0), ("0", 0), ("1", 0), ("7", 0), ("-1", -1), ("-5", -1), ("'-1'", -1), ("-0.5", 0),
        ("true", 0), ("false", 0), ("{}", 0), ("0, -1", 0), ("-1, 0", -1), ("'text'", 0), ("-math.huge", -1),
    ],
)  # fmt: skip
def test_what_a_callback_returns(site: Site, value: str, code: int) -> None:
    """Only a negative number is a failure."""
    site.write(f"function slurm_spank_exit(spank) return {value} end")
    site.load()
    assert site.call("exit") == code


@pytest.mark.parametrize("fatal", [False, True])
def test_an_error_in_a_callback(site: Site, fatal: bool) -> None:
    """An error is logged with file and line, and fails the callback only with failonerror."""
    site.write("function slurm_spank_exit(spank)\n   error('no such thing')\nend\nslurm_spank_init = 5\n")
    site.load(fatal)
    assert site.call("exit") == (-1 if fatal else 0)
    assert site.call("init", "local") == (-1 if fatal else 0)
    first, second = site.said("error")
    # Lua shortens a long path at its start.
    assert re.fullmatch(r"spank/lua: slurm_spank_exit: \S+/script\.lua:2: no such thing", first)
    assert second == "spank/lua: slurm_spank_init: attempt to call a number value"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = = 1", "script.lua:1: unexpected symbol near '='"),
        ("error('not today')", "script.lua:1: not today"),
        ("require 'no.such.module'", "script.lua:1: module 'no.such.module' not found:"),
        ("spank_options = {{name = 'x'}}", 'Required field "usage" missing from spank option table'),
        ("spank_options = {{usage = 'x'}}", 'Required field "name" missing from spank option table'),
        ("spank_options = {name = 'x', usage = 'y'}", "a spank option must be a table, not a string"),
        ("spank_options = 5", "spank_options must be a table, not a number"),
        ("spank_options = {{name = 'x', usage = 'y', cb = 'no'}}", "Unable to find spank option cb function no"),
        ("spank_options = {{name = ('x'):rep(76), usage = 'y'}}", "it must have 1 to 75 bytes"),
    ],
)
def test_a_script_that_cannot_be_loaded(site: Site, text: str, why: str) -> None:
    """A script that cannot be loaded is disabled, and the others run; with failonerror, none runs."""
    site.write("function slurm_spank_exit() SPANK.log_info('good') end", "good.lua")
    site.write(text)
    site.load(fatal=False)
    assert site.call("exit") == 0
    disabled, good = site.said()
    assert disabled.startswith("spank/lua: Disabling script.lua: ")
    assert why in disabled
    assert good == "good"
    with pytest.raises(LoadError, match=r".") as caught:
        site.load(fatal=True)
    assert why in caught.value.findings[0]
    assert any(line.startswith("spank/lua: Fatal: ") and why in line for line in site.said("error"))


def test_a_script_that_all_may_write_fails_its_line(site: Site) -> None:
    """A script that others can write fails its line, and is not just disabled."""
    site.write("function slurm_spank_exit() end").chmod(0o666)
    with pytest.raises(LoadError, match="it is writable by everybody"):
        site.load()


def test_no_script_is_no_error(site: Site) -> None:
    """A GLOB without matches, or a missing file, is not an error, as in spank-lua; its folder must exist."""
    with pytest.raises(LoadError, match=r"none\.d: does not exist"):
        site.load(pattern="none.d/*.lua")
    (site.folder / "none.d").mkdir()
    assert site.load(pattern="none.d/*.lua").all_handlers() == []
    assert site.load(pattern="none.lua", fatal=True).all_handlers() == []


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (["init"], {"init": ("local", "remote", "allocator")}),
        (["init", "slurmd_exit"], {"init": ("local", "remote", "allocator", "slurmd"), "slurmd_exit": ("slurmd",)}),
        (["slurmd_init"], {"init": ("slurmd",)}),
        (["init_post_opt", "exit"], {"init_post_opt": HOOKS["spank.init_post_opt"].contexts, "exit": ("local",)}),
        (["task_init_privileged"], {"task_init_privileged": ("remote",)}),
        (["job_prolog"], {"job_prolog": ("job_script",)}),
    ],
)
def test_where_a_script_runs(site: Site, names: list[str], places: dict[str, tuple[str, ...]]) -> None:
    """The callbacks of a script are its handlers; init runs in slurmd only for scripts with callbacks for slurmd."""
    site.write("".join(f"function slurm_spank_{name}() end\n" for name in names))
    handlers = {handler.spec.name.removeprefix("spank."): handler for handler in site.load().all_handlers()}
    assert handlers.keys() == places.keys()
    for name, contexts in places.items():
        assert set(contexts) <= set(handlers[name].contexts)
        assert ("slurmd" in handlers[name].contexts) == ("slurmd" in contexts)


def test_a_callback_that_may_come_later_counts(site: Site) -> None:
    """A callback that appears in the source outside of comments is a handler, as it may be defined later."""
    path = site.write(
        """
        -- slurm_spank_exit is mentioned
        if os.getenv("NEVER") then
           function slurm_spank_user_init() end
        end
        function slurm_spank_task_init() end
        _G["slurm_spank_" .. "task_exit"] = slurm_spank_task_init
        """
    )
    handlers = {handler.spec.name: handler for handler in site.load().all_handlers()}
    assert set(handlers) == {"spank.user_init", "spank.task_init", "spank.task_exit"}
    assert site.call("user_init") == 0
    assert [handlers[f"spank.{name}"].where for name in ("task_init", "user_init")] == [f"{path}:6", f"{path}:0"]


def test_slurmd_gets_both_starts(site: Site) -> None:
    """In slurmd, init and slurmd_init run."""
    site.write(
        "function slurm_spank_init() SPANK.log_info('init') end\nfunction slurm_spank_slurmd_init() return -1 end"
    )
    site.load()
    assert [site.call("init", "slurmd"), site.call("init", "local")] == [-1, 0]
    assert site.said() == ["init", "init"]


def test_exit_ends_the_process_at_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """os.exit ends the process without exit handlers, but writes what the script has written to files."""
    ended: list[int] = []
    monkeypatch.setattr("posix._exit", ended.append)
    file = site.folder / "file"
    site.write(
        f"f = io.open('{file}', 'w') f:write('x') os.exit() os.exit(true) os.exit(false) os.exit(3) os.exit(257)"
    )
    site.load()
    assert file.read_text() == "x"
    assert ended == [0, 0, 1, 3, 1]


def test_python_first(site: Site, write: Callable[..., Path]) -> None:
    """Handlers of hook files come before those of scripts."""
    site.write("function slurm_spank_exit() end")
    write("hooks.py", "from slurmhooks import hook\n@hook.spank.exit(order=50)\ndef last(spank): pass")
    python = loader.load(loader.expand(["hooks.py"], str(site.folder)))
    handlers = spank.extend(python, loader.expand(["*.lua"], str(site.folder)), False, None).handlers("spank.exit")
    assert [(handler.scripted, handler.label) for handler in handlers] == [
        (False, "hooks:last"),
        (True, "script.lua:slurm_spank_exit"),
    ]
