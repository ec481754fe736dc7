/* SPDX-License-Identifier: GPL-2.0-or-later */
/* View and Request: what a handler reads and writes. */
#include "view.h"

static bool is_over(const struct view *view)
{
    return !view->address && !view->py_struct;
}

PyObject *view_over(PyObject *view)
{
    return PyObject_GetAttrString(view, "_struct");
}

PyObject *view_writes(struct view *view)
{
    if (!view->py_writes)
        view->py_writes = PyDict_New();
    return view->py_writes;
}

static PyObject *view_getattr(PyObject *self, PyObject *name)
{
    struct view *view = (struct view *)self;
    PyObject *found = view->address ? _PyType_Lookup(Py_TYPE(self), name) : NULL; /* borrowed */

    if (found && Py_TYPE(found) == &field_type)
        return field_read((struct field *)found, view);
    if (found && Py_TYPE(found) == &mapping_type)
        return mapping_read(found, (struct request *)self);
    PyObject *py_value = PyObject_GenericGetAttr(self, name);
    if (py_value || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return py_value;
    PyErr_Clear();
    return PyObject_CallMethod(self, "_explain", "O", name);
}

static int view_assign(PyObject *self, PyObject *name, PyObject *value)
{
    struct view *view = (struct view *)self;
    PyObject *found = value && view->address ? _PyType_Lookup(Py_TYPE(self), name) : NULL; /* borrowed */

    if (found && Py_TYPE(found) == &field_type) {
        int staged = field_stage((struct field *)found, view, value);
        if (staged)
            return staged > 0 ? 0 : -1;
    }
    if (!value) {
        PyErr_Format(PyExc_AttributeError, "%U cannot be deleted; assign None to clear it", name);
        return -1;
    }
    PyObject *py_result = PyObject_CallMethod(self, "_assign", "OO", name, value);
    Py_XDECREF(py_result);
    return py_result ? 0 : -1;
}

/* Take a struct, given as cffi's pointer, as an address or as both. RET 0 or -1. */
static int start(struct view *view, PyObject *structure, PyObject *address)
{
    void *pointer = PyLong_AsVoidPtr(address);

    if (!pointer && PyErr_Occurred())
        return -1;
    view->address = pointer;
    Py_XSETREF(view->py_struct, structure == Py_None ? NULL : Py_NewRef(structure));
    Py_CLEAR(view->py_writes);
    return 0;
}

static int view_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"struct", "address", NULL};
    PyObject *py_address, *py_struct;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO", names, &py_struct, &py_address))
        return -1;
    return start((struct view *)self, py_struct, py_address);
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

static PyObject *view_get_struct(PyObject *self, void *closure)
{
    struct view *view = (struct view *)self;

    (void)closure;
    if (!view->py_struct && view->address) {
        PyObject *py_struct =
            PyObject_CallMethod((PyObject *)Py_TYPE(self), "_cast", "N", PyLong_FromVoidPtr(view->address));
        if (!py_struct)
            return NULL;
        /* Another thread of the handler's may have come first, or the event may have ended meanwhile. */
        if (view->address && !view->py_struct)
            view->py_struct = Py_NewRef(py_struct);
        Py_DECREF(py_struct);
    }
    if (!view->py_struct)
        PyErr_SetString(PyExc_AttributeError, "_struct");
    return Py_XNewRef(view->py_struct);
}

static PyObject *view_get_writes(PyObject *self, void *closure)
{
    struct view *view = (struct view *)self;

    (void)closure;
    if (is_over(view)) {
        PyErr_SetString(PyExc_AttributeError, "_writes");
        return NULL;
    }
    return Py_XNewRef(view_writes(view));
}

static PyGetSetDef view_getset[] = {
    {"_struct", view_get_struct, NULL, "cffi's pointer to the struct", NULL},
    {"_writes", view_get_writes, NULL, "staged raw values by member", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef view_methods[] = {
    {"_end", view_end, METH_NOARGS, "Refuse every later use."},
    {"_replace", view_replace, METH_O, "Put other staged values in place."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject view_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_slurmhooks_view.View",
    .tp_doc = "View(struct, address): a view of one C struct, until it is released.",
    .tp_basicsize = sizeof(struct view),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = view_init,
    .tp_dealloc = view_dealloc,
    .tp_traverse = view_traverse,
    .tp_clear = view_clear,
    .tp_getattro = view_getattr,
    .tp_setattro = view_assign,
    .tp_getset = view_getset,
    .tp_methods = view_methods,
};

static int request_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"struct", "address", "modify", "owner", NULL};
    struct request *request = (struct request *)self;
    PyObject *py_address = NULL, *py_struct, *py_owner = NULL;
    int modify = 0;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O$pO", names, &py_struct, &py_address, &modify, &py_owner))
        return -1;
    py_address = py_address ? Py_NewRef(py_address) : PyLong_FromLong(0);
    request_end(request);
    int rc = py_address ? start(&request->view, py_struct, py_address) : -1;
    Py_XDECREF(py_address);
    request->modify = (char)modify;
    request->py_owner = Py_XNewRef(py_owner);
    return rc;
}

static int request_clear(PyObject *self)
{
    struct request *request = (struct request *)self;

    Py_CLEAR(request->py_owner);
    Py_CLEAR(request->py_argv);
    Py_CLEAR(request->py_environment);
    Py_CLEAR(request->py_spank_job_env);
    return view_clear(self);
}

static int request_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct request *request = (struct request *)self;

    Py_VISIT(request->py_owner);
    Py_VISIT(request->py_argv);
    Py_VISIT(request->py_environment);
    Py_VISIT(request->py_spank_job_env);
    return view_traverse(self, visit, arg);
}

void request_end(struct request *request)
{
    variables_end(&request->py_environment);
    variables_end(&request->py_spank_job_env);
    Py_CLEAR(request->py_owner);
    Py_CLEAR(request->py_argv);
    view_clear((PyObject *)request);
}

static void request_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    request_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *request_get_mapping(PyObject *self, void *closure)
{
    PyObject *py_mapping = *(PyObject **)((char *)self + (size_t)closure); /* borrowed */

    return Py_NewRef(py_mapping && !variables_over(py_mapping) ? py_mapping : Py_None);
}

static int request_set_mapping(PyObject *self, PyObject *value, void *closure)
{
    PyObject **slot = (PyObject **)((char *)self + (size_t)closure);

    Py_XSETREF(*slot, Py_XNewRef(value));
    return 0;
}

static PyGetSetDef request_getset[] = {
    {"_environment", request_get_mapping, request_set_mapping, "the mapping, once it was asked for",
     (void *)offsetof(struct request, py_environment)},
    {"_spank_job_env", request_get_mapping, request_set_mapping, "the mapping, once it was asked for",
     (void *)offsetof(struct request, py_spank_job_env)},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef request_members[] = {
    {"_argv", T_OBJECT, offsetof(struct request, py_argv), 0, "staged words"},
    {"_modify", T_BOOL, offsetof(struct request, modify), READONLY, "whether it is an update"},
    {"_owner", T_OBJECT, offsetof(struct request, py_owner), READONLY, "whose job it is"},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject request_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_slurmhooks_view.Request",
    .tp_doc = "Request(struct, address=0, *, modify=False, owner=None): the view of a job_desc_msg_t.",
    .tp_base = &view_type,
    .tp_basicsize = sizeof(struct request),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = request_init,
    .tp_dealloc = request_dealloc,
    .tp_traverse = request_traverse,
    .tp_clear = request_clear,
    .tp_getset = request_getset,
    .tp_members = request_members,
};
