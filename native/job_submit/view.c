/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common fields of job_submit's views, read and staged without a frame of Python.
 *
 * slurmctld holds its locks while a handler runs, and most of what handlers do is reading fields: so the two common
 * kinds, text and unsigned numbers, are descriptors in C. What they refuse or do not know goes to View._assign, in
 * Python, which explains it. Offsets come from the compiled view of the release's own header.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <stdint.h>
#include <string.h>

/* A view of one C struct: the base class of slurmhooks.job_submit.model._View. */
struct view {
    PyObject_HEAD char *address; /* NULL: the call that the view was made for is over */
    PyObject *py_struct;         /* the same as cffi's pointer, for the rarer fields */
    PyObject *py_writes;         /* staged raw values by member: int, bytes or None */
};

enum kind { TEXT, NUMBER, PLAIN };

struct field {
    PyObject_HEAD PyObject *py_member;
    PyObject *py_unlimited;
    PyObject *py_doc;
    Py_ssize_t offset;
    enum kind kind;
    int size;     /* of a number, in bytes */
    int writable; /* may be staged from here */
};

static PyTypeObject field_type;
static PyTypeObject view_type;

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
    if (field->kind == NUMBER && raw >= largest(field) - 1)
        return Py_NewRef(raw == largest(field) ? field->py_unlimited : Py_None);
    return PyLong_FromUnsignedLongLong(raw);
}

static uint64_t load(const struct field *field, const char *at)
{
    uint64_t raw = 0;

    switch (field->size) {
    case 1: raw = *(const uint8_t *)at; break;
    case 2: raw = *(const uint16_t *)at; break;
    case 4: raw = *(const uint32_t *)at; break;
    default: raw = *(const uint64_t *)at;
    }
    return raw;
}

/* What is staged for the field. RET borrowed, or NULL: nothing, or an exception. */
static PyObject *staged(const struct field *field, const struct view *view)
{
    return view->py_writes && PyDict_GET_SIZE(view->py_writes)
               ? PyDict_GetItemWithError(view->py_writes, field->py_member)
               : NULL;
}

static PyObject *field_get(PyObject *self, PyObject *object, PyObject *type)
{
    struct field *field = (struct field *)self;
    (void)type;

    if (!object || object == Py_None)
        return Py_NewRef(self);
    if (!PyObject_TypeCheck(object, &view_type)) {
        PyErr_SetString(PyExc_TypeError, "this field belongs to a view");
        return NULL;
    }
    struct view *view = (struct view *)object;
    /* Raises what __getattr__ says of a view that is over. */
    if (!view->address)
        return PyObject_GetAttrString(object, "_struct");
    PyObject *py_raw = staged(field, view);
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

/* The raw value for what a handler wrote. RET new, or NULL without an exception: Python must look at it. */
static PyObject *encode(const struct field *field, PyObject *value)
{
    if (field->kind == TEXT) {
        if (value == Py_None)
            return Py_NewRef(Py_None);
        if (!PyUnicode_CheckExact(value))
            return NULL;
        PyObject *py_bytes = PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape");
        if (!py_bytes || memchr(PyBytes_AS_STRING(py_bytes), 0, (size_t)PyBytes_GET_SIZE(py_bytes))) {
            PyErr_Clear();
            Py_CLEAR(py_bytes);
        }
        return py_bytes;
    }
    if (!PyLong_CheckExact(value))
        return NULL;
    unsigned long long raw = PyLong_AsUnsignedLongLong(value);
    if (raw == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        return NULL;
    }
    uint64_t limit = field->kind == NUMBER ? largest(field) - 2 : largest(field);
    return raw <= limit ? Py_NewRef(value) : NULL;
}

static int view_assign(PyObject *self, PyObject *name, PyObject *value)
{
    struct view *view = (struct view *)self;
    PyObject *found = value && view->address ? _PyType_Lookup(Py_TYPE(self), name) : NULL; /* borrowed */

    if (found && Py_TYPE(found) == &field_type && ((struct field *)found)->writable) {
        struct field *field = (struct field *)found;
        PyObject *py_raw = encode(field, value);
        if (py_raw) {
            int rc = PyDict_SetItem(view->py_writes, field->py_member, py_raw);
            Py_DECREF(py_raw);
            return rc;
        }
    }
    if (!value) {
        PyErr_Format(PyExc_AttributeError, "%U cannot be deleted; assign None to clear it", name);
        return -1;
    }
    PyObject *py_result = PyObject_CallMethod(self, "_assign", "OO", name, value);
    Py_XDECREF(py_result);
    return py_result ? 0 : -1;
}

static int view_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"struct", "address", NULL};
    struct view *view = (struct view *)self;
    PyObject *py_address, *py_struct;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO", names, &py_struct, &py_address))
        return -1;
    void *address = PyLong_AsVoidPtr(py_address);
    if (!address && PyErr_Occurred())
        return -1;
    PyObject *py_writes = PyDict_New();
    if (!py_writes)
        return -1;
    view->address = address;
    Py_XSETREF(view->py_struct, Py_NewRef(py_struct));
    Py_XSETREF(view->py_writes, py_writes);
    return 0;
}

static int view_clear(PyObject *self)
{
    struct view *view = (struct view *)self;

    view->address = NULL;
    Py_CLEAR(view->py_struct);
    Py_CLEAR(view->py_writes);
    return 0;
}

static int view_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct view *view = (struct view *)self;

    Py_VISIT(view->py_struct);
    Py_VISIT(view->py_writes);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void view_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    view_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *view_end(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    view_clear(self);
    Py_RETURN_NONE;
}

static PyObject *view_replace(PyObject *self, PyObject *writes)
{
    struct view *view = (struct view *)self;

    if (!PyDict_Check(writes)) {
        PyErr_SetString(PyExc_TypeError, "staged values are a dict");
        return NULL;
    }
    Py_XSETREF(view->py_writes, Py_NewRef(writes));
    Py_RETURN_NONE;
}

static PyMemberDef view_members[] = {
    {"_struct", T_OBJECT_EX, offsetof(struct view, py_struct), READONLY, "cffi's pointer to the struct"},
    {"_writes", T_OBJECT_EX, offsetof(struct view, py_writes), READONLY, "staged raw values by member"},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef view_methods[] = {
    {"_end", view_end, METH_NOARGS, "Refuse every later use."},
    {"_replace", view_replace, METH_O, "Put other staged values in place."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject view_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_slurmhooks_view.View",
    .tp_doc = "View(struct, address): a view of one C struct, until it is released.",
    .tp_basicsize = sizeof(struct view),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = view_init,
    .tp_dealloc = view_dealloc,
    .tp_traverse = view_traverse,
    .tp_clear = view_clear,
    .tp_setattro = view_assign,
    .tp_members = view_members,
    .tp_methods = view_methods,
};

static int field_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"kind", "member", "offset", "size", "writable", "unlimited", "doc", NULL};
    static const char *const kinds[] = {"text", "number", "plain"};
    struct field *field = (struct field *)self;
    const char *kind;
    PyObject *py_member, *py_unlimited, *py_doc;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "sUnipOO", names, &kind, &py_member, &field->offset,
                                     &field->size, &field->writable, &py_unlimited, &py_doc))
        return -1;
    for (field->kind = TEXT; field->kind <= PLAIN; field->kind++)
        if (!strcmp(kind, kinds[field->kind]))
            break;
    if (field->kind > PLAIN ||
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

static int field_set(PyObject *self, PyObject *object, PyObject *value)
{
    (void)self;
    (void)object;
    (void)value;
    PyErr_SetString(PyExc_AttributeError, "this field is assigned through its view");
    return -1;
}

static PyMemberDef field_members[] = {
    {"__doc__", T_OBJECT, offsetof(struct field, py_doc), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject field_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_slurmhooks_view.Field",
    .tp_basicsize = sizeof(struct field),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = field_init,
    .tp_dealloc = field_dealloc,
    .tp_descr_get = field_get,
    .tp_descr_set = field_set,
    .tp_members = field_members,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_slurmhooks_view",
    .m_doc = "Fields of C structs, read without a frame of Python.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__slurmhooks_view(void)
{
    PyObject *py_module;

    if (PyType_Ready(&view_type) || PyType_Ready(&field_type) || !(py_module = PyModule_Create(&module)))
        return NULL;
    if (PyModule_AddObjectRef(py_module, "View", (PyObject *)&view_type) ||
        PyModule_AddObjectRef(py_module, "Field", (PyObject *)&field_type))
        Py_CLEAR(py_module);
    return py_module;
}
