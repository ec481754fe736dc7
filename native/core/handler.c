/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "handler.h"

static int verify(PyObject *bound)
{
    if (!PyTuple_Check(bound) || PyTuple_GET_SIZE(bound) != 4)
        return -1;
    PyObject *py_places = PyTuple_GET_ITEM(bound, 1); /* borrowed */
    if (!PyTuple_Check(py_places) || PyTuple_GET_SIZE(py_places) > HANDLER_MOST_ARGUMENTS)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(py_places); i++) {
        PyObject *py_place = PyTuple_GET_ITEM(py_places, i);
        long place = PyLong_Check(py_place) ? PyLong_AsLong(py_place) : -1;
        if (place < 0 || place >= HANDLER_MOST_ARGUMENTS)
            return -1;
    }
    return 0;
}

int handlers_verify(PyObject *handlers)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(handlers); i++)
        if (verify(PyTuple_GET_ITEM(handlers, i))) {
            PyErr_Clear();
            PyErr_SetString(PyExc_TypeError, "a handler is (function, places of its arguments, lenient, handler)");
            return -1;
        }
    return 0;
}

/* Call it with what it takes. RET new, or NULL with its exception. */
static PyObject *call(PyObject *bound, PyObject *const *given)
{
    PyObject *py_places = PyTuple_GET_ITEM(bound, 1); /* borrowed */
    /* One in front for a bound method's self. */
    PyObject *arguments[1 + HANDLER_MOST_ARGUMENTS] = {NULL};
    Py_ssize_t count = PyTuple_GET_SIZE(py_places);

    for (Py_ssize_t i = 0; i < count; i++) {
        arguments[1 + i] = given[PyLong_AsLong(PyTuple_GET_ITEM(py_places, i))];
        if (!arguments[1 + i]) {
            PyErr_SetString(PyExc_SystemError, "a handler takes an argument that its event does not have");
            return NULL;
        }
    }
    return PyObject_Vectorcall(PyTuple_GET_ITEM(bound, 0), arguments + 1,
                               (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

PyObject *exception_take(void)
{
    PyObject *py_type, *py_value, *py_traceback;

    PyErr_Fetch(&py_type, &py_value, &py_traceback);
    PyErr_NormalizeException(&py_type, &py_value, &py_traceback);
    if (py_value && py_traceback)
        PyException_SetTraceback(py_value, py_traceback);
    Py_XDECREF(py_type);
    Py_XDECREF(py_traceback);
    return py_value;
}

/* Run one handler. RET as handlers_run(). */
static PyObject *run(PyObject *bound, PyObject *const *arguments, PyObject *view, PyObject *judge)
{
    PyObject *py_savepoint = Py_NewRef(Py_None);

    if (PyTuple_GET_ITEM(bound, 2) == Py_True) {
        Py_SETREF(py_savepoint, PyObject_CallMethod(view, "savepoint", NULL));
        if (!py_savepoint)
            return NULL;
    }
    PyObject *py_result = call(bound, arguments);
    if (py_result != Py_None) {
        PyObject *py_error = py_result ? Py_NewRef(Py_None) : exception_take();
        PyObject *py_verdict = PyObject_CallFunctionObjArgs(judge, PyTuple_GET_ITEM(bound, 3), py_error,
                                                            py_result ? py_result : Py_None, view, py_savepoint, NULL);
        Py_XDECREF(py_error);
        Py_XSETREF(py_result, py_verdict);
    }
    Py_DECREF(py_savepoint);
    return py_result;
}

PyObject *handlers_run(PyObject *handlers, PyObject *const *arguments, PyObject *view, PyObject *judge)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(handlers); i++) {
        PyObject *py_verdict = run(PyTuple_GET_ITEM(handlers, i), arguments, view, judge);
        if (py_verdict != Py_None)
            return py_verdict;
        Py_DECREF(py_verdict);
    }
    return Py_NewRef(Py_None);
}
