/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "embed/core.h"

#include <Python.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "embed/deadline.h"
#include "embed/event_lock.h"
#include "embed/fork.h"
#include "embed/interpreter.h"
#include "log.h"

#define MOST_ARGUMENTS 16

/* RET the text of a str, or "?" with no exception. */
static const char *text_of(PyObject *py_text)
{
    const char *text = py_text ? PyUnicode_AsUTF8(py_text) : NULL;

    PyErr_Clear();
    return text ? text : "?";
}

/* Log a text, one log record per line. */
static void log_lines(const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        log_error("  %.*s", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

/*
 * Log the current exception, and clear it. This is the last resort, for a bug of slurmhooks or a process that has no
 * memory or no files left, so it imports nothing.
 */
static void log_exception(const struct slurmhooks_entry *entry)
{
    PyObject *py_type, *py_value, *py_traceback;

    PyErr_Fetch(&py_type, &py_value, &py_traceback);
    PyErr_NormalizeException(&py_type, &py_value, &py_traceback);
    log_error("%s.%s raised %s:", entry->module, entry->function, py_type ? ((PyTypeObject *)py_type)->tp_name : "?");
    PyObject *py_text = py_value ? PyObject_Str(py_value) : NULL;
    log_lines(text_of(py_text));
    Py_XDECREF(py_text);
    const PyTracebackObject *trace =
        py_traceback && PyTraceBack_Check(py_traceback) ? (const PyTracebackObject *)py_traceback : NULL;
    for (; trace; trace = trace->tb_next) {
        PyCodeObject *py_code = PyFrame_GetCode(trace->tb_frame);
        log_error("  File \"%s\", line %d, in %s", text_of(py_code->co_filename),
                  PyCode_Addr2Line(py_code, trace->tb_lasti), text_of(py_code->co_name));
        Py_DECREF(py_code);
    }
    Py_XDECREF(py_type);
    Py_XDECREF(py_value);
    Py_XDECREF(py_traceback);
}

/* Look up the Python function of an entry, once per process. RET borrowed, or NULL with an exception. */
static PyObject *look_up(struct slurmhooks_entry *entry)
{
    if (!entry->cached) {
        PyObject *py_module = PyImport_ImportModule(entry->module);
        if (!py_module)
            return NULL;
        interpreter_loaded();
        entry->cached = PyObject_GetAttrString(py_module, entry->function);
        Py_DECREF(py_module);
    }
    return entry->cached;
}

/* Call a function with ints. RET new, or NULL with an exception. */
static PyObject *call_function(PyObject *function, const intptr_t *arguments, int count)
{
    PyObject *py_result = NULL;
    /* The first element is reserved for the `self` of a bound method: see PY_VECTORCALL_ARGUMENTS_OFFSET. */
    PyObject *py_numbers[1 + MOST_ARGUMENTS] = {NULL};
    int converted = 0;

    if (count > MOST_ARGUMENTS) {
        PyErr_Format(PyExc_TypeError, "an entry point takes at most %d arguments, not %d", MOST_ARGUMENTS, count);
        return NULL;
    }
    while (converted < count && (py_numbers[1 + converted] = PyLong_FromSsize_t(arguments[converted])))
        converted++;
    if (converted == count)
        py_result = PyObject_Vectorcall(function, py_numbers + 1, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    while (converted)
        Py_DECREF(py_numbers[converted--]);
    return py_result;
}

/* Read the result (rc, message, detail) of an entry point. RET 0, or -1 with an exception. */
static int unpack(PyObject *py_result, struct slurmhooks_outcome *outcome)
{
    if (!PyTuple_Check(py_result) || PyTuple_GET_SIZE(py_result) != 3) {
        PyErr_Format(PyExc_TypeError, "an entry point returns (int, bytes or None, int), not %R", py_result);
        return -1;
    }
    PyObject *py_message = PyTuple_GET_ITEM(py_result, 1); /* borrowed */
    long rc = PyLong_AsLong(PyTuple_GET_ITEM(py_result, 0));
    if (rc == -1 && PyErr_Occurred())
        return -1;
    long detail = PyLong_AsLong(PyTuple_GET_ITEM(py_result, 2));
    if (detail == -1 && PyErr_Occurred())
        return -1;
    if (rc < INT_MIN || rc > INT_MAX) {
        PyErr_Format(PyExc_OverflowError, "the return code %ld does not fit into an int", rc);
        return -1;
    }
    if (py_message != Py_None) {
        char *bytes;
        if (PyBytes_AsStringAndSize(py_message, &bytes, NULL))
            return -1;
        outcome->message = strdup(bytes);
        if (!outcome->message) {
            PyErr_NoMemory();
            return -1;
        }
    }
    outcome->rc = (int)rc;
    outcome->detail = detail;
    return 0;
}

/* As slurmhooks_call_f; the caller holds the event lock. */
static int call_locked(struct slurmhooks_entry *entry, struct slurmhooks_outcome *outcome, const intptr_t *arguments,
                       int count)
{
    int rc = -1;

    if (interpreter_start())
        return -1;
    unsigned before = fork_generation();
    PyThreadState *existing = PyGILState_GetThisThreadState();
    PyThreadState *state = existing ? existing : thread_state_new();
    if (!state) {
        log_error("%s.%s: out of memory for a thread state of Python", entry->module, entry->function);
        return -1;
    }
    PyEval_RestoreThread(state);
    PyObject *py_function = look_up(entry); /* borrowed */
    PyObject *py_result = py_function ? call_function(py_function, arguments, count) : NULL;
    if (py_result)
        rc = unpack(py_result, outcome);
    if (rc)
        log_exception(entry);
    Py_XDECREF(py_result);
    deadline_over();
    if (fork_generation() != before) {
        /*
         * This process was forked by a handler. If it returned to Slurm, it would become a second slurmd or a second
         * task.
         */
        log_error("%s.%s: a handler has forked and its child came back, which ends here: have it call os._exit()",
                  entry->module, entry->function);
        _exit(1);
    }
    if (existing)
        PyEval_SaveThread();
    else
        thread_state_drop(state);
    return rc;
}

static int call(struct slurmhooks_entry *entry, struct slurmhooks_outcome *outcome, const intptr_t *arguments,
                int count)
{
    memset(outcome, 0, sizeof(*outcome));
    int rc = event_lock_take();
    if (rc) {
        log_error("%s.%s: an event inside an event is refused (error %d)", entry->module, entry->function, rc);
        return -1;
    }
    rc = call_locked(entry, outcome, arguments, count);
    event_lock_release();
    return rc;
}

__attribute__((visibility("default"))) const struct slurmhooks_core slurmhooks_core = {
    .abi = SLURMHOOKS_CORE_ABI,
    .call = call,
};
