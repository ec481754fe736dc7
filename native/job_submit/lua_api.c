/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lua_api.h"

#include <dlfcn.h>

struct lua_api lua;

static const struct {
    const char *name;
    size_t offset;
    size_t or_else; /* of another function that does as well; its own offset if there is none */
} functions[] = {
#define FUNCTION(name, other) {"lua_" #name, offsetof(struct lua_api, name), offsetof(struct lua_api, other)}
    FUNCTION(type, type),
    FUNCTION(isnumber, isnumber),
    FUNCTION(tolstring, tolstring),
    FUNCTION(tonumber, tonumberx),
    FUNCTION(tonumberx, tonumber),
    FUNCTION(pushnumber, pushnumber),
    FUNCTION(pushstring, pushstring),
    FUNCTION(pushvalue, pushvalue),
    FUNCTION(pushcclosure, pushcclosure),
    FUNCTION(gettable, gettable),
    FUNCTION(createtable, createtable),
    FUNCTION(setfield, setfield),
    FUNCTION(rawset, rawset),
    FUNCTION(setmetatable, setmetatable),
    FUNCTION(call, callk),
    FUNCTION(callk, call),
#undef FUNCTION
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

bool lua_api_use(const char *library, int upvalues)
{
    struct lua_api found = {.upvalues = upvalues};
    void *handle = dlopen(library, RTLD_NOW | (library ? RTLD_NOLOAD : 0));
    char *base = (char *)&found;

    if (!handle)
        return false;
    for (size_t i = 0; i < FUNCTIONS; i++)
        *(void **)(base + functions[i].offset) = dlsym(handle, functions[i].name);
    dlclose(handle);
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (!*(void **)(base + functions[i].offset) && !*(void **)(base + functions[i].or_else))
            return false;
    if (lua.tolstring && lua.tolstring != found.tolstring)
        return false;
    lua = found;
    return true;
}
