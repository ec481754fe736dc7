/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Partitions as a Lua script reads them: found where slurmctld has them, when the script asks. What has to be
 * explained, and all that is asked for after its call, goes to Python.
 */
#include "lua_partitions.h"

#include "lua_fields.h"

static struct lua_fields fields;
static Py_ssize_t name_offset;
/* slurmctld_lists.h, in a module of its own: slurmctld's private structs are known there alone. */
static void *(*find)(const char *name, uint32_t owner, uint32_t uid);
static int (*fill)(void **items, int size, uint32_t owner, uint32_t uid);

/* For everything(): kept, because an error in Lua leaves a function of C without warning. */
static void **items;
static int size;

/* What the functions of one partition have as upvalues; those of the list have REST alone. */
enum { REST = 1, ADDRESS, CALL };

/* Ask Python. IN address - 0: it was used after its call */
static int ask(lua_State *L, double address)
{
    lua.pushvalue(L, lua_upvalue(REST));
    lua.pushvalue(L, 2);
    lua.pushnumber(L, address);
    lua_run(L, 2, 1);
    return 1;
}

/* __index of a partition. */
static int partition_index(lua_State *L)
{
    double address = lua_number(L, lua_upvalue(ADDRESS));
    bool over = lua_number(L, lua_upvalue(CALL)) != (double)lua_call_number();
    const char *text = over ? NULL : lua.tolstring(L, 2, NULL);
    const struct lua_name *name = text ? lua_fields_slot(&fields, text) : NULL;

    if (!name || !name->member)
        return ask(L, over ? 0 : address);
    lua_fields_push(L, name, (const char *)(uintptr_t)address);
    return 1;
}

/* Put a table that reads a partition on the stack. */
static void push(lua_State *L, void *partition)
{
    lua.createtable(L, 0, 0);
    lua.createtable(L, 0, 1);
    lua.pushvalue(L, lua_upvalue(REST));
    /* A number holds it in every Lua; LuaJIT's light userdata do not. */
    lua.pushnumber(L, (double)(uintptr_t)partition);
    lua.pushnumber(L, (double)lua_call_number());
    lua.pushcclosure(L, partition_index, CALL);
    lua.setfield(L, -2, "__index");
    lua.pushvalue(L, -2); /* for _get_part_rec_field() */
    lua.setfield(L, -2, "_part_rec_ptr");
    lua.setmetatable(L, -2);
}

/* __index of the list. */
static int list_index(lua_State *L)
{
    const char *name = lua.type(L, 2) == LUA_TSTRING ? lua.tolstring(L, 2, NULL) : NULL;
    uint32_t owner, uid;

    if (!lua_whose_call(&owner, &uid))
        return ask(L, 0);
    void *partition = name ? find(name, owner, uid) : NULL;
    if (partition)
        push(L, partition);
    else
        lua.pushstring(L, NULL);
    return 1;
}

/* All of the list: a new table, filled in slurmctld's order, on which that of pairs() depends. */
static int list_all(lua_State *L)
{
    uint32_t owner, uid;

    if (!lua_whose_call(&owner, &uid))
        return ask(L, 0);
    int count = fill(items, size, owner, uid);
    if (count > size) {
        slurm_xfree((void **)&items);
        items = slurm_xcalloc((size_t)count, sizeof(*items), true, false, __FILE__, __LINE__, __func__);
        size = count;
        fill(items, size, owner, uid);
    }
    lua.createtable(L, 0, 0);
    for (int i = 0; i < count; i++) {
        lua.pushstring(L, *(char **)((char *)items[i] + name_offset));
        push(L, items[i]);
        lua.rawset(L, -3);
    }
    return 1;
}

/* For Lua's package.loadlib(): called with REST, it returns the list's __index, and the function that returns all. */
__attribute__((visibility("default"))) int slurmhooks_partitions(lua_State *L)
{
    static const lua_CFunction functions[] = {list_index, list_all};

    if (!find)
        return 0;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        lua.pushvalue(L, 1);
        lua.pushcclosure(L, functions[i], REST);
    }
    return sizeof(functions) / sizeof(functions[0]);
}

int lua_partitions_use(PyObject *arguments)
{
    PyObject *py_rows, *py_find, *py_fill;

    if (find)
        return 0;
    if (!PyArg_ParseTuple(arguments, "O!nOO", &PyDict_Type, &py_rows, &name_offset, &py_find, &py_fill))
        return -1;
    void *found_find = PyLong_AsVoidPtr(py_find), *found_fill = PyLong_AsVoidPtr(py_fill);
    if (PyErr_Occurred() || lua_fields_init(&fields, py_rows))
        return -1;
    *(void **)&fill = found_fill;
    *(void **)&find = found_find;
    return 0;
}
