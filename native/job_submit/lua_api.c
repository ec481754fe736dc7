/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lua_api.h"

#include <dlfcn.h>

struct lua_api lua;

bool lua_api_use(const char *library, int upvalues)
{
    void *handle = dlopen(library, RTLD_NOW | (library ? RTLD_NOLOAD : 0));
    if (!handle)
        return false;
    struct lua_api found = {
        .isnumber = dlsym(handle, "lua_isnumber"),
        .tolstring = dlsym(handle, "lua_tolstring"),
        .tonumber = dlsym(handle, "lua_tonumber"),
        .tonumberx = dlsym(handle, "lua_tonumberx"),
        .pushnumber = dlsym(handle, "lua_pushnumber"),
        .pushstring = dlsym(handle, "lua_pushstring"),
        .pushvalue = dlsym(handle, "lua_pushvalue"),
        .pushcclosure = dlsym(handle, "lua_pushcclosure"),
        .gettable = dlsym(handle, "lua_gettable"),
        .call = dlsym(handle, "lua_call"),
        .callk = dlsym(handle, "lua_callk"),
        .upvalues = upvalues,
    };
    dlclose(handle);
    bool whole = found.isnumber && found.tolstring && (found.tonumber || found.tonumberx) && found.pushnumber &&
                 found.pushstring && found.pushvalue && found.pushcclosure && found.gettable &&
                 (found.call || found.callk);
    if (!whole || (lua.tolstring && lua.tolstring != found.tolstring))
        return false;
    lua = found;
    return true;
}
