# SPDX-License-Identifier: GPL-2.0-or-later
"""One state of Lua, in every version that lupa has."""

import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.lua import finding, library, pipes
from slurmhooks.lua.runtime import LuaRaise, LuaState, ScriptError, to_bytes, to_text

VERSIONS = list(filter(finding.is_installed, finding.VERSIONS))


class Reader(dict[bytes, object]):
    """A reader for a proxy."""

    def __missing__(self, name: bytes) -> None:
        return None


@pytest.fixture(params=VERSIONS)
def state(request: pytest.FixtureRequest) -> Iterator[LuaState]:
    """A state of each version; commands that its scripts have not closed end, and can be reaped."""
    yield LuaState(request.param)
    while pipes.reap():
        time.sleep(0.001)


def run(state: LuaState, source: str) -> Any:
    """Run a script with the name /etc/site.lua."""
    return state.call(state.compile(source, "@/etc/site.lua"))


ERRORS = (
    *("nil", "'text'", "'two\\nlines'", "5", "{1}", "true", "print", "coroutine.create(function() end)", "io.stdout"),
    *("setmetatable({}, {__tostring = function() return 'object' end})", "'a\\nstack traceback:\\nof its own'", "''"),
)


@pytest.mark.parametrize("error", ERRORS)
def test_the_text_of_an_error(state: LuaState, error: str) -> None:
    """An error has the text that C gets from lua_tostring(), in each version."""
    with pytest.raises(ScriptError) as caught:
        state.call(state.compile(f"error({error}, 0)", "@script.lua"))
    is_text = state.call(state.compile(f"local v = {error} return type(v) == 'string' or type(v) == 'number'", "=test"))
    text = to_text(state.call(state.compile(f"return tostring({error})", "=test"))) if is_text else "(null)"
    assert caught.value.text == text or (text == "" and caught.value.text == "(null)")


def test_lupa_has_what_the_issue_promises() -> None:
    """5.1 to 5.4 and LuaJIT are available."""
    assert {"5.1", "5.2", "5.3", "5.4", "luajit"} <= set(VERSIONS)


def test_a_version_that_is_not_there_is_refused_with_those_that_are() -> None:
    """The message has the available versions."""
    with pytest.raises(library.NoLuaError, match=r"5\.9 here; it has: 5\.1"):
        LuaState("5.9")


def test_what_a_script_can_call_is_kept(state: LuaState) -> None:
    """A Python object lives as long as Lua refers to it, whatever Lua's garbage collector does."""

    class Callable:
        def __call__(self) -> float:
            return 1.0

    state.globals[b"kept"] = state.table()
    keep = run(state, "return function(f) kept[#kept + 1] = f end")
    waste = run(state, "return function(n) for i = 1, n do local _ = {} end end")
    references = []
    for number in range(1000):
        references.append(weakref.ref(function := Callable()))
        waste(float(number % 211))
        keep(function)
        del function
        waste(3.0)
    assert all(reference() is not None for reference in references)


def test_text_keeps_every_byte(state: LuaState) -> None:
    """Text that is not UTF-8 is converted without loss."""
    assert to_bytes(to_text(b"caf\xe9 \xc3\xa9")) == b"caf\xe9 \xc3\xa9"
    state.globals[b"text"] = state.value(to_text(b"\xff\xfe"))
    assert run(state, "return #text, text") == (2, b"\xff\xfe")


def test_numbers_are_those_of_lua_pushnumber(state: LuaState) -> None:
    """Numbers are floats also in a Lua with integers, and %d accepts them."""
    state.globals[b"n"] = state.value(60)
    shown = run(state, "return tostring(n), string.format('%d', n)")
    assert shown == (b"60" if state.version in ("5.1", "5.2") or "jit" in state.version else b"60.0", b"60")


def test_a_function_is_one_of_lua(state: LuaState) -> None:
    """A wrapped function is a Lua function; it can return several values and nil."""
    state.globals[b"f"] = state.function(lambda *args: (len(args), None, "x"))
    assert run(state, "return type(f), f(1, nil, 3)") == (b"function", 3, None, b"x")
    assert run(state, "return select('#', f())") == 3


def test_an_error_of_a_function_is_the_callers(state: LuaState) -> None:
    """LuaRaise can be caught by pcall; the message has file and line of the call."""

    def refuse() -> None:
        raise LuaRaise("not this way")

    state.globals[b"f"] = state.function(refuse)
    with pytest.raises(ScriptError) as caught:
        run(state, "\n\nlocal x = f()\nreturn x")
    assert caught.value.text == "/etc/site.lua:3: not this way"
    assert any("/etc/site.lua:3" in line for line in caught.value.traceback)
    assert run(state, "local ok, text = pcall(function() local x = f() return x end)\nreturn ok, text") == (
        False,
        b"/etc/site.lua:1: not this way",
    )


def test_a_proxy_reads_and_writes_through_python(state: LuaState) -> None:
    """Reads and writes of a proxy call Python; a refused write is an error with its line."""
    written: list[tuple[object, object]] = []

    def write(name: bytes, value: object) -> bytes | None:
        if value is None:
            return b"no nil"
        written.append((name, value))
        return None

    state.globals[b"job"] = state.proxy(Reader({b"name": b"n"}), write, _job=b"marker")
    shown = run(state, "return type(job), job.name, job.other, next(job), getmetatable(job)._job")
    assert shown == (b"table", b"n", None, None, b"marker")
    run(state, "job.comment = 'c'")
    assert written == [(b"comment", b"c")]
    with pytest.raises(ScriptError, match=r"^/etc/site\.lua:2: no nil$"):
        run(state, "\njob.comment = nil")


def test_a_script_reaches_nothing_of_python(state: LuaState) -> None:
    """There is no table ``python``, and objects have no attributes."""
    state.globals[b"job"] = state.proxy(Reader())
    assert run(state, "return python, package.loaded.python") == (None, None)
    assert run(state, "return getmetatable(job).__index.__class__") is None
    state.globals[b"thing"] = object()
    with pytest.raises(AttributeError, match="scripts cannot reach '__class__'"):
        run(state, "return thing.__class__")


def test_a_script_that_cannot_be_read_says_why(state: LuaState, tmp_path: Path) -> None:
    """A missing file and a syntax error raise ScriptError with the file."""
    with pytest.raises(ScriptError, match=r"cannot open .*nothing\.lua"):
        state.load(str(tmp_path / "nothing.lua"))
    wrong = tmp_path / "wrong.lua"
    wrong.write_text("#!/usr/bin/lua\n\nx = = 1\n")
    with pytest.raises(ScriptError, match=r"wrong\.lua:3: unexpected symbol"):
        state.load(str(wrong))


def test_an_error_that_is_no_text_is_one_all_the_same(state: LuaState) -> None:
    """``error({})`` and ``error()`` raise ScriptError."""
    for what in ("{}", "nil", ""):
        with pytest.raises(ScriptError):
            run(state, f"error({what})")


def test_modules_of_the_site_are_found(state: LuaState, write: Callable[..., Path]) -> None:
    """``require`` uses the search path of the machine's own Lua, and package.path can be extended."""
    folder = write("modules/site_rules.lua", "return { limit = 7 }").parent
    assert b"/usr/share/lua/" in run(state, "return package.path")
    assert run(state, f"package.path = '{folder}/?.lua;' .. package.path\nreturn require('site_rules').limit") == 7


def test_a_module_that_nobody_has_says_where_it_was_looked_for(state: LuaState) -> None:
    """The message about a missing module is the same as Lua's own."""
    with pytest.raises(ScriptError, match=r"(?s)module 'nosuch' not found:.*no file .*nosuch\.so"):
        run(state, "require 'nosuch'")


def test_the_environment_counts_for_search_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """LUA_PATH replaces the search path; two semicolons in it represent the default."""
    monkeypatch.setenv("LUA_PATH", "/site/?.lua;;")
    path, _ = library.search_paths(finding.find("5.1"))
    assert path.startswith("/site/?.lua;")
    assert "/usr/local/share/lua/5.1/?.lua" in path
    monkeypatch.setenv("LUA_PATH_5_4", "/only/?.lua")
    assert library.search_paths(finding.find("5.4"))[0] == "/only/?.lua"


def test_the_version_of_slurms_own_lua_is_read_from_its_plugins(tmp_path: Path) -> None:
    """The version is found for all names of the library that distributions use."""
    for name, version in (
        (b"liblua5.1.so.0", "5.1"),
        (b"liblua.so\0liblua-5.4.so\0", "5.4"),
        (b"liblua.so.5.3", "5.3"),
    ):
        (tmp_path / "job_submit_lua.so").write_bytes(b"\x7fELF\0" + name + b"\0rest")
        assert finding.of_slurm([str(tmp_path)]) == version
    assert finding.of_slurm([str(tmp_path / "none")]) is None


def test_slurms_own_lua_is_found_through_slurm_conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without libslurmfull in the process, as in workers, the plugins are in a folder of PluginDir."""
    (tmp_path / "job_submit_lua.so").write_bytes(b"\x7fELF\0liblua5.2.so.0\0rest")
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"PluginDir=/usr/local/lib/nothing:{tmp_path}\n")
    monkeypatch.setenv("SLURM_CONF", str(conf))
    assert finding.of_slurm() == "5.2"


def test_commands_can_be_read_and_written(state: LuaState, tmp_path: Path) -> None:
    """io.popen works in every Lua, with read, lines and close."""
    shown = run(
        state,
        "local p = io.popen('printf \"a b\\\\n7 x\\\\nlast\"')\n"
        "local line, number, rest = p:read('*l', '*n', '*a')\n"
        "local lines = {}\n"
        "for text in io.popen('seq 3'):lines() do lines[#lines + 1] = text end\n"
        f"local q = io.popen('cat >{tmp_path}/written', 'w')\n"
        "q:write('hi ', 1, '\\n')\n"
        "return line, number, rest, p:close(), table.concat(lines, ','), q:close()",
    )
    assert shown[:5] == (b"a b", 7, b" x\nlast", True, b"1,2,3")
    assert shown[5]
    assert (tmp_path / "written").read_text() == "hi 1\n"


def test_commands_read_what_was_written(state: LuaState, tmp_path: Path) -> None:
    """io.popen flushes the files of the script before the command starts, as Lua's own does."""
    shown = run(
        state,
        f"local f = io.open('{tmp_path}/file', 'w')\nf:write('text')\n"
        f"local p = io.popen('cat {tmp_path}/file')\nlocal text = p:read('*a')\np:close() f:close()\nreturn text",
    )
    assert shown == b"text"


LENT = """
import sys
import weakref

lua = sys.argv.pop().split("|")
sys.path += sys.argv[1:]
before = set(sys.modules)
from slurmhooks.lua import library
lua = library.Lua(*lua)
module = library.load(lua)
new = set(sys.modules) - before
assert not new & {"functools", "collections", "collections.abc", "typing", "re", "lupa"}, new
runtime = module.LuaRuntime(encoding=None)

class Paths(dict): pass

from collections import ChainMap, abc
import functools
assert abc.Mapping is __import__("collections").abc.Mapping
table = runtime.table_from([1, 2]), runtime.table_from({b"a": 1}), runtime.table_from(ChainMap({b"b": 2}))
assert table[0][2] == 2 and table[1][b"a"] == 1 and table[2][b"b"] == 2
nested = runtime.table_from([(1, 2), ChainMap({b"c": 3}), {b"d": range(2)}], recursive=True)
assert nested[1][2] == 2 and nested[2][b"c"] == 3 and nested[3][b"d"][2] == 1
wrapped = module.unpacks_lua_table(lambda one, *, two: (one, two))
assert runtime.eval(b"function(f) return f{1, two = 2} end")(wrapped) == (1, 2)
print(functools.wraps(len)(lambda: 0).__name__)
"""


def test_lupa_comes_without_what_it_hardly_uses(tmp_path: Path) -> None:
    """lupa is loaded without functools and collections, which are imported when they are needed."""
    script = tmp_path / "lent.py"
    script.write_text(LENT)
    paths = [str(Path(__file__).parents[3]), *(path for path in sys.path if path.endswith("site-packages"))]
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(script), *paths, "|".join(finding.find("5.4").words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "len\n"), done.stderr


def test_a_command_is_a_file_of_lua(state: LuaState) -> None:
    """Functions for files work with pipes."""
    shown = run(
        state,
        "local p = io.popen('seq 3')\n"
        "io.input(p)\n"
        "local first, kind = io.read('*l'), type(p)\n"
        "local open = io.type(p)\n"
        "local number = p:read('*n')\n"
        "local ok = io.close(p)\n"
        "local _, again = pcall(function() local text = p:read('*a') return text end)\n"
        "local _, twice = pcall(function() local done = p:close() return done end)\n"
        "return first, kind, open, number, ok, io.type(p), again, twice, io.popen('nothing'):seek() == nil",
    )
    assert shown[:6] == (b"1", b"userdata", b"file", 2, True, b"closed file")
    assert shown[6] == b"/etc/site.lua:7: attempt to use a closed file"
    assert shown[7] == b"/etc/site.lua:8: attempt to use a closed file"
    assert shown[8]


def test_how_a_command_ended(state: LuaState) -> None:
    """From 5.2 on, close() and os.execute() return how a command ended; in 5.1 close() returns true."""
    source = "return {io.popen('exit 3'):close()}, {io.popen('kill -9 $$'):close()}, {os.execute('exit 3')}"
    results = [list(table.values()) for table in run(state, source)]
    if state.version.startswith(("5.1", "luajit")):
        assert results == [[True], [True], [768]]
        assert run(state, "return os.execute('kill -9 $$')") == 9
        assert run(state, "return os.execute()") == 1
    else:
        # The first result of each is nil, which a table's values leave out.
        assert results == [[b"exit", 3], [b"signal", 9], [b"exit", 3]]
        assert run(state, "return os.execute('true')") == (True, b"exit", 0)
        assert run(state, "return os.execute()") is True


def test_a_command_runs_beside_the_script(state: LuaState, tmp_path: Path) -> None:
    """Only close() waits for a command; without close(), the command still gets its input."""
    fifo = tmp_path / "fifo"
    run(state, f"os.execute('mkfifo {fifo}')")
    source = f"local p = io.popen('cat {fifo}')\nlocal q = io.open('{fifo}', 'w')\nq:write('beside') q:close()\n"
    assert run(state, source + "return p:read('*a')") == b"beside"
    run(state, f"io.popen('cat >{fifo}', 'w'):write('left')")
    run(state, "collectgarbage() collectgarbage()")
    assert fifo.read_text() == "left"


@pytest.mark.parametrize("call", ["os.execute({!r})", "io.popen({!r}):close()"])
def test_signals_of_commands(state: LuaState, tmp_path: Path, call: str) -> None:
    """Commands ignore no signal, as in Slurm's own plugins, although Python ignores two: a pipe without reader ends."""
    told = tmp_path / "told"
    run(state, "return " + call.format(f"grep -E 'Sig(Ign|Blk)' /proc/self/status > {told}"))
    masks = [int(line.split()[1], 16) for line in told.read_text().splitlines()]
    (own,) = (line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "SigIgn" in line)
    of_python = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
    assert masks == [0, int(own, 16) & ~of_python], "a shell ignores others for what it runs in the background"
    loop = f"(while echo y; do :; done; echo went on > {told}) 2>/dev/null | head -1 >/dev/null"
    run(state, "return " + call.format(loop))
    assert told.read_text() != "went on\n"


def test_globals_of_a_script_may_have_any_name(state: LuaState) -> None:
    """io.popen works if the script has replaced Lua's global functions."""
    taken = "debug, select, tostring, type, error, setmetatable, pairs = print, 1, 2, 3, 4, 5, 6\n"
    assert run(state, taken + "local p = io.popen('echo x')\nreturn p:read('*l'), (p:close())") == (b"x", True)


def test_the_shell_of_a_command_is_called_sh(state: LuaState) -> None:
    """The shell has the name sh, as with popen(3)."""
    assert run(state, "local p = io.popen('echo $0')\nreturn p:read('*l')") == b"sh"


def test_what_popen_refuses(state: LuaState) -> None:
    """A missing command and an invalid mode are errors with the messages of each Lua."""
    _, text = run(state, "return pcall(function() local p = io.popen() return p end)")
    assert text == b"/etc/site.lua:1: bad argument #1 to 'popen' (string expected, got no value)"
    result = run(state, "return pcall(function() local p, text = io.popen('true', 'x') return text end)")
    if state.version.startswith(("5.1", "5.2", "luajit")):
        assert result == (True, b"true: Invalid argument")
    else:
        assert result == (False, b"/etc/site.lua:1: bad argument #2 to 'popen' (invalid mode)")


def test_names_for_temporary_files(state: LuaState) -> None:
    """os.tmpname creates a file with an unpredictable name."""
    path = Path(to_text(run(state, "return os.tmpname()")))
    assert path.exists()
    assert path.stat().st_mode & 0o077 == 0
    path.unlink()


def test_what_distributions_leave_in(state: LuaState) -> None:
    """Functions of older versions exist, as in Lua built by its own Makefile."""
    if state.version == "5.2":
        source = "return unpack({1, 2}), loadstring('return 7')(), table.maxn({[9] = 1}), math.log10(1000)"
        assert run(state, source) == (1, 7, 9, pytest.approx(3))
        source = "module('site.part', package.seeall) value = type(print)\nreturn package.loaded['site.part'].value"
        assert run(state, source) == b"function"
    elif state.version in ("5.3", "5.4"):
        source = "return math.pow(2, 3), math.log10(100), math.atan2(1, 1), math.cosh(0), math.ldexp(0.5, 1024)"
        assert run(state, source) == (8.0, pytest.approx(2), pytest.approx(0.7853981), 1.0, 2.0**1023)
        source = "return math.sinh(1), math.tanh(-1), math.frexp(-12)"
        assert run(state, source) == (pytest.approx(1.1752012), pytest.approx(-0.7615942), -0.75, 4)
    if state.version in ("5.2", "5.3"):
        source = (
            "return bit32.band(0xF0, 0x3C), bit32.bor(1, 6), bit32.bxor(5, 1), bit32.bnot(0), bit32.btest(4, 6),"
            " bit32.lshift(1, 31), bit32.rshift(-1, 28), bit32.arshift(-8, 2), bit32.lrotate(0x80000001, 1),"
            " bit32.rrotate(1, 1), bit32.extract(0xABCD, 4, 8), bit32.replace(0, 15, 4, 4), bit32.lshift(1, 32)"
        )
        shown = (0x30, 7, 4, 2**32 - 1, True, 2**31, 15, 2**32 - 2, 3, 2**31, 0xBC, 0xF0, 0)
        assert run(state, source) == shown
