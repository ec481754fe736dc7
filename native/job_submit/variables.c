/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables: an environment array of a request, looked up where it is; Mapping: the field that hands it out. */
#include "view.h"

#include <string.h>

struct variables {
    PyObject_HEAD char *address; /* of the struct; NULL: the call is over */
    struct array_place place;
    PyObject *py_staged; /* what was written, by name: str, or None for deleted; NULL: nothing */
    PyObject *py_base;   /* all that is in the array, once somebody asked for all; NULL: not yet */
    int frozen;          /* why it cannot be changed: an index into model.FROZEN */
};

struct mapping {
    PyObject_HEAD PyTypeObject *type; /* of what it hands out: a class below Variables */
    PyObject *py_script;              /* the field that tells batch jobs; None if that does not matter */
    PyObject *py_doc;
    struct array_place place;
    Py_ssize_t slot; /* where the request keeps it */
};

/* Indices into model.FROZEN. */
enum { CHANGEABLE, OF_AN_UPDATE, OF_NO_BATCH_JOB };

static char **items_at(const char *address, const struct array_place *place, uint32_t *count)
{
    char **items = *(char ***)(address + place->array);

    *count = items ? *(uint32_t *)(address + place->count) : 0;
    return items;
}

static char **items_of(const struct variables *variables, uint32_t *count)
{
    return items_at(variables->address, &variables->place, count);
}

bool array_is_there(const char *address, const struct array_place *place)
{
    return *(char ***)(address + place->array);
}

const char *array_find(const char *address, const struct array_place *place, const char *name, size_t length)
{
    uint32_t count;
    char **items = items_at(address, place, &count);

    /* C would take the name to end at a NUL byte, and find "B=C" of A=B=C under the name A=B. */
    if (!length || memchr(name, 0, length) || memchr(name, '=', length))
        return NULL;
    for (uint32_t i = 0; i < count && items[i]; i++)
        if (items[i][0] == name[0] && !strncmp(items[i], name, length) && items[i][length] == '=')
            return items[i] + length + 1;
    return NULL;
}

/* A value of the array. RET new, or NULL: not set, or an exception. */
static PyObject *find_in_array(const struct variables *variables, PyObject *name)
{
    Py_ssize_t length;
    PyObject *py_bytes = NULL;
    const char *bytes = PyUnicode_IS_COMPACT_ASCII(name) ? PyUnicode_AsUTF8AndSize(name, &length) : NULL;

    if (!bytes) {
        py_bytes = PyUnicode_AsEncodedString(name, "utf-8", "surrogateescape");
        if (!py_bytes)
            return NULL;
        bytes = PyBytes_AS_STRING(py_bytes);
        length = PyBytes_GET_SIZE(py_bytes);
    }
    const char *value = array_find(variables->address, &variables->place, bytes, (size_t)length);
    Py_XDECREF(py_bytes);
    return value ? PyUnicode_DecodeUTF8(value, (Py_ssize_t)strlen(value), "surrogateescape") : NULL;
}

/* A value as a handler sees it. RET new, or NULL: not set, or an exception. */
static PyObject *find(PyObject *self, PyObject *name)
{
    struct variables *variables = (struct variables *)self;

    if (!variables->address) {
        /* Raises. */
        Py_XDECREF(PyObject_CallMethod(self, "_living", NULL));
        return NULL;
    }
    if (!PyUnicode_Check(name))
        return NULL;
    if (variables->py_staged) {
        PyObject *py_value = PyDict_GetItemWithError(variables->py_staged, name); /* borrowed */
        if (py_value || PyErr_Occurred())
            return py_value == Py_None ? NULL : Py_XNewRef(py_value);
    }
    return variables->py_base ? Py_XNewRef(PyDict_GetItemWithError(variables->py_base, name))
                              : find_in_array(variables, name);
}

static PyObject *variables_find(PyObject *self, PyObject *name)
{
    PyObject *py_value = find(self, name);

    return py_value || PyErr_Occurred() ? py_value : Py_NewRef(Py_None);
}

static PyObject *variables_get(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count < 1 || count > 2) {
        PyErr_Format(PyExc_TypeError, "get() takes a name and a default, not %zd arguments", count);
        return NULL;
    }
    PyObject *py_value = find(self, arguments[0]);
    return py_value || PyErr_Occurred() ? py_value : Py_NewRef(count == 2 ? arguments[1] : Py_None);
}

static PyObject *variables_subscript(PyObject *self, PyObject *name)
{
    PyObject *py_value = find(self, name);

    if (!py_value && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, name);
    return py_value;
}

static int variables_contains(PyObject *self, PyObject *name)
{
    PyObject *py_value = find(self, name);

    Py_XDECREF(py_value);
    return py_value ? 1 : PyErr_Occurred() ? -1 : 0;
}

static PyObject *variables_items(PyObject *self, PyObject *ignored)
{
    struct variables *variables = (struct variables *)self;
    PyObject *py_list = PyList_New(0);
    uint32_t count = 0;
    char **items = variables->address ? items_of(variables, &count) : NULL;

    (void)ignored;
    for (uint32_t i = 0; py_list && i < count; i++) {
        PyObject *py_item = items[i] ? PyBytes_FromString(items[i]) : NULL;
        if (items[i] && (!py_item || PyList_Append(py_list, py_item)))
            Py_CLEAR(py_list);
        Py_XDECREF(py_item);
    }
    return py_list;
}

/* A copy of texts with Slurm's allocator, NULL behind the last as Slurm's own arrays have it. RET NULL for none. */
static char **copy_items(PyObject *list)
{
    Py_ssize_t count = PyList_GET_SIZE(list);

    if (!count)
        return NULL;
    char **items = slurm_xcalloc((size_t)count + 1, sizeof(*items), true, false, __FILE__, __LINE__, __func__);
    for (Py_ssize_t i = 0; i < count; i++)
        items[i] = slurm_xstrdup(PyBytes_AS_STRING(PyList_GET_ITEM(list, i)));
    return items;
}

static PyObject *variables_store(PyObject *self, PyObject *list)
{
    struct variables *variables = (struct variables *)self;
    bool fits = PyList_Check(list) && PyList_GET_SIZE(list) < UINT32_MAX;

    for (Py_ssize_t i = 0; fits && i < PyList_GET_SIZE(list); i++)
        fits = PyBytes_Check(PyList_GET_ITEM(list, i));
    if (!fits || !variables->address) {
        PyErr_SetString(PyExc_TypeError, "an environment is stored during its call, as a list of bytes");
        return NULL;
    }
    uint32_t old_count;
    char **old = items_of(variables, &old_count), **new = copy_items(list);
    for (uint32_t i = 0; i < old_count; i++)
        slurm_xfree((void **)&old[i]);
    slurm_xfree((void **)&old);
    *(char ***)(variables->address + variables->place.array) = new;
    *(uint32_t *)(variables->address + variables->place.count) = (uint32_t)PyList_GET_SIZE(list);
    Py_RETURN_NONE;
}

static int variables_clear(PyObject *self)
{
    struct variables *variables = (struct variables *)self;

    variables->address = NULL;
    Py_CLEAR(variables->py_staged);
    Py_CLEAR(variables->py_base);
    return 0;
}

void variables_end(PyObject **slot)
{
    if (!*slot || !PyObject_TypeCheck(*slot, &variables_type)) {
        Py_CLEAR(*slot); /* a stand-in's, which has its own end */
        return;
    }
    variables_clear(*slot);
    if (Py_REFCNT(*slot) > 1)
        Py_CLEAR(*slot);
}

bool variables_over(PyObject *variables)
{
    return PyObject_TypeCheck(variables, &variables_type) && !((struct variables *)variables)->address;
}

bool variables_changed(PyObject *variables)
{
    PyObject *py_staged = variables ? ((struct variables *)variables)->py_staged : NULL;

    return py_staged && PyDict_GET_SIZE(py_staged);
}

static int variables_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct variables *variables = (struct variables *)self;

    Py_VISIT(variables->py_staged);
    Py_VISIT(variables->py_base);
    return 0;
}

static void variables_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    variables_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *variables_get_staged(PyObject *self, void *closure)
{
    struct variables *variables = (struct variables *)self;

    (void)closure;
    if (!variables->py_staged)
        variables->py_staged = PyDict_New();
    return Py_XNewRef(variables->py_staged);
}

static int variables_set_staged(PyObject *self, PyObject *value, void *closure)
{
    (void)closure;
    if (!value || !PyDict_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "staged values are a dict");
        return -1;
    }
    Py_XSETREF(((struct variables *)self)->py_staged, Py_NewRef(value));
    return 0;
}

static PyObject *variables_get_alive(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((struct variables *)self)->address != NULL);
}

static int variables_set_alive(PyObject *self, PyObject *value, void *closure)
{
    (void)closure;
    if (value != Py_False) {
        PyErr_SetString(PyExc_ValueError, "an environment can only end");
        return -1;
    }
    return variables_clear(self);
}

static PyGetSetDef variables_getset[] = {
    {"_alive", variables_get_alive, variables_set_alive, "whether its call is not over", NULL},
    {"_staged", variables_get_staged, variables_set_staged, "what was written, by name", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef variables_members[] = {
    {"_base", T_OBJECT, offsetof(struct variables, py_base), 0, "all that is in the array, once it was asked for"},
    {"_frozen", T_INT, offsetof(struct variables, frozen), READONLY, "why it cannot be changed"},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef variables_methods[] = {
    {"_find", variables_find, METH_O, "Return a value, or None if it is not set."},
    {"_items", variables_items, METH_NOARGS, "Return the texts of the array as bytes."},
    {"_store", variables_store, METH_O, "Replace the texts of the array, and the counter beside it."},
    {"get", (PyCFunction)(void (*)(void))variables_get, METH_FASTCALL,
     "Return a value, or the default if it is not set."},
    {NULL, NULL, 0, NULL},
};

static PyMappingMethods variables_as_mapping = {.mp_subscript = variables_subscript};
static PySequenceMethods variables_as_sequence = {.sq_contains = variables_contains};

PyTypeObject variables_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_slurmhooks_view.Variables",
    .tp_doc = "An environment array of a request; made by its field.",
    .tp_basicsize = sizeof(struct variables),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_dealloc = variables_dealloc,
    .tp_traverse = variables_traverse,
    .tp_clear = variables_clear,
    .tp_as_mapping = &variables_as_mapping,
    .tp_as_sequence = &variables_as_sequence,
    .tp_getset = variables_getset,
    .tp_members = variables_members,
    .tp_methods = variables_methods,
};

/* Why Slurm would ignore what is put there. RET an index into model.FROZEN, or -1. */
static int frozen(const struct mapping *mapping, struct request *request)
{
    if (request->modify)
        return OF_AN_UPDATE;
    if (mapping->py_script == Py_None)
        return CHANGEABLE;
    int null = field_is_null((struct field *)mapping->py_script, &request->view);
    return null < 0 ? -1 : null ? OF_NO_BATCH_JOB : CHANGEABLE;
}

PyObject *mapping_read(PyObject *self, struct request *request)
{
    struct mapping *mapping = (struct mapping *)self;
    PyObject **slot = (PyObject **)((char *)request + mapping->slot);
    struct variables *variables = (struct variables *)*slot;

    if (variables && !variables_over(*slot))
        return Py_NewRef(variables);
    int why = frozen(mapping, request);
    if (why < 0)
        return NULL;
    if (!variables) {
        variables = (struct variables *)mapping->type->tp_alloc(mapping->type, 0);
        if (!variables)
            return NULL;
        *slot = (PyObject *)variables;
    }
    variables->address = request->view.address;
    variables->place = mapping->place;
    variables->frozen = why;
    return Py_NewRef(variables);
}

static PyObject *mapping_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (!object || object == Py_None)
        return Py_NewRef(self);
    if (!PyObject_TypeCheck(object, &request_type)) {
        PyErr_SetString(PyExc_TypeError, "this field belongs to a request");
        return NULL;
    }
    struct request *request = (struct request *)object;
    return request->view.address ? mapping_read(self, request) : view_over(object);
}

static int mapping_set(PyObject *self, PyObject *object, PyObject *value)
{
    (void)self;
    (void)object;
    (void)value;
    PyErr_SetString(PyExc_AttributeError, "this field is assigned through its view");
    return -1;
}

static int mapping_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"type", "slot", "array", "count", "script", "doc", NULL};
    struct mapping *mapping = (struct mapping *)self;
    const char *slot;
    PyObject *py_type, *py_script, *py_doc;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!snnOO", names, &PyType_Type, &py_type, &slot,
                                     &mapping->place.array, &mapping->place.count, &py_script, &py_doc))
        return -1;
    if (!PyType_IsSubtype((PyTypeObject *)py_type, &variables_type) ||
        (py_script != Py_None && Py_TYPE(py_script) != &field_type)) {
        PyErr_SetString(PyExc_TypeError, "a mapping hands out Variables, and looks at a Field");
        return -1;
    }
    mapping->slot = strcmp(slot, "environment") ? offsetof(struct request, py_spank_job_env)
                                                : offsetof(struct request, py_environment);
    Py_XSETREF(mapping->type, (PyTypeObject *)Py_NewRef(py_type));
    Py_XSETREF(mapping->py_script, Py_NewRef(py_script));
    Py_XSETREF(mapping->py_doc, Py_NewRef(py_doc));
    return 0;
}

static void mapping_dealloc(PyObject *self)
{
    struct mapping *mapping = (struct mapping *)self;

    Py_CLEAR(mapping->type);
    Py_CLEAR(mapping->py_script);
    Py_CLEAR(mapping->py_doc);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef mapping_members[] = {
    {"__doc__", T_OBJECT, offsetof(struct mapping, py_doc), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject mapping_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_slurmhooks_view.Mapping",
    .tp_doc = "Mapping(type, slot, array, count, script, doc): an environment array of a request.",
    .tp_basicsize = sizeof(struct mapping),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = mapping_init,
    .tp_dealloc = mapping_dealloc,
    .tp_descr_get = mapping_get,
    .tp_descr_set = mapping_set,
    .tp_members = mapping_members,
};
