/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run a Lua script that sets `seconds` and print it; the root file systems have Lua's library, but no interpreter. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    lua_State *lua = luaL_newstate();

    if (argc != 2 || !lua)
        return 2;
    luaL_openlibs(lua);
    if (luaL_dostring(lua, argv[1])) {
        fprintf(stderr, "%s\n", lua_tostring(lua, -1));
        return 1;
    }
    lua_getglobal(lua, "seconds");
    printf("%g\n", (double)lua_tonumber(lua, -1));
    return 0;
}
