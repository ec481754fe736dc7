/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lua: a request as a Lua script reads and writes it (slurmhooks.lua.job_submit).
 *
 * Lua gets what is in the struct: bytes, and numbers as doubles, NO_VAL too. Text and unsigned numbers, which is nearly
 * all that scripts ask for, need no frame of Python; the rest, and all that has to be explained, is Python's.
 */
#include "view.h"

#include <string.h>

enum kind { TEXT, NUMBER, TIME };

struct place {
    PyObject *py_member;
    Py_ssize_t offset;
    int kind;
    int size;
    int writable;
};

struct lua {
    PyObject_HEAD struct view *view; /* of the running call, or NULL */
    PyObject *py_indices;            /* by name in bytes, where it is in places */
    PyObject *py_rest;               /* rest(name): what stands in none of the places */
    PyObject *py_write;              /* write(name, value): likewise */
    struct place *places;
    Py_ssize_t count;
};

static uint64_t largest(const struct place *place)
{
    return place->size == 8 ? UINT64_MAX : ((uint64_t)1 << (place->size * 8)) - 1;
}

static double load(const struct place *place, const char *at)
{
    if (place->kind == TIME)
        return (double)*(const int64_t *)at;
    switch (place->size) {
    case 1: return *(const uint8_t *)at;
    case 2: return *(const uint16_t *)at;
    case 4: return *(const uint32_t *)at;
    default: return (double)*(const uint64_t *)at;
    }
}

/* RET borrowed index of a name's place, or -1: it has none, or the call is over. */
static Py_ssize_t find(const struct lua *lua, PyObject *name)
{
    if (!lua->view || !lua->view->address || !PyBytes_CheckExact(name))
        return -1;
    PyObject *py_index = PyDict_GetItemWithError(lua->py_indices, name); /* borrowed */
    return py_index ? PyLong_AsSsize_t(py_index) : -1;
}

static PyObject *lua_read(PyObject *self, PyObject *name)
{
    struct lua *lua = (struct lua *)self;
    Py_ssize_t index = find(lua, name);

    if (index < 0)
        return PyErr_Occurred() ? NULL : PyObject_CallOneArg(lua->py_rest, name);
    const struct place *place = &lua->places[index];
    const char *at = lua->view->address + place->offset;
    PyObject *py_writes = lua->view->py_writes; /* borrowed, like what is in it */
    PyObject *py_raw =
        py_writes && PyDict_GET_SIZE(py_writes) ? PyDict_GetItemWithError(py_writes, place->py_member) : NULL;

    if (!py_raw && PyErr_Occurred())
        return NULL;
    if (place->kind == TEXT) {
        if (py_raw)
            return Py_NewRef(py_raw);
        const char *text = *(char *const *)at;
        return text ? PyBytes_FromString(text) : Py_NewRef(Py_None);
    }
    return py_raw ? PyNumber_Float(py_raw) : PyFloat_FromDouble(load(place, at));
}

/* What to stage for a value. RET new, or NULL without an exception: Python must look at it. */
static PyObject *encode(const struct place *place, PyObject *value)
{
    if (place->kind == TEXT) {
        if (!PyBytes_CheckExact(value) || memchr(PyBytes_AS_STRING(value), 0, (size_t)PyBytes_GET_SIZE(value)))
            return NULL;
        return Py_NewRef(PyBytes_GET_SIZE(value) ? value : Py_None);
    }
    if (!PyLong_CheckExact(value))
        return NULL;
    unsigned long long raw = PyLong_AsUnsignedLongLong(value);
    if (raw == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        return NULL;
    }
    return raw <= largest(place) ? Py_NewRef(value) : NULL;
}

static PyObject *lua_write(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    struct lua *lua = (struct lua *)self;
    Py_ssize_t index = count == 2 ? find(lua, arguments[0]) : -1;

    if (PyErr_Occurred())
        return NULL;
    PyObject *py_raw = index >= 0 && lua->places[index].writable ? encode(&lua->places[index], arguments[1]) : NULL;
    if (!py_raw)
        return PyObject_Vectorcall(lua->py_write, arguments, (size_t)count, NULL);
    PyObject *py_writes = view_writes(lua->view); /* borrowed */
    int rc = py_writes ? PyDict_SetItem(py_writes, lua->places[index].py_member, py_raw) : -1;
    Py_DECREF(py_raw);
    if (rc)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *lua_begin(PyObject *self, PyObject *view)
{
    if (!PyObject_TypeCheck(view, &view_type)) {
        PyErr_SetString(PyExc_TypeError, "a request is a view");
        return NULL;
    }
    Py_XSETREF(((struct lua *)self)->view, (struct view *)Py_NewRef(view));
    Py_RETURN_NONE;
}

static PyObject *lua_end(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    Py_CLEAR(((struct lua *)self)->view);
    Py_RETURN_NONE;
}

/* One of the places, from (kind, member, offset, size, writable). RET 0 or -1. */
static int add_place(struct lua *lua, PyObject *name, PyObject *row)
{
    struct place *place = &lua->places[lua->count];
    PyObject *py_index = PyLong_FromSsize_t(lua->count);
    const char *kind;
    int rc = -1;

    if (py_index && PyBytes_Check(name) && PyTuple_Check(row) &&
        PyArg_ParseTuple(row, "sUnip", &kind, &place->py_member, &place->offset, &place->size, &place->writable)) {
        place->kind = !strcmp(kind, "text") ? TEXT : !strcmp(kind, "time") ? TIME : NUMBER;
        Py_INCREF(place->py_member);
        PyUnicode_InternInPlace(&place->py_member);
        lua->count++;
        rc = PyDict_SetItem(lua->py_indices, name, py_index);
    }
    Py_XDECREF(py_index);
    if (rc && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "rows are tuples, by names in bytes");
    return rc;
}

static int lua_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"rows", "rest", "write", NULL};
    struct lua *lua = (struct lua *)self;
    PyObject *py_rows, *py_rest, *py_write, *py_name, *py_row;
    Py_ssize_t position = 0;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!OO", names, &PyDict_Type, &py_rows, &py_rest, &py_write))
        return -1;
    if (lua->places) {
        PyErr_SetString(PyExc_TypeError, "made already");
        return -1;
    }
    lua->py_indices = PyDict_New();
    lua->places = PyMem_Calloc((size_t)PyDict_GET_SIZE(py_rows) + 1, sizeof(*lua->places));
    if (!lua->py_indices || !lua->places) {
        PyErr_NoMemory();
        return -1;
    }
    lua->py_rest = Py_NewRef(py_rest);
    lua->py_write = Py_NewRef(py_write);
    while (PyDict_Next(py_rows, &position, &py_name, &py_row))
        if (add_place(lua, py_name, py_row))
            return -1;
    return 0;
}

static int lua_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct lua *lua = (struct lua *)self;

    Py_VISIT(lua->view);
    Py_VISIT(lua->py_indices);
    Py_VISIT(lua->py_rest);
    Py_VISIT(lua->py_write);
    return 0;
}

static int lua_clear(PyObject *self)
{
    struct lua *lua = (struct lua *)self;

    Py_CLEAR(lua->view);
    Py_CLEAR(lua->py_rest);
    Py_CLEAR(lua->py_write);
    return 0;
}

static void lua_dealloc(PyObject *self)
{
    struct lua *lua = (struct lua *)self;

    PyObject_GC_UnTrack(self);
    lua_clear(self);
    Py_CLEAR(lua->py_indices);
    for (Py_ssize_t i = 0; i < lua->count; i++)
        Py_CLEAR(lua->places[i].py_member);
    PyMem_Free(lua->places);
    Py_TYPE(self)->tp_free(self);
}

static PyMappingMethods lua_mapping = {.mp_subscript = lua_read};

static PyMethodDef lua_methods[] = {
    {"begin", lua_begin, METH_O, "Read and write this request from now on."},
    {"end", lua_end, METH_NOARGS, "Read and write none."},
    {"write", (PyCFunction)(void (*)(void))lua_write, METH_FASTCALL, "Stage a value; what write() of Python returns."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject lua_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_slurmhooks_view.Lua",
    .tp_doc = "Lua(rows, rest, write): requests as a Lua script reads and writes them.",
    .tp_basicsize = sizeof(struct lua),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = lua_init,
    .tp_dealloc = lua_dealloc,
    .tp_traverse = lua_traverse,
    .tp_clear = lua_clear,
    .tp_as_mapping = &lua_mapping,
    .tp_methods = lua_methods,
};
