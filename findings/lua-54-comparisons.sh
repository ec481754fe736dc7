#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two builds of Lua 5.4 disagree about `a <= b`. Debian's lua5.4, which Slurm loads, is built with LUA_COMPAT_5_3, and so
# takes `not (b < a)` for objects whose metatable has __lt but no __le, as Lua 5.1 to 5.3 did. The Lua 5.4 inside the
# wheel of lupa, a bridge from Python, is built without, and ends with "attempt to compare two table values". The version
# number is the same, and nothing that a script can ask tells the builds apart. Small classes for versions, dates and
# sizes usually define __lt alone.
# For: whoever tests job_submit.lua or cli_filter.lua outside of Slurm, or embeds Lua beside it.
# shellcheck source=lib/plain.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/plain.bash"

pip_install lupa==2.8
deb_unpack lua5.4=5.4.4-3+deb12u1 liblua5.4-0=5.4.4-3+deb12u1
cat >"$work/compare.lua" <<'LUA'
local meta = { __lt = function(a, b) return a.value < b.value end }
local a, b = setmetatable({ value = 1 }, meta), setmetatable({ value = 2 }, meta)
local ok, result = pcall(function() return a <= b end)
return _VERSION .. ", a <= b: " .. (ok and tostring(result) or tostring(result):gsub("^.-: ", ""))
LUA
libraries=$(dirname "$(find "$work/debs" -name 'liblua5.4.so.0')")
expect "Debian's" "Lua 5.4, a <= b: true" \
    "$(LD_LIBRARY_PATH=$libraries "$work/debs/usr/bin/lua5.4" -e "print((dofile('$work/compare.lua')))")"
expect "lupa's" "Lua 5.4, a <= b: attempt to compare two table values" \
    "$("$work/venv/bin/python" -c "
import lupa.lua54, sys
print(lupa.lua54.LuaRuntime().execute(open(sys.argv[1]).read()))" "$work/compare.lua")"
finish
