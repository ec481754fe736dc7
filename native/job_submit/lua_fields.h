/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of a struct by the names that Lua has for them, for lua.c and lua_partitions.c. */
#ifndef SLURMHOOKS_LUA_FIELDS_H
#define SLURMHOOKS_LUA_FIELDS_H

#include "lua_api.h"
#include "view.h"

/* More than twice the names that there are: a power of two. */
#define LUA_NAMES 256

/* Where the value of a member is; HIDDEN: what is staged is nothing that C can show. */
enum where { IN_STRUCT, STAGED, HIDDEN };

struct lua_member {
    PyObject *py_name;
    Py_ssize_t offset;
    int size;
    bool is_text;
    enum where where;
    uint64_t number;
    char *text;              /* ours; NULL is Slurm's NULL */
    struct lua_member *next; /* that is not IN_STRUCT */
};

/* What Lua gets. TAGGED, UNTAGGED: the number if its highest bit is, or is not, set; FLAG: 1 or 0. */
enum lua_kind { TEXT, NUMBER, TIME, TAGGED, UNTAGGED, FLAG };

/* A name of Lua's: some members have several. */
struct lua_name {
    PyObject *py_text; /* bytes; NULL: a free slot */
    struct lua_member *member;
    enum lua_kind kind;
    uint64_t flag;
    int writable;
};

struct lua_fields {
    PyObject *py_indices; /* by member */
    struct lua_member *members;
    Py_ssize_t count;
    struct lua_name names[LUA_NAMES];
};

/*
 * Take rows (kind, member, offset, size, writable, flag), by names in bytes.
 * RET 0, or -1 with an exception
 */
int lua_fields_init(struct lua_fields *fields, PyObject *rows);

void lua_fields_clear(struct lua_fields *fields);

/* The slot of a name, or the free one where it belongs. */
struct lua_name *lua_fields_slot(struct lua_fields *fields, const char *text);

/* The number in a member that is not HIDDEN. IN address - of the struct */
uint64_t lua_fields_number(const struct lua_member *member, const char *address);

/* Give Lua the value of a member that is not HIDDEN. IN address - of the struct */
void lua_fields_push(lua_State *L, const struct lua_name *name, const char *address);

/* The bit that tells two meanings of a member apart. */
static inline uint64_t lua_tag(const struct lua_member *member)
{
    return (uint64_t)1 << (member->size * 8 - 1);
}

#endif
