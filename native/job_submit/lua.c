/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lua: a request as a Lua script reads and writes it (slurmhooks.lua.job_submit).
 *
 * Lua gets what is in the struct: texts, and numbers as doubles, NO_VAL too. Those, and the environment, are nearly all
 * that scripts ask for: Lua's metamethods read and stage them here, without Python and so without its lock. The rest,
 * and all that has to be explained, they hand on to Python, which calls sync() before it looks at the request, and
 * begin() after it has written to it.
 */
#include "lua_api.h"
#include "view.h"

#include <string.h>

/* More than twice the names that there are: a power of two. */
#define SLOTS 256

/* What a double holds exactly. */
#define EXACT ((uint64_t)1 << 53)

enum kind { TEXT, NUMBER, TIME };

/* Where the value of a member is; HIDDEN: what is staged is nothing that this side can show. */
enum where { IN_STRUCT, STAGED, HIDDEN };

struct member {
    PyObject *py_name;
    Py_ssize_t offset;
    int kind;
    int size;
    enum where where;
    uint64_t number;
    char *text;          /* ours; NULL is Slurm's NULL */
    struct member *next; /* that is not IN_STRUCT */
};

/* A name of Lua's: some members have two. */
struct name {
    PyObject *py_text; /* bytes; NULL: a free slot */
    struct member *member;
    int writable;
};

struct lua {
    PyObject_HEAD struct view *view; /* of the running call, or NULL */
    PyObject *py_indices;            /* by member */
    struct member *members;
    Py_ssize_t count;
    struct member *staged; /* the first one, in no order */
    struct name names[SLOTS];
    struct array_place environment;
    bool as_sent; /* no handler has changed the environment */
};

/* The one whose call it is: events run one at a time. */
static struct lua *running;

/* What the metamethods have as upvalues. */
enum { REQUEST = 1, WRITE, VARIABLES, ENVIRONMENT, UPVALUES = ENVIRONMENT };

/* The slot of a name, or the free one where it belongs. */
static struct name *slot_of(struct lua *self, const char *text)
{
    unsigned slot = 0;

    for (const char *at = text; *at; at++)
        slot = slot * 31 + (unsigned char)*at;
    for (slot %= SLOTS; self->names[slot].py_text; slot = (slot + 1) % SLOTS)
        if (!strcmp(PyBytes_AS_STRING(self->names[slot].py_text), text))
            break;
    return &self->names[slot];
}

static uint64_t largest(const struct member *member)
{
    return member->size == 8 ? EXACT : ((uint64_t)1 << (member->size * 8)) - 1;
}

static double load(const struct member *member, const char *at)
{
    if (member->kind == TIME)
        return (double)*(const int64_t *)at;
    switch (member->size) {
    case 1: return *(const uint8_t *)at;
    case 2: return *(const uint16_t *)at;
    case 4: return *(const uint32_t *)at;
    default: return (double)*(const uint64_t *)at;
    }
}

static void stage(struct lua *self, struct member *member, enum where where, uint64_t number, char *text)
{
    if (member->where == IN_STRUCT) {
        member->next = self->staged;
        self->staged = member;
    }
    free(member->text);
    member->where = where;
    member->number = number;
    member->text = text;
}

/* Forget what is staged here. */
static void forget(struct lua *self)
{
    for (; self->staged; self->staged = self->staged->next) {
        self->staged->where = IN_STRUCT;
        free(self->staged->text);
        self->staged->text = NULL;
    }
}

/* What Python finds. RET 0, or -1 with an exception. */
static int hand_over(struct lua *self)
{
    for (struct member *member = self->staged; member; member = member->next) {
        if (member->where == HIDDEN)
            continue;
        PyObject *py_raw = member->kind != TEXT ? PyLong_FromUnsignedLongLong(member->number)
                           : member->text       ? PyBytes_FromString(member->text)
                                                : Py_NewRef(Py_None);
        PyObject *py_writes = view_writes(self->view); /* borrowed */
        int rc = py_raw && py_writes ? PyDict_SetItem(py_writes, member->py_name, py_raw) : -1;
        Py_XDECREF(py_raw);
        if (rc)
            return -1;
    }
    return 0;
}

/* Take over a value that Python has staged. RET 0, or -1 with an exception. */
static int take(struct lua *self, struct member *member, PyObject *raw)
{
    if (member->kind == TEXT && (raw == Py_None || PyBytes_Check(raw))) {
        char *text = raw == Py_None ? NULL : strdup(PyBytes_AS_STRING(raw));
        if (raw != Py_None && !text) {
            PyErr_NoMemory();
            return -1;
        }
        stage(self, member, STAGED, 0, text);
        return 0;
    }
    uint64_t number = member->kind != TEXT && PyLong_Check(raw) ? PyLong_AsUnsignedLongLong(raw) : UINT64_MAX;
    bool is_shown = number != UINT64_MAX;
    PyErr_Clear();
    stage(self, member, is_shown ? STAGED : HIDDEN, number, NULL);
    return 0;
}

static int take_all(struct lua *self)
{
    PyObject *py_member, *py_raw, *py_writes = self->view->py_writes;
    Py_ssize_t position = 0;

    while (py_writes && PyDict_Next(py_writes, &position, &py_member, &py_raw)) {
        PyObject *py_index = PyDict_GetItemWithError(self->py_indices, py_member); /* borrowed */
        if (py_index ? take(self, &self->members[PyLong_AsSsize_t(py_index)], py_raw) : !!PyErr_Occurred())
            return -1;
    }
    return 0;
}

/* __index of a request. */
static int request_index(lua_State *L)
{
    const char *text = running ? lua.tolstring(L, 2, NULL) : NULL;
    const struct name *name = text ? slot_of(running, text) : NULL;
    const struct member *member = name ? name->member : NULL;

    if (name && name->py_text && !member) {
        lua.pushvalue(L, lua_upvalue(ENVIRONMENT));
    } else if (!member || member->where == HIDDEN) {
        lua.pushvalue(L, lua_upvalue(REQUEST));
        lua.pushvalue(L, 2);
        lua.gettable(L, -2);
    } else {
        const char *at = running->view->address + member->offset;
        bool staged = member->where == STAGED;
        if (member->kind == TEXT)
            lua.pushstring(L, staged ? member->text : *(char *const *)at);
        else
            lua.pushnumber(L, staged ? (double)member->number : load(member, at));
    }
    return 1;
}

/* Stage what Lua assigns. RET false: Python must look at it. */
static bool assign(lua_State *L, struct member *member)
{
    if (member->kind == TEXT) {
        const char *text = lua.tolstring(L, 3, NULL);
        char *copy = text && *text ? strdup(text) : NULL;
        if (!text || (*text && !copy))
            return false;
        stage(running, member, STAGED, 0, copy);
        return true;
    }
    double value = lua.isnumber(L, 3) ? lua_number(L, 3) : -1;
    if (!(value >= 0 && value <= (double)largest(member)))
        return false;
    stage(running, member, STAGED, (uint64_t)value, NULL);
    return true;
}

/* __newindex of a request. */
static int request_newindex(lua_State *L)
{
    const char *text = running ? lua.tolstring(L, 2, NULL) : NULL;
    const struct name *name = text ? slot_of(running, text) : NULL;

    if (name && name->writable && assign(L, name->member))
        return 0;
    lua.pushvalue(L, lua_upvalue(WRITE));
    for (int argument = 1; argument <= 3; argument++)
        lua.pushvalue(L, argument);
    lua_run(L, 3, 0);
    return 0;
}

/* __index of its environment. */
static int variable_index(lua_State *L)
{
    const char *name = running && running->as_sent ? lua.tolstring(L, 2, NULL) : NULL;

    if (name && array_is_there(running->view->address, &running->environment)) {
        lua.pushstring(L, array_find(running->view->address, &running->environment, name, strlen(name)));
    } else {
        lua.pushvalue(L, lua_upvalue(VARIABLES));
        lua.pushvalue(L, 2);
        lua.gettable(L, -2);
    }
    return 1;
}

/* For Lua's package.loadlib(): called with the upvalues, it returns the three metamethods. */
__attribute__((visibility("default"))) int slurmhooks_metamethods(lua_State *L)
{
    static const lua_CFunction functions[] = {request_index, request_newindex, variable_index};

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        for (int upvalue = 1; upvalue <= UPVALUES; upvalue++)
            lua.pushvalue(L, upvalue);
        lua.pushcclosure(L, functions[i], UPVALUES);
    }
    return sizeof(functions) / sizeof(functions[0]);
}

static PyObject *lua_begin(PyObject *object, PyObject *view)
{
    struct lua *self = (struct lua *)object;

    if (!PyObject_TypeCheck(view, &request_type)) {
        PyErr_SetString(PyExc_TypeError, "a request is a Request");
        return NULL;
    }
    forget(self);
    Py_XSETREF(self->view, (struct view *)Py_NewRef(view));
    self->as_sent = !variables_changed(((struct request *)view)->py_environment);
    running = NULL;
    if (take_all(self))
        return NULL;
    running = self->view->address ? self : NULL;
    Py_RETURN_NONE;
}

static PyObject *lua_sync(PyObject *object, PyObject *ignored)
{
    (void)ignored;
    if (hand_over((struct lua *)object))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *lua_end(PyObject *object, PyObject *ignored)
{
    struct lua *self = (struct lua *)object;
    int rc = hand_over(self);

    (void)ignored;
    running = NULL;
    forget(self);
    Py_CLEAR(self->view);
    if (rc)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *lua_use(PyObject *ignored, PyObject *arguments)
{
    const char *library;
    int upvalues;

    (void)ignored;
    if (!PyArg_ParseTuple(arguments, "zi", &library, &upvalues))
        return NULL;
    return PyBool_FromLong(lua_api_use(library, upvalues));
}

/* The member of a row (kind, member, offset, size, writable). RET borrowed, or NULL with an exception. */
static struct member *member_of(struct lua *self, PyObject *row, int *writable)
{
    struct member *member = &self->members[self->count];
    const char *kind;

    if (!PyArg_ParseTuple(row, "sUnip", &kind, &member->py_name, &member->offset, &member->size, writable))
        return NULL;
    PyObject *py_index = PyDict_GetItemWithError(self->py_indices, member->py_name); /* borrowed */
    if (py_index)
        return &self->members[PyLong_AsSsize_t(py_index)];
    py_index = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(self->count);
    int rc = py_index ? PyDict_SetItem(self->py_indices, member->py_name, py_index) : -1;
    Py_XDECREF(py_index);
    if (rc)
        return NULL;
    member->kind = !strcmp(kind, "text") ? TEXT : !strcmp(kind, "time") ? TIME : NUMBER;
    self->count++;
    return member;
}

/* RET 0, or -1 with an exception. */
static int add_name(struct lua *self, PyObject *text, struct member *member, int writable)
{
    struct name *name = slot_of(self, PyBytes_AS_STRING(text));

    if (name->py_text) {
        PyErr_Format(PyExc_ValueError, "%R stands twice", text);
        return -1;
    }
    *name = (struct name){Py_NewRef(text), member, writable};
    return 0;
}

static int lua_init(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"rows", "environment", "array", "count", NULL};
    struct lua *self = (struct lua *)object;
    PyObject *py_rows, *py_environment, *py_name, *py_row;
    Py_ssize_t position = 0;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!Snn", names, &PyDict_Type, &py_rows, &py_environment,
                                     &self->environment.array, &self->environment.count))
        return -1;
    if (self->members || PyDict_GET_SIZE(py_rows) > SLOTS / 2) {
        PyErr_SetString(PyExc_ValueError, "made already, or too many names");
        return -1;
    }
    self->py_indices = PyDict_New();
    self->members = PyMem_Calloc((size_t)PyDict_GET_SIZE(py_rows) + 1, sizeof(*self->members));
    if (!self->py_indices || !self->members) {
        PyErr_NoMemory();
        return -1;
    }
    while (PyDict_Next(py_rows, &position, &py_name, &py_row)) {
        int writable = 0;
        struct member *member =
            PyBytes_Check(py_name) && PyTuple_Check(py_row) ? member_of(self, py_row, &writable) : NULL;
        if (!member || add_name(self, py_name, member, writable)) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_TypeError, "rows are tuples, by names in bytes");
            return -1;
        }
    }
    return add_name(self, py_environment, NULL, 0);
}

static void lua_dealloc(PyObject *object)
{
    struct lua *self = (struct lua *)object;

    if (running == self)
        running = NULL;
    forget(self);
    Py_CLEAR(self->view);
    Py_CLEAR(self->py_indices);
    for (size_t i = 0; i < SLOTS; i++)
        Py_CLEAR(self->names[i].py_text);
    PyMem_Free(self->members);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef lua_methods[] = {
    {"begin", lua_begin, METH_O, "Read and write this request from now on, with what is staged for it."},
    {"sync", lua_sync, METH_NOARGS, "Have the request know what the script has written."},
    {"end", lua_end, METH_NOARGS, "Do that, and read and write none from now on."},
    {"use", lua_use, METH_VARARGS | METH_STATIC,
     "use(library, upvalues): look the functions of Lua up; False if that is not possible."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject lua_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_slurmhooks_view.Lua",
    .tp_doc = "Lua(rows, environment, array, count): requests as a Lua script reads and writes them.",
    .tp_basicsize = sizeof(struct lua),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = lua_init,
    .tp_dealloc = lua_dealloc,
    .tp_methods = lua_methods,
};
