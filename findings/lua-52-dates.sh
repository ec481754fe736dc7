#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `os.date("%F %T")`, the usual way to write a time into a log, works in Debian's Lua 5.2 and is an error in the Lua 5.2 of
# lupa's wheel, as is `string.format("%a", 1)`. Lua 5.2 takes the letters of dates from a list that depends on how it was
# built (LUA_USE_POSIX; LUA_USE_AFORMAT for %a), so two builds of one version accept different scripts. lupa's 5.3 and
# 5.4 accept both.
# For: whoever runs scripts of a cluster under a Lua that was not built by the distribution.
# shellcheck source=lib/plain.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/plain.bash"

pip_install lupa==2.8
deb_unpack lua5.2=5.2.4-3 liblua5.2-0=5.2.4-3
cat >"$work/dates.lua" <<'LUA'
local function try(f, ...)
    local ok, result = pcall(f, ...)
    return ok and result or "error"
end
return try(os.date, "!%F %T", 0) .. ", " .. try(string.format, "%a", 1)
LUA
libraries=$(dirname "$(find "$work/debs" -name 'liblua5.2.so.0')")
expect "Debian's 5.2" "1970-01-01 00:00:00, 0x1p+0" \
    "$(LD_LIBRARY_PATH=$libraries "$work/debs/usr/bin/lua5.2" -e "print((dofile('$work/dates.lua')))")"
for version in 52 53 54; do
    expected="1970-01-01 00:00:00, 0x1p+0"
    [[ $version != 52 ]] || expected="error, error"
    expect "lupa's $version" "$expected" \
        "$("$work/venv/bin/python" -c "
import importlib, sys
print(importlib.import_module('lupa.lua$version').LuaRuntime().execute(open(sys.argv[1]).read()))" "$work/dates.lua")"
done
finish
