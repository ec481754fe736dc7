/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks: the entry point of SPANK's callbacks. What tasks will call is prepared in slurmstepd before it forks them, and
 * is then run without a frame of Python as long as handlers pass: each task is a copy of slurmstepd and has a page
 * fault for each page that it is the first to write to, and CPython 3.11 writes to every object that it looks at.
 *
 * The same steps as slurmhooks.dispatch.run. Everything else goes to the entry point in Python.
 */
#include "tasks.h"

#include <stddef.h>

#include "handler.h"
#include "writes.h"

/* Where the entry point's arguments are; see _callback_of_line() of slurmhooks.spank.entry. */
enum { NAME, HANDLE, ARGV = 4, COUNT = 9 };

/* One callback of one line of plugstack.conf. */
struct task {
    const void *argv; /* of the line; tells it from others */
    PyObject *py_name;
    PyObject *py_handlers;  /* see handler.h */
    PyObject *py_view;      /* a rehearsal.Spank */
    PyObject *py_env;       /* the view's: Writes */
    PyObject *py_others;    /* its job_control_env, likewise */
    PyObject *py_prepended; /* its list of words for the command */
    PyObject *py_success;   /* the answer of handlers that passed */
    struct writes_target target;
    int over;
    struct task *next;
};

struct tasks {
    PyObject_HEAD vectorcallfunc call;
    PyObject *py_fallback; /* the entry point in Python */
    PyObject *py_judge;    /* judge(handler, error, result, view, savepoint): the answer, or None to go on */
    PyObject *py_bug;      /* bug(name, error): the answer to an error that is no handler's */
    struct task *first;
};

static void forget(struct task *task)
{
    Py_XDECREF(task->py_name);
    Py_XDECREF(task->py_handlers);
    Py_XDECREF(task->py_view);
    Py_XDECREF(task->py_env);
    Py_XDECREF(task->py_others);
    Py_XDECREF(task->py_prepended);
    Py_XDECREF(task->py_success);
    PyMem_Free(task);
}

/* What was prepared for a call; it serves once. RET NULL if there is nothing. */
static struct task *find(struct tasks *tasks, PyObject *const *arguments)
{
    const char *name = PyLong_AsVoidPtr(arguments[NAME]);
    const void *argv = PyLong_AsVoidPtr(arguments[ARGV]);
    struct task *task = name ? tasks->first : NULL;

    while (task && (task->over || task->argv != argv || PyUnicode_CompareWithASCIIString(task->py_name, name)))
        task = task->next;
    return task;
}

/* End the view; as Spank.close. */
static void end(struct task *task)
{
    ((struct writes *)task->py_env)->alive = 0;
    ((struct writes *)task->py_others)->alive = 0;
    /* Not freed: that would write to what it refers to, and the task is about to become another program. */
    task->over = 1;
}

/* Whether a handler has written what C does not know to apply. */
static int others_written(const struct task *task)
{
    PyObject *py_staged = ((struct writes *)task->py_others)->py_staged;

    return PyList_GET_SIZE(task->py_prepended) || (py_staged && PyDict_GET_SIZE(py_staged));
}

/* Apply what was written; as Spank.commit. RET 0, or -1 with an exception. */
static int commit(struct task *task)
{
    if (!others_written(task) && !writes_apply((struct writes *)task->py_env, &task->target))
        return 0;
    PyObject *py_result = PyObject_CallMethod(task->py_view, "commit", NULL);
    Py_XDECREF(py_result);
    return py_result ? 0 : -1;
}

/* RET new: the answer, or NULL with an exception. */
static PyObject *run_handlers(struct tasks *tasks, struct task *task)
{
    PyObject *arguments[HANDLER_MOST_ARGUMENTS] = {task->py_view};
    PyObject *py_verdict = handlers_run(task->py_handlers, arguments, task->py_view, tasks->py_judge);

    if (py_verdict != Py_None)
        return py_verdict;
    Py_DECREF(py_verdict);
    return commit(task) ? NULL : Py_NewRef(task->py_success);
}

static PyObject *run(struct tasks *tasks, struct task *task, PyObject *handle)
{
    ((struct writes *)task->py_env)->handle = PyLong_AsVoidPtr(handle);
    PyObject *py_answer = run_handlers(tasks, task);
    end(task);
    if (py_answer)
        return py_answer;
    PyObject *py_error = exception_take();
    py_answer = PyObject_CallFunctionObjArgs(tasks->py_bug, task->py_name, py_error, NULL);
    Py_DECREF(py_error);
    return py_answer;
}

static PyObject *tasks_call(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    struct tasks *tasks = (struct tasks *)self;
    struct task *task = PyVectorcall_NARGS(count) == COUNT && !names ? find(tasks, arguments) : NULL;

    if (!task)
        return PyErr_Occurred() ? NULL : PyObject_Vectorcall(tasks->py_fallback, arguments, count, names);
    return run(tasks, task, arguments[HANDLE]);
}

static PyObject *tasks_prepare(PyObject *self, PyObject *arguments)
{
    struct tasks *tasks = (struct tasks *)self;
    Py_ssize_t argv, set, unset;
    PyObject *py_name, *py_handlers, *py_view;

    if (!PyArg_ParseTuple(arguments, "nUO!Onn", &argv, &py_name, &PyTuple_Type, &py_handlers, &py_view, &set, &unset) ||
        handlers_verify(py_handlers))
        return NULL;
    struct task *task = PyMem_Calloc(1, sizeof(*task));
    if (!task)
        return PyErr_NoMemory();
    task->argv = (const void *)argv;
    task->py_name = Py_NewRef(py_name);
    task->py_handlers = Py_NewRef(py_handlers);
    task->py_view = Py_NewRef(py_view);
    task->py_env = PyObject_GetAttrString(py_view, "env");
    task->py_others = task->py_env ? PyObject_GetAttrString(py_view, "job_control_env") : NULL;
    task->py_prepended = task->py_others ? PyObject_GetAttrString(py_view, "_prepended") : NULL;
    task->py_success = task->py_prepended ? Py_BuildValue("(iOi)", 0, Py_None, 0) : NULL;
    task->target.set = (int (*)(void *, const char *, const char *, int))set;
    task->target.unset = (int (*)(void *, const char *))unset;
    if (task->py_success &&
        (!PyObject_TypeCheck(task->py_env, &writes_type) || !PyObject_TypeCheck(task->py_others, &writes_type) ||
         !PyList_Check(task->py_prepended) || !set || !unset))
        PyErr_SetString(PyExc_TypeError, "a task's view has environments whose writes are kept here");
    if (PyErr_Occurred()) {
        forget(task);
        return NULL;
    }
    task->next = tasks->first;
    tasks->first = task;
    Py_RETURN_NONE;
}

static int tasks_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"fallback", "judge", "bug", NULL};
    struct tasks *tasks = (struct tasks *)self;
    PyObject *py_fallback, *py_judge, *py_bug;

    if (tasks->call) {
        PyErr_SetString(PyExc_TypeError, "an entry point is made once");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO", names, &py_fallback, &py_judge, &py_bug))
        return -1;
    tasks->call = tasks_call;
    tasks->py_fallback = Py_NewRef(py_fallback);
    tasks->py_judge = Py_NewRef(py_judge);
    tasks->py_bug = Py_NewRef(py_bug);
    return 0;
}

static void tasks_dealloc(PyObject *self)
{
    struct tasks *tasks = (struct tasks *)self;

    while (tasks->first) {
        struct task *task = tasks->first;
        tasks->first = task->next;
        forget(task);
    }
    Py_CLEAR(tasks->py_fallback);
    Py_CLEAR(tasks->py_judge);
    Py_CLEAR(tasks->py_bug);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef tasks_methods[] = {
    {"prepare", tasks_prepare, METH_VARARGS,
     "prepare(argv, name, handlers, view, set, unset): what the next such call runs; set and unset are addresses."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject tasks_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_slurmhooks_core.Tasks",
    .tp_doc = "Tasks(fallback, judge, bug): the entry point of SPANK's callbacks; see native/core/tasks.c.",
    .tp_basicsize = sizeof(struct tasks),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = PyType_GenericNew,
    .tp_init = tasks_init,
    .tp_dealloc = tasks_dealloc,
    .tp_vectorcall_offset = offsetof(struct tasks, call),
    .tp_call = PyVectorcall_Call,
    .tp_methods = tasks_methods,
};
