/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event: what slurmctld's calls of job_submit and job_modify run into (slurmhooks.job_submit.entry).
 *
 * The same steps as slurmhooks.dispatch.run, without a frame of Python as long as handlers pass. What a handler's
 * exception comes to, and the answer with texts for the user, is Python's to say.
 */
#include "view.h"

#include "core/handler.h"

struct event {
    PyObject_HEAD vectorcallfunc call;
    char modify;
    PyTypeObject *job_type; /* what handlers get as job */
    PyObject *py_stored;    /* the compiled field of each member that can be written */
    PyObject *py_messages;  /* the texts for the user of the running call */
    PyObject *py_refresh;   /* refresh(): take up changed files, and arm the event anew */
    PyObject *py_judge;     /* judge(handler, error, job, savepoint): the answer, or None to go on */
    PyObject *py_answer;    /* answer(): of an event that passed, with messages */
    PyObject *py_bug;       /* bug(error): the answer to an error that is no handler's */
    PyObject *py_success;   /* the answer of an event that passed without messages */
    PyObject *py_handlers;  /* see core/handler.h */
    PyObject *py_prepare;   /* prepare(desc, record, uid): (owner, other arguments ...); None: not needed */
    PyObject *py_spare;     /* a job that nobody kept, for the next event */
    unsigned long thread;   /* that runs the handlers; 0: none does */
};

/* What the current event has. */
struct running {
    struct request *job;
    PyObject *py_others; /* what prepare() returned, or NULL */
    PyObject *arguments[HANDLER_MOST_ARGUMENTS];
    Py_ssize_t count;
};

static struct request *make_job(struct event *event, PyObject *address)
{
    void *pointer = PyLong_AsVoidPtr(address);

    if (!pointer) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "an event without a request");
        return NULL;
    }
    struct request *job = (struct request *)event->py_spare;
    event->py_spare = NULL;
    if (!job)
        job = (struct request *)event->job_type->tp_alloc(event->job_type, 0);
    if (job) {
        job->view.address = pointer;
        job->modify = event->modify;
    }
    return job;
}

/* Make what handlers can take. RET 0, or -1 with an exception; end() in both cases. */
static int begin(struct event *event, struct running *running, PyObject *const *given, Py_ssize_t count)
{
    running->job = make_job(event, given[0]);
    if (!running->job)
        return -1;
    running->arguments[0] = (PyObject *)running->job;
    running->arguments[1] = given[count - 1];
    running->count = 2;
    if (event->py_prepare == Py_None)
        return 0;
    running->py_others = PyObject_Vectorcall(event->py_prepare, given, (size_t)count, NULL);
    if (!running->py_others)
        return -1;
    if (!PyTuple_Check(running->py_others) || !PyTuple_GET_SIZE(running->py_others) ||
        PyTuple_GET_SIZE(running->py_others) > HANDLER_MOST_ARGUMENTS - 1) {
        PyErr_SetString(PyExc_TypeError, "prepare() returns a tuple");
        return -1;
    }
    Py_XSETREF(running->job->py_owner, Py_NewRef(PyTuple_GET_ITEM(running->py_others, 0)));
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(running->py_others); i++)
        running->arguments[running->count++] = PyTuple_GET_ITEM(running->py_others, i);
    return 0;
}

/* End all views. Keeps the current exception. */
static void end(struct event *event, struct running *running)
{
    PyObject *py_type, *py_value, *py_traceback;

    PyErr_Fetch(&py_type, &py_value, &py_traceback);
    for (Py_ssize_t i = 2; i < running->count; i++) {
        PyObject *py_result = PyObject_CallMethod(running->arguments[i], "close", NULL);
        if (!py_result)
            PyErr_WriteUnraisable(running->arguments[i]);
        Py_XDECREF(py_result);
    }
    Py_CLEAR(running->py_others);
    if (running->job) {
        request_end(running->job);
        if (Py_REFCNT(running->job) == 1 && !event->py_spare)
            event->py_spare = (PyObject *)running->job;
        else
            Py_DECREF(running->job);
    }
    PyErr_Restore(py_type, py_value, py_traceback);
}

/* Apply what was written; as model.Job.commit. RET 0 or -1. */
static int commit(struct event *event, struct request *job)
{
    PyObject *py_member, *py_raw, *py_writes = job->view.py_writes;
    Py_ssize_t position = 0;
    bool others = job->py_argv || variables_changed(job->py_environment) || variables_changed(job->py_spank_job_env);

    while (py_writes && PyDict_Next(py_writes, &position, &py_member, &py_raw)) {
        /* "" in a request means nothing; in an update it clears, as scontrol's own requests do. */
        bool empty = !job->modify && PyBytes_CheckExact(py_raw) && !PyBytes_GET_SIZE(py_raw);
        PyObject *py_field = PyDict_GetItemWithError(event->py_stored, py_member); /* borrowed */
        if (!py_field && PyErr_Occurred())
            return -1;
        if (!py_field)
            others = true;
        else if (field_store((struct field *)py_field, job->view.address, empty ? Py_None : py_raw))
            return -1;
    }
    if (!others)
        return 0;
    PyObject *py_result = PyObject_CallMethod((PyObject *)job, "_commit_others", "O", event->py_stored);
    Py_XDECREF(py_result);
    return py_result ? 0 : -1;
}

static PyObject *run_handlers(struct event *event, PyObject *handlers, const struct running *running)
{
    PyObject *py_verdict = handlers_run(handlers, running->arguments, (PyObject *)running->job, event->py_judge);

    if (py_verdict != Py_None)
        return py_verdict;
    Py_DECREF(py_verdict);
    if (commit(event, running->job))
        return NULL;
    return PyList_GET_SIZE(event->py_messages) ? PyObject_CallNoArgs(event->py_answer) : Py_NewRef(event->py_success);
}

static PyObject *run(struct event *event, PyObject *const *given, Py_ssize_t count)
{
    struct running running = {0};

    if (count != (event->modify ? 3 : 2)) {
        PyErr_Format(PyExc_TypeError, "an event does not have %zd arguments", count);
        return NULL;
    }
    if (PyList_GET_SIZE(event->py_messages) &&
        PyList_SetSlice(event->py_messages, 0, PyList_GET_SIZE(event->py_messages), NULL))
        return NULL;
    PyObject *py_result = PyObject_CallNoArgs(event->py_refresh);
    Py_XDECREF(py_result);
    if (!py_result)
        return NULL;
    if (!PyTuple_GET_SIZE(event->py_handlers))
        return Py_NewRef(event->py_success);
    PyObject *py_handlers = Py_NewRef(event->py_handlers);
    PyObject *py_answer = begin(event, &running, given, count) ? NULL : run_handlers(event, py_handlers, &running);
    end(event, &running);
    Py_DECREF(py_handlers);
    return py_answer;
}

static PyObject *event_call(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    struct event *event = (struct event *)self;
    (void)names;

    event->thread = PyThread_get_thread_ident();
    PyObject *py_answer = run(event, arguments, PyVectorcall_NARGS(count));
    if (!py_answer) {
        PyObject *py_error = exception_take();
        py_answer = PyObject_CallOneArg(event->py_bug, py_error);
        Py_DECREF(py_error);
    }
    event->thread = 0;
    return py_answer;
}

static PyObject *event_arm(PyObject *self, PyObject *arguments)
{
    struct event *event = (struct event *)self;
    PyObject *py_handlers, *py_prepare;

    if (!PyArg_ParseTuple(arguments, "O!O", &PyTuple_Type, &py_handlers, &py_prepare))
        return NULL;
    if (handlers_verify(py_handlers))
        return NULL;
    Py_SETREF(event->py_handlers, Py_NewRef(py_handlers));
    Py_SETREF(event->py_prepare, Py_NewRef(py_prepare));
    Py_RETURN_NONE;
}

static int event_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"job_type", "modify", "stored", "messages", "refresh",
                            "judge",    "answer", "bug",    "success",  NULL};
    struct event *event = (struct event *)self;
    PyObject *py_type, *py_stored, *py_messages, *py_refresh, *py_judge, *py_answer, *py_bug, *py_success;
    int modify;

    if (event->py_handlers) {
        PyErr_SetString(PyExc_TypeError, "an event is made once");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!pO!O!OOOOO!", names, &PyType_Type, &py_type, &modify,
                                     &PyDict_Type, &py_stored, &PyList_Type, &py_messages, &py_refresh, &py_judge,
                                     &py_answer, &py_bug, &PyTuple_Type, &py_success))
        return -1;
    if (!PyType_IsSubtype((PyTypeObject *)py_type, &request_type)) {
        PyErr_SetString(PyExc_TypeError, "an event's job is a Request");
        return -1;
    }
    event->py_handlers = PyTuple_New(0);
    if (!event->py_handlers)
        return -1;
    event->call = event_call;
    event->modify = (char)modify;
    event->job_type = (PyTypeObject *)Py_NewRef(py_type);
    event->py_stored = Py_NewRef(py_stored);
    event->py_messages = Py_NewRef(py_messages);
    event->py_refresh = Py_NewRef(py_refresh);
    event->py_judge = Py_NewRef(py_judge);
    event->py_answer = Py_NewRef(py_answer);
    event->py_bug = Py_NewRef(py_bug);
    event->py_success = Py_NewRef(py_success);
    event->py_prepare = Py_NewRef(Py_None);
    return 0;
}

static void event_dealloc(PyObject *self)
{
    struct event *event = (struct event *)self;

    Py_CLEAR(event->job_type);
    Py_CLEAR(event->py_stored);
    Py_CLEAR(event->py_messages);
    Py_CLEAR(event->py_refresh);
    Py_CLEAR(event->py_judge);
    Py_CLEAR(event->py_answer);
    Py_CLEAR(event->py_bug);
    Py_CLEAR(event->py_success);
    Py_CLEAR(event->py_handlers);
    Py_CLEAR(event->py_prepare);
    Py_CLEAR(event->py_spare);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef event_members[] = {
    {"thread", T_ULONG, offsetof(struct event, thread), READONLY, "The thread that runs the handlers; 0: none does."},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef event_methods[] = {
    {"arm", event_arm, METH_VARARGS, "arm(handlers, prepare): what the next events run."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject event_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_slurmhooks_view.Event",
    .tp_doc = "What runs the handlers of one hook, called with addresses and numbers; see native/job_submit/event.c.",
    .tp_basicsize = sizeof(struct event),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = PyType_GenericNew,
    .tp_init = event_init,
    .tp_dealloc = event_dealloc,
    .tp_vectorcall_offset = offsetof(struct event, call),
    .tp_call = PyVectorcall_Call,
    .tp_methods = event_methods,
    .tp_members = event_members,
};
