/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common fields of job_submit's views, read and staged without a frame of Python.
 *
 * What they refuse or do not know goes to View._assign, in Python, which explains it. Offsets come from the compiled
 * view of the release's own header, by way of native.py.
 */
#include "view.h"

#include <string.h>

enum kind { TEXT, NUMBER, PLAIN, IDENTITY, TIME };

static const char *const kind_names[] = {"text", "number", "plain", "identity", "time"};

/* slurm_auth.h: the user and group of a request that names none. */
#define AUTH_NOBODY 99

struct field {
    PyObject_HEAD PyObject *py_member;
    PyObject *py_unlimited;
    PyObject *py_doc;
    Py_ssize_t offset;
    enum kind kind;
    int size;     /* of a number, in bytes */
    int writable; /* may be staged from here */
};

/* The largest value of the member: INFINITE. The one below it is NO_VAL. */
static uint64_t largest(const struct field *field)
{
    return field->size == 8 ? UINT64_MAX : ((uint64_t)1 << (field->size * 8)) - 1;
}

static PyObject *decode_text(const char *text, Py_ssize_t length)
{
    return PyUnicode_DecodeUTF8(text, length, "surrogateescape");
}

static PyObject *decode_number(const struct field *field, uint64_t raw)
{
    switch (field->kind) {
    case NUMBER:
        if (raw >= largest(field) - 1)
            return Py_NewRef(raw == largest(field) ? field->py_unlimited : Py_None);
        break;
    case IDENTITY:
        if (raw == largest(field) - 1 || raw == AUTH_NOBODY)
            return Py_NewRef(Py_None);
        break;
    case TIME: return PyLong_FromLongLong((int64_t)raw);
    default: break;
    }
    return PyLong_FromUnsignedLongLong(raw);
}

static uint64_t load(const struct field *field, const char *at)
{
    switch (field->size) {
    case 1: return *(const uint8_t *)at;
    case 2: return *(const uint16_t *)at;
    case 4: return *(const uint32_t *)at;
    default: return *(const uint64_t *)at;
    }
}

/* What is staged for the field. RET borrowed, or NULL: nothing, or an exception. */
static PyObject *staged(const struct field *field, const struct view *view)
{
    return view->py_writes && PyDict_GET_SIZE(view->py_writes)
               ? PyDict_GetItemWithError(view->py_writes, field->py_member)
               : NULL;
}

PyObject *field_read(struct field *field, struct view *view)
{
    PyObject *py_raw = staged(field, view); /* borrowed */

    if (!py_raw && PyErr_Occurred())
        return NULL;
    const char *at = view->address + field->offset;
    if (field->kind == TEXT) {
        if (py_raw == Py_None)
            return Py_NewRef(Py_None);
        if (py_raw)
            return decode_text(PyBytes_AS_STRING(py_raw), PyBytes_GET_SIZE(py_raw));
        const char *text = *(char *const *)at;
        return text ? decode_text(text, (Py_ssize_t)strlen(text)) : Py_NewRef(Py_None);
    }
    uint64_t raw = py_raw ? PyLong_AsUnsignedLongLong(py_raw) : load(field, at);
    if (py_raw && raw == (uint64_t)-1 && PyErr_Occurred())
        return NULL;
    return decode_number(field, raw);
}

int field_is_null(struct field *field, struct view *view)
{
    PyObject *py_raw = staged(field, view); /* borrowed */

    if (!py_raw && PyErr_Occurred())
        return -1;
    return py_raw ? py_raw == Py_None : !*(char *const *)(view->address + field->offset);
}

static PyObject *encode_text(PyObject *value)
{
    if (value == Py_None)
        return Py_NewRef(Py_None);
    if (!PyUnicode_CheckExact(value))
        return NULL;
    PyObject *py_bytes =
        PyUnicode_IS_COMPACT_ASCII(value)
            ? PyBytes_FromStringAndSize((const char *)PyUnicode_1BYTE_DATA(value), PyUnicode_GET_LENGTH(value))
            : PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape");
    if (!py_bytes || memchr(PyBytes_AS_STRING(py_bytes), 0, (size_t)PyBytes_GET_SIZE(py_bytes))) {
        PyErr_Clear();
        Py_CLEAR(py_bytes);
    }
    return py_bytes;
}

static PyObject *encode_number(const struct field *field, PyObject *value)
{
    if (field->kind == NUMBER && value == Py_None)
        return PyLong_FromUnsignedLongLong(largest(field) - 1);
    if (field->kind == NUMBER && value == field->py_unlimited)
        return PyLong_FromUnsignedLongLong(largest(field));
    if (!PyLong_CheckExact(value))
        return NULL;
    unsigned long long raw = PyLong_AsUnsignedLongLong(value);
    if (raw == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        return NULL;
    }
    uint64_t limit = largest(field);
    if (field->kind == NUMBER)
        limit -= 2;
    if (field->kind == TIME)
        limit = INT64_MAX;
    return raw <= limit ? Py_NewRef(value) : NULL;
}

int field_stage(struct field *field, struct view *view, PyObject *value)
{
    if (!field->writable)
        return 0;
    PyObject *py_raw = field->kind == TEXT ? encode_text(value) : encode_number(field, value);
    if (!py_raw)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *py_writes = view_writes(view); /* borrowed */
    int rc = py_writes ? PyDict_SetItem(py_writes, field->py_member, py_raw) : -1;
    Py_DECREF(py_raw);
    return rc ? -1 : 1;
}

int field_store(const struct field *field, char *address, PyObject *raw)
{
    char *at = address + field->offset;

    if (field->kind == TEXT) {
        char *copy = raw == Py_None ? NULL : slurm_xstrdup(PyBytes_AS_STRING(raw));
        slurm_xfree((void **)at);
        *(char **)at = copy;
        return 0;
    }
    uint64_t number = PyLong_AsUnsignedLongLong(raw);
    if (number == (uint64_t)-1 && PyErr_Occurred())
        return -1;
    if (number > largest(field)) {
        PyErr_Format(PyExc_OverflowError, "%U does not hold %llu", field->py_member, (unsigned long long)number);
        return -1;
    }
    switch (field->size) {
    case 1: *(uint8_t *)at = (uint8_t)number; break;
    case 2: *(uint16_t *)at = (uint16_t)number; break;
    case 4: *(uint32_t *)at = (uint32_t)number; break;
    default: *(uint64_t *)at = number;
    }
    return 0;
}

/* For what does not come by way of View.__getattribute__: vars(type)["name"].__get__(view). */
static PyObject *field_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (!object || object == Py_None)
        return Py_NewRef(self);
    if (!PyObject_TypeCheck(object, &view_type)) {
        PyErr_SetString(PyExc_TypeError, "this field belongs to a view");
        return NULL;
    }
    struct view *view = (struct view *)object;
    return view->address ? field_read((struct field *)self, view) : view_over(object);
}

static int field_set(PyObject *self, PyObject *object, PyObject *value)
{
    (void)self;
    (void)object;
    (void)value;
    PyErr_SetString(PyExc_AttributeError, "this field is assigned through its view");
    return -1;
}

static int field_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"kind", "member", "offset", "size", "writable", "unlimited", "doc", NULL};
    struct field *field = (struct field *)self;
    const char *kind;
    PyObject *py_member, *py_unlimited, *py_doc;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "sUnipOO", names, &kind, &py_member, &field->offset,
                                     &field->size, &field->writable, &py_unlimited, &py_doc))
        return -1;
    for (field->kind = TEXT; field->kind <= TIME; field->kind++)
        if (!strcmp(kind, kind_names[field->kind]))
            break;
    if (field->kind > TIME || (field->kind == TIME && field->size != 8) ||
        (field->kind != TEXT && field->size != 1 && field->size != 2 && field->size != 4 && field->size != 8)) {
        PyErr_Format(PyExc_ValueError, "no field is %s of %d bytes", kind, field->size);
        return -1;
    }
    Py_INCREF(py_member);
    PyUnicode_InternInPlace(&py_member);
    Py_XSETREF(field->py_member, py_member);
    Py_XSETREF(field->py_unlimited, Py_NewRef(py_unlimited));
    Py_XSETREF(field->py_doc, Py_NewRef(py_doc));
    return 0;
}

static void field_dealloc(PyObject *self)
{
    struct field *field = (struct field *)self;

    Py_CLEAR(field->py_member);
    Py_CLEAR(field->py_unlimited);
    Py_CLEAR(field->py_doc);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef field_members[] = {
    {"__doc__", T_OBJECT, offsetof(struct field, py_doc), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject field_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_slurmhooks_view.Field",
    .tp_doc = "Field(kind, member, offset, size, writable, unlimited, doc): one member of a struct.",
    .tp_basicsize = sizeof(struct field),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = field_init,
    .tp_dealloc = field_dealloc,
    .tp_descr_get = field_get,
    .tp_descr_set = field_set,
    .tp_members = field_members,
};
