/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes: the attributes of view.StagedMapping, and the assignment of what is short, plain and as it must be without a
 * frame of Python. Everything else, and every error, is Python's.
 */
#include "writes.h"

#include <structmember.h>

#include <stdbool.h>
#include <string.h>

/* Bytes of name and value: what is longer may be too long for somebody, which Python knows. */
#define SHORT 4096

static bool is_plain(PyObject *text)
{
    return text && PyUnicode_CheckExact(text) && PyUnicode_IS_COMPACT_ASCII(text);
}

/* The bytes of a plain text, which nobody has to make. */
static const char *bytes_of(PyObject *text)
{
    return (const char *)PyUnicode_1BYTE_DATA(text);
}

static bool is_short_variable(PyObject *name, PyObject *value)
{
    if (!is_plain(name) || !is_plain(value))
        return false;
    size_t key = (size_t)PyUnicode_GET_LENGTH(name), text = (size_t)PyUnicode_GET_LENGTH(value);
    return key && key + text <= SHORT && !memchr(bytes_of(name), '=', key) && !memchr(bytes_of(name), 0, key) &&
           !memchr(bytes_of(value), 0, text);
}

/* What was written. RET borrowed, or NULL with an exception. */
static PyObject *staged(struct writes *writes)
{
    if (!writes->py_staged)
        writes->py_staged = PyDict_New();
    return writes->py_staged;
}

static int stage(struct writes *writes, PyObject *name, PyObject *value)
{
    PyObject *py_staged = staged(writes); /* borrowed */

    return py_staged ? PyDict_SetItem(py_staged, name, value) : -1;
}

static int set_one(PyObject *self, PyObject *name, PyObject *value)
{
    struct writes *writes = (struct writes *)self;

    if (!writes->alive || !is_short_variable(name, value)) {
        PyObject *py_result = PyObject_CallMethod(self, "_check", "OO", name, value);
        Py_XDECREF(py_result);
        if (!py_result)
            return -1;
    }
    return stage(writes, name, value);
}

static int delete_one(PyObject *self, PyObject *name)
{
    PyObject *py_value = PyObject_CallMethod(self, "_find", "O", name);

    Py_XDECREF(py_value);
    if (py_value == Py_None)
        PyErr_SetObject(PyExc_KeyError, name);
    return !py_value || py_value == Py_None ? -1 : stage((struct writes *)self, name, Py_None);
}

static int writes_assign(PyObject *self, PyObject *name, PyObject *value)
{
    return value ? set_one(self, name, value) : delete_one(self, name);
}

int writes_apply(struct writes *writes, const struct writes_target *target)
{
    PyObject *py_name, *py_value;
    Py_ssize_t position = 0;

    while (writes->py_staged && PyDict_Next(writes->py_staged, &position, &py_name, &py_value)) {
        if (!is_plain(py_name) || (py_value != Py_None && !is_plain(py_value)))
            return -1;
        if (py_value == Py_None ? target->unset(writes->handle, bytes_of(py_name))
                                : target->set(writes->handle, bytes_of(py_name), bytes_of(py_value), 1))
            return -1;
    }
    Py_CLEAR(writes->py_staged);
    return 0;
}

static PyObject *writes_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *self = type->tp_alloc(type, 0);

    (void)arguments, (void)keywords;
    if (self)
        ((struct writes *)self)->alive = 1;
    return self;
}

static PyObject *writes_get_staged(PyObject *self, void *closure)
{
    (void)closure;
    return Py_XNewRef(staged((struct writes *)self));
}

static int writes_set_staged(PyObject *self, PyObject *value, void *closure)
{
    (void)closure;
    if (!value || !PyDict_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "staged values are a dict");
        return -1;
    }
    Py_XSETREF(((struct writes *)self)->py_staged, Py_NewRef(value));
    return 0;
}

static int writes_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((struct writes *)self)->py_staged);
    return 0;
}

static int writes_clear(PyObject *self)
{
    Py_CLEAR(((struct writes *)self)->py_staged);
    return 0;
}

static void writes_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    writes_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyGetSetDef writes_getset[] = {
    {"_staged", writes_get_staged, writes_set_staged, "what was written, by name; None is deleted", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef writes_members[] = {
    {"_handle", T_PYSSIZET, offsetof(struct writes, handle), READONLY, "address of whoever takes them"},
    {"_alive", T_BOOL, offsetof(struct writes, alive), 0, "whether the call is not over"},
    {NULL, 0, 0, 0, NULL},
};

static PyMappingMethods writes_as_mapping = {.mp_ass_subscript = writes_assign};

PyTypeObject writes_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_slurmhooks_core.Writes",
    .tp_doc = "What was written to a mapping of text to text and is not applied yet.",
    .tp_basicsize = sizeof(struct writes),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = writes_new,
    .tp_dealloc = writes_dealloc,
    .tp_traverse = writes_traverse,
    .tp_clear = writes_clear,
    .tp_as_mapping = &writes_as_mapping,
    .tp_getset = writes_getset,
    .tp_members = writes_members,
};
