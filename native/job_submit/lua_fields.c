/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lua_fields.h"

#include <string.h>

static const char *const kind_names[] = {"text", "number", "time", "tagged", "untagged", "flag"};

struct lua_name *lua_fields_slot(struct lua_fields *fields, const char *text)
{
    unsigned slot = 0;

    for (const char *at = text; *at; at++)
        slot = slot * 31 + (unsigned char)*at;
    for (slot %= LUA_NAMES; fields->names[slot].py_text; slot = (slot + 1) % LUA_NAMES)
        if (!strcmp(PyBytes_AS_STRING(fields->names[slot].py_text), text))
            break;
    return &fields->names[slot];
}

uint64_t lua_fields_number(const struct lua_member *member, const char *address)
{
    const char *at = address + member->offset;

    if (member->where == STAGED)
        return member->number;
    switch (member->size) {
    case 1: return *(const uint8_t *)at;
    case 2: return *(const uint16_t *)at;
    case 4: return *(const uint32_t *)at;
    default: return *(const uint64_t *)at;
    }
}

static void push_number(lua_State *L, const struct lua_name *name, uint64_t raw)
{
    uint64_t tag = lua_tag(name->member), no_val = tag - 2 + tag;

    switch (name->kind) {
    case TIME: lua.pushnumber(L, (double)(int64_t)raw); break;
    case FLAG: lua.pushnumber(L, !!(raw & name->flag)); break;
    case TAGGED:
    case UNTAGGED:
        if (raw == no_val || !(raw & tag) != (name->kind == UNTAGGED))
            lua.pushstring(L, NULL);
        else
            lua.pushnumber(L, (double)(raw & ~tag));
        break;
    default: lua.pushnumber(L, (double)raw);
    }
}

void lua_fields_push(lua_State *L, const struct lua_name *name, const char *address)
{
    const struct lua_member *member = name->member;

    if (member->is_text)
        lua.pushstring(L, member->where == STAGED ? member->text : *(char *const *)(address + member->offset));
    else
        push_number(L, name, lua_fields_number(member, address));
}

/* The member of a row, made if it is new. RET borrowed, or NULL with an exception. */
static struct lua_member *member_of(struct lua_fields *fields, const struct lua_member *wanted)
{
    PyObject *py_index = PyDict_GetItemWithError(fields->py_indices, wanted->py_name); /* borrowed */

    if (py_index)
        return &fields->members[PyLong_AsSsize_t(py_index)];
    py_index = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(fields->count);
    int rc = py_index ? PyDict_SetItem(fields->py_indices, wanted->py_name, py_index) : -1;
    Py_XDECREF(py_index);
    if (rc)
        return NULL;
    fields->members[fields->count] = *wanted;
    return &fields->members[fields->count++];
}

/* RET 0, or -1 with an exception. */
static int add(struct lua_fields *fields, PyObject *text, PyObject *row)
{
    struct lua_member member = {0};
    unsigned long long flag;
    const char *kind;
    int writable;

    if (!PyBytes_Check(text) || !PyTuple_Check(row)) {
        PyErr_SetString(PyExc_TypeError, "rows are tuples, by names in bytes");
        return -1;
    }
    if (!PyArg_ParseTuple(row, "sUnipK", &kind, &member.py_name, &member.offset, &member.size, &writable, &flag))
        return -1;
    struct lua_name *name = lua_fields_slot(fields, PyBytes_AS_STRING(text));
    for (name->kind = TEXT; name->kind < FLAG; name->kind++)
        if (!strcmp(kind, kind_names[name->kind]))
            break;
    member.is_text = name->kind == TEXT;
    name->member = member_of(fields, &member);
    name->flag = flag;
    name->writable = writable;
    name->py_text = name->member ? Py_NewRef(text) : NULL;
    return name->member ? 0 : -1;
}

int lua_fields_init(struct lua_fields *fields, PyObject *rows)
{
    PyObject *py_name, *py_row;
    Py_ssize_t position = 0;

    if (fields->members || PyDict_GET_SIZE(rows) > LUA_NAMES / 2) {
        PyErr_SetString(PyExc_ValueError, "made already, or too many names");
        return -1;
    }
    fields->py_indices = PyDict_New();
    fields->members = PyMem_Calloc((size_t)PyDict_GET_SIZE(rows) + 1, sizeof(*fields->members));
    if (!fields->py_indices || !fields->members) {
        PyErr_NoMemory();
        return -1;
    }
    while (PyDict_Next(rows, &position, &py_name, &py_row))
        if (add(fields, py_name, py_row))
            return -1;
    return 0;
}

void lua_fields_clear(struct lua_fields *fields)
{
    Py_CLEAR(fields->py_indices);
    for (size_t i = 0; i < LUA_NAMES; i++)
        Py_CLEAR(fields->names[i].py_text);
    PyMem_Free(fields->members);
    fields->members = NULL;
}
