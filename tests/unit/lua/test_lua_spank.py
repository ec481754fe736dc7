# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts of spank-lua, with a stand-in for Slurm; tests/cluster runs them on real clusters."""

import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cffi
import pytest

from slurmhooks import loader
from slurmhooks.errors import LoadError
from slurmhooks.hook_specs import HOOKS
from slurmhooks.log import LEVELS, log
from slurmhooks.lua import finding, spank
from slurmhooks.lua.spank_handle import View
from slurmhooks.lua.spank_options import LuaOption
from slurmhooks.registry import Registry
from slurmhooks.testing.spank import DEFAULTS, Slurm

VERSIONS = list(filter(finding.is_installed, finding.VERSIONS))
Lines = list[tuple[str, str]]


class Native(Slurm):
    """A stand-in with the functions that only scripts use."""

    def __init__(self, items: dict[str, Any] | None = None) -> None:
        super().__init__({**DEFAULTS, **(items or {})}, {"HOME": "/home/alice"}, {})
        self.ffi = cffi.FFI()
        self.ffi.cdef(
            "typedef uint32_t uid_t; typedef uint32_t gid_t; typedef int32_t pid_t;"
            "struct spank_option { char *name; char *arginfo; char *usage; int has_arg; int val; void *cb; };"
        )
        self.given: dict[bytes, bytes | None] = {}

    def spank_strerror(self, code: int) -> Any:
        """Name the code."""
        names = [name for name in dir(self) if name.startswith("ESPANK_") and getattr(self, name) == code]
        return self._string(f"text of {names[0]}")

    def spank_setenv(self, handle: tuple[str, str], name: bytes, value: bytes, overwrite: int) -> int:
        """Honour ``overwrite``, as Slurm does."""
        if not overwrite and name.decode() in self.env and handle[0] == "remote":
            return int(self.ESPANK_ENV_EXISTS)  # type: ignore[attr-defined]
        return super().spank_setenv(handle, name, value, overwrite)

    def spank_option_getopt(self, handle: tuple[str, str], option: Any, argument: Any) -> int:
        """Answer from a dict."""
        name = self.ffi.string(option.name)
        if name not in self.given:
            return int(self.ESPANK_ERROR)  # type: ignore[attr-defined]
        value = self.given[name]
        if value is not None and option.has_arg:
            argument[0] = self._kept(self.ffi.new("char[]", value))
        return 0


class Site:
    """A folder with scripts, and the calls of a process.

    Attributes:
        lines: what was logged: level and text.
        native: Slurm.
        registered: options that scripts registered while they ran.
    """

    def __init__(self, folder: Path, lines: Lines) -> None:
        self.folder = folder
        self.lines = lines
        self.native = Native()
        self.registered: list[LuaOption] = []
        self.registry = Registry((), ())

    def write(self, text: str, name: str = "script.lua") -> Path:
        """Write a script."""
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def load(self, fatal: bool = False, version: str | None = None, pattern: str = "*.lua") -> Registry:
        """Load the scripts of a GLOB."""
        self.registry = spank.extend(Registry((), ()), loader.expand([pattern], str(self.folder)), fatal, version)
        return self.registry

    def call(self, name: str, context: str | None = None, args: tuple[str, ...] = ()) -> int:
        """Make one callback."""
        context = context or HOOKS[f"spank.{name}"].contexts[0]
        view = View(self.native, (context, name), context, name, args)
        handlers = [one for one in self.registry.handlers(f"spank.{name}") if context in one.contexts]
        return spank.run(handlers, view, self._register)

    def _register(self, option: LuaOption) -> int:
        self.registered.append(option)
        return 0

    def said(self, level: str = "info") -> list[str]:
        """Return the lines at a level, except those of spank-lua itself."""
        return [text for given, text in self.lines if given == level and not text.startswith("spank/lua: Loaded")]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A folder for scripts, and the log."""
    lines: Lines = []
    before = log.attach(
        lambda level, text: lines.append((LEVELS[level], text)), lambda text: lines.append(("user", text))
    )
    yield Site(tmp_path, lines)
    log.attach(*before)


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
    assert site.said() == ["remote yes 24.11.5 2", "a=1|b=2", "1 /home/alice", "nil text of ESPANK_NOT_TASK"]


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
        ("", 0),
        ("nil", 0),
        ("0", 0),
        ("1", 0),
        ("7", 0),
        ("-1", -1),
        ("-5", -1),
        ("'-1'", -1),
        ("-0.5", 0),
        ("true", 0),
        ("false", 0),
        ("{}", 0),
        ("0, -1", 0),
        ("-1, 0", -1),
        ("'text'", 0),
        ("-math.huge", -1),
    ],
)
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
    """A GLOB without matches, or a missing file, is not an error, as in spank-lua."""
    assert site.load(pattern="none.d/*.lua").all_handlers() == []
    assert site.load(pattern="none.lua", fatal=True).all_handlers() == []


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
    """The job control environment can be read in prolog and epilog, but not written, because Slurm would crash."""
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


OPTIONS = """
spank_options = {
   {name = "word", arginfo = "W", usage = "a word", has_arg = 1, val = 3, cb = "given"},
   {name = "maybe", arginfo = "W", usage = "perhaps", has_arg = 2, val = "4", cb = "given"},
   {name = "yes", usage = "documented as a boolean", has_arg = true},
   {name = "flag", usage = "none", cb = "given"},
   other = {name = "other", usage = "by a name"},
}
function given(val, optarg, remote)
   SPANK.log_info("%d %s %s", val, tostring(optarg), tostring(remote))
   if optarg == "bad" then return 2 end
   if optarg == "worse" then error("worse") end
end
"""


def test_options_and_their_callbacks(site: Site) -> None:
    """Tables have the members of struct spank_option; a result of the callback other than 0 refuses the value."""
    site.write(OPTIONS)
    options = {option.name: option for option in site.load().options}
    assert list(options) == ["word", "maybe", "yes", "flag", "other"]
    assert [option.has_arg for option in options.values()] == [1, 2, 1, 0, 0]
    assert [option.checked for option in options.values()] == [True, True, False, True, False]
    assert [option.arginfo for option in options.values()] == ["W", "W", None, None, None]

    def take(name: str, text: str | None, remote: bool = False) -> int:
        option = options[name]
        assert isinstance(option, LuaOption)
        return option.take(text, remote)

    assert [take("word", "x"), take("word", ""), take("maybe", "(null)", True), take("flag", "(null)", True)] == [0] * 4
    assert [take("word", "bad"), take("word", "worse"), take("yes", "x")] == [2, -1, 0]
    assert site.said() == ["3 x false", "3  false", "4 nil true", "0 nil true", "3 bad false", "3 worse false"]
    assert len(site.said("error")) == 1
    assert re.search(r"^Failed to call lua callback function given: \S+/script\.lua:12: worse$", site.said("error")[0])


def test_getopt_and_register_option(site: Site) -> None:
    """getopt returns the argument, true without one, or nil and a message; options can be registered in init."""
    site.write(
        """
        local word = {name = "word", usage = "a word", has_arg = 1}
        local maybe = {name = "maybe", usage = "a word", has_arg = 2}
        function slurm_spank_init(spank)
           SPANK.log_info("%s", tostring(spank:register_option(word)))
           SPANK.log_info("%s", tostring(select(2, pcall(spank.register_option, spank, "x"))))
        end
        function slurm_spank_task_init(spank)
           for _, option in ipairs({word, maybe, {name = "flag", usage = "x"}, {name = "no", usage = "x"}}) do
              local value, why = spank:getopt(option)
              SPANK.log_info("%s %s", tostring(value), tostring(why))
           end
        end
        """
    )
    site.native.given = {b"word": b"w", b"maybe": b"(null)", b"flag": None}
    site.load(version="5.1")
    site.call("init", "local")
    site.call("task_init")
    assert [option.name for option in site.registered] == ["word"]
    expected = ["true", "Expected table argument to spank_option_register", "w nil", "true nil", "true nil"]
    assert site.said() == [*expected, "nil Option unused"]


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


def test_exit_ends_the_process_at_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """os.exit ends the process without exit handlers."""
    ended: list[int] = []
    monkeypatch.setattr("posix._exit", ended.append)
    site.write("os.exit() os.exit(true) os.exit(false) os.exit(3) os.exit(257)")
    site.load()
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
