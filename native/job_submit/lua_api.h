/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few functions of Lua that lua.c calls.
 *
 * Scripts run in the Lua of lupa's module, in a version that the site chooses; so they are looked up there, and the
 * header of one version is of no use. What is declared here fits all of them, but for the two that have got
 * another name.
 */
#ifndef SLURMHOOKS_LUA_API_H
#define SLURMHOOKS_LUA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lua_State lua_State;
typedef int (*lua_CFunction)(lua_State *);

struct lua_api {
    int (*type)(lua_State *L, int index);
    int (*isnumber)(lua_State *L, int index);
    const char *(*tolstring)(lua_State *L, int index, size_t *length);
    double (*tonumber)(lua_State *L, int index);                  /* 5.1 */
    double (*tonumberx)(lua_State *L, int index, int *is_number); /* since 5.2 */
    void (*pushnumber)(lua_State *L, double value);
    void (*pushstring)(lua_State *L, const char *text); /* nil for NULL */
    void (*pushvalue)(lua_State *L, int index);
    void (*pushcclosure)(lua_State *L, lua_CFunction function, int upvalues);
    void (*gettable)(lua_State *L, int index);
    void (*createtable)(lua_State *L, int items, int fields);
    void (*setfield)(lua_State *L, int index, const char *name);
    void (*rawset)(lua_State *L, int index);
    int (*setmetatable)(lua_State *L, int index);
    void (*call)(lua_State *L, int arguments, int results);                                                /* 5.1 */
    void (*callk)(lua_State *L, int arguments, int results, intptr_t context, lua_CFunction continuation); /* since */
    int upvalues; /* lua_upvalueindex(0) */
};

#define LUA_TSTRING 4

extern struct lua_api lua;

/*
 * Look the functions up.
 * IN library - the file that has them, which is loaded already; NULL: those that everybody in this process finds
 * IN upvalues - lua_upvalueindex(0) of its version
 * RET false: it does not have them all, or they are another Lua's than those that are used already
 */
bool lua_api_use(const char *library, int upvalues);

static inline int lua_upvalue(int number)
{
    return lua.upvalues - number;
}

static inline double lua_number(lua_State *L, int index)
{
    return lua.tonumberx ? lua.tonumberx(L, index, NULL) : lua.tonumber(L, index);
}

static inline void lua_run(lua_State *L, int arguments, int results)
{
    if (lua.callk)
        lua.callk(L, arguments, results, 0, NULL);
    else
        lua.call(L, arguments, results);
}

#endif
