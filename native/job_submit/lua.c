/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lua: a request as a Lua script reads and writes it (slurmhooks.lua.job_submit).
 *
 * Lua gets what is in the struct: texts, and numbers as doubles, NO_VAL too. Those, and the environment, are nearly all
 * that scripts ask for: Lua's metamethods read and stage them here, without Python and so without its lock. The rest,
 * and all that has to be explained, they hand on to Python, which calls sync() before it looks at the request, and
 * begin() after it has written to it.
 */
#include "lua_fields.h"
#include "lua_partitions.h"

#include <string.h>

/* What a double holds exactly. */
#define EXACT ((uint64_t)1 << 53)

struct lua {
    PyObject_HEAD struct view *view; /* of the running call, or NULL */
    struct lua_fields fields;
    struct lua_member *staged;  /* the first one, in no order */
    struct lua_member *user_id; /* whose job it is, but for: */
    long long owner;            /* of the job that an update is for; -1: none */
    uint32_t uid;               /* who sent it */
    struct array_place environment;
    bool as_sent; /* no handler has changed the environment */
};

/* The one whose call it is: events run one at a time. */
static struct lua *running;
static unsigned long calls = 1;

/* What the metamethods have as upvalues. */
enum { REQUEST = 1, WRITE, VARIABLES, ENVIRONMENT, UPVALUES = ENVIRONMENT };

static uint64_t largest(const struct lua_member *member)
{
    return member->size == 8 ? EXACT : ((uint64_t)1 << (member->size * 8)) - 1;
}

static void stage(struct lua *self, struct lua_member *member, enum where where, uint64_t number, char *text)
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
    for (struct lua_member *member = self->staged; member; member = member->next) {
        if (member->where == HIDDEN)
            continue;
        PyObject *py_raw = !member->is_text ? PyLong_FromUnsignedLongLong(member->number)
                           : member->text   ? PyBytes_FromString(member->text)
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
static int take(struct lua *self, struct lua_member *member, PyObject *raw)
{
    if (member->is_text && (raw == Py_None || PyBytes_Check(raw))) {
        char *text = raw == Py_None ? NULL : strdup(PyBytes_AS_STRING(raw));
        if (raw != Py_None && !text) {
            PyErr_NoMemory();
            return -1;
        }
        stage(self, member, STAGED, 0, text);
        return 0;
    }
    uint64_t number = !member->is_text && PyLong_Check(raw) ? PyLong_AsUnsignedLongLong(raw) : UINT64_MAX;
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
        PyObject *py_index = PyDict_GetItemWithError(self->fields.py_indices, py_member); /* borrowed */
        if (py_index ? take(self, &self->fields.members[PyLong_AsSsize_t(py_index)], py_raw) : !!PyErr_Occurred())
            return -1;
    }
    return 0;
}

/* __index of a request. */
static int request_index(lua_State *L)
{
    const char *text = running ? lua.tolstring(L, 2, NULL) : NULL;
    const struct lua_name *name = text ? lua_fields_slot(&running->fields, text) : NULL;
    const struct lua_member *member = name ? name->member : NULL;

    if (name && name->py_text && !member) {
        lua.pushvalue(L, lua_upvalue(ENVIRONMENT));
    } else if (!member || member->where == HIDDEN) {
        lua.pushvalue(L, lua_upvalue(REQUEST));
        lua.pushvalue(L, 2);
        lua.gettable(L, -2);
    } else {
        lua_fields_push(L, name, running->view->address);
    }
    return 1;
}

/* Stage what Lua assigns. RET false: Python must look at it. */
static bool assign(lua_State *L, const struct lua_name *name)
{
    struct lua_member *member = name->member;

    if (member->is_text) {
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
    stage(running, member, STAGED, (uint64_t)value | (name->kind == TAGGED ? lua_tag(member) : 0), NULL);
    return true;
}

/* __newindex of a request. */
static int request_newindex(lua_State *L)
{
    const char *text = running ? lua.tolstring(L, 2, NULL) : NULL;
    const struct lua_name *name = text ? lua_fields_slot(&running->fields, text) : NULL;

    if (name && name->writable && assign(L, name))
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

unsigned long lua_call_number(void)
{
    return running ? calls : 0;
}

bool lua_whose_call(uint32_t *owner, uint32_t *uid)
{
    if (!running || (running->owner < 0 && (!running->user_id || running->user_id->where == HIDDEN)))
        return false;
    *owner = running->owner < 0 ? (uint32_t)lua_fields_number(running->user_id, running->view->address)
                                : (uint32_t)running->owner;
    *uid = running->uid;
    return true;
}

static PyObject *lua_begin(PyObject *object, PyObject *const *arguments, Py_ssize_t count)
{
    struct lua *self = (struct lua *)object;

    if (count != 2 || !PyObject_TypeCheck(arguments[0], &request_type)) {
        PyErr_SetString(PyExc_TypeError, "begin() takes a Request, and who sent it");
        return NULL;
    }
    struct request *request = (struct request *)arguments[0];
    forget(self);
    running = NULL;
    Py_XSETREF(self->view, (struct view *)Py_NewRef(arguments[0]));
    self->as_sent = !variables_changed(request->py_environment);
    self->owner = request->py_owner && request->py_owner != Py_None ? PyLong_AsLongLong(request->py_owner) : -1;
    self->uid = (uint32_t)PyLong_AsUnsignedLongMask(arguments[1]);
    if (PyErr_Occurred() || take_all(self))
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
    calls++;
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

static PyObject *lua_partitions(PyObject *ignored, PyObject *arguments)
{
    (void)ignored;
    if (lua_partitions_use(arguments))
        return NULL;
    Py_RETURN_NONE;
}

static int lua_init(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"rows", "environment", "array", "count", NULL};
    struct lua *self = (struct lua *)object;
    PyObject *py_rows, *py_environment;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!Snn", names, &PyDict_Type, &py_rows, &py_environment,
                                     &self->environment.array, &self->environment.count))
        return -1;
    if (lua_fields_init(&self->fields, py_rows))
        return -1;
    lua_fields_slot(&self->fields, PyBytes_AS_STRING(py_environment))->py_text = Py_NewRef(py_environment);
    self->user_id = lua_fields_slot(&self->fields, "user_id")->member;
    return 0;
}

static void lua_dealloc(PyObject *object)
{
    struct lua *self = (struct lua *)object;

    if (running == self)
        running = NULL;
    forget(self);
    Py_CLEAR(self->view);
    lua_fields_clear(&self->fields);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef lua_methods[] = {
    {"begin", (PyCFunction)(void (*)(void))lua_begin, METH_FASTCALL,
     "begin(job, uid): read and write this request from now on, with what is staged for it."},
    {"sync", lua_sync, METH_NOARGS, "Have the request know what the script has written."},
    {"end", lua_end, METH_NOARGS, "Do that, and read and write none from now on."},
    {"use", lua_use, METH_VARARGS | METH_STATIC,
     "use(library, upvalues): look the functions of Lua up; False if that is not possible."},
    {"partitions", lua_partitions, METH_VARARGS | METH_STATIC,
     "partitions(rows, name, find, fill): where their fields are, their name too, and two functions' addresses."},
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
