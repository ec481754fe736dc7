# SPDX-License-Identifier: GPL-2.0-or-later
"""Run snippets in a Lua, and print one line for each.

usage: machines.py VERSION PATH|-|lupa, with the snippets as JSON on standard input. PATH: in this liblua, without
slurmhooks and lupa; "-": as slurmhooks runs scripts; "lupa": the same, as if the machine had no liblua.
"""

import ctypes
import json
import sys

HARNESS = """
local function show(value)
   if type(value) == "number" then return (math.type and math.type(value) or "number") .. (" %.17g"):format(value) end
   local plain = type(value) == "string" or type(value) == "boolean" or type(value) == "nil"
   return plain and ("%q"):format(tostring(value)) or type(value)
end
local function shown(ok, ...)
   local parts = { ok and "results" or "error" }
   for i = 1, select("#", ...) do parts[#parts + 1] = show((select(i, ...))) end
   return (table.concat(parts, ", "):gsub("\\n", "|"))
end
local lines = {}
local function add(source)
   local run, reason = (loadstring or load)(source, "=s")
   lines[#lines + 1] = run and shown(pcall(run)) or "compile " .. reason
end
"""


def program(snippets: list[str]) -> bytes:
    """Return a chunk that runs all snippets and returns their lines."""
    calls = "".join(f"add [=====[{snippet}]=====]\n" for snippet in snippets)
    return f"{HARNESS}{calls}return table.concat(lines, '\\n')".encode()


def plain(version: str, path: str, chunk: bytes) -> bytes:
    """Run a chunk in a liblua."""
    lua = ctypes.CDLL(path)
    lua.luaL_newstate.restype = ctypes.c_void_p
    lua.lua_tolstring.restype = ctypes.c_char_p
    state = ctypes.c_void_p(lua.luaL_newstate())
    if version == "5.5":
        lua.luaL_openselectedlibs(state, -1, 0)  # luaL_openlibs is a macro there
    else:
        lua.luaL_openlibs(state)
    code = lua.luaL_loadstring(state, chunk)
    if not code and version == "5.1":
        code = lua.lua_pcall(state, 0, 1, 0)
    elif not code:
        code = lua.lua_pcallk(state, 0, 1, 0, ctypes.c_ssize_t(0), None)
    text = lua.lua_tolstring(state, -1, None)
    assert not code, text
    return bytes(text)


def main(version: str, which: str) -> None:
    """Print the lines of the snippets."""
    chunk = program(json.load(sys.stdin))
    if which not in ("-", "lupa"):
        lines = plain(version, which, chunk)
    else:
        from slurmhooks.lua import finding
        from slurmhooks.lua.runtime import LuaState

        lua = finding.find(version)
        lua.own = lua.own if which == "-" else ""
        state = LuaState(lua)
        lines = state.call(state.compile(chunk.decode(), "=s"))
    sys.stdout.buffer.write(lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
