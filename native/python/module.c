/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "python/module.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

PyObject *slurmhooks_text(const char *value)
{
    if (!value)
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(value, (Py_ssize_t)strlen(value), "surrogateescape");
}

PyObject *slurmhooks_texts(char *const *values, int count)
{
    PyObject *py_list = PyList_New(0);

    for (int i = 0; py_list && values && (count < 0 ? values[i] != NULL : i < count); i++) {
        PyObject *py_text = slurmhooks_text(values[i]);
        if (!py_text || PyList_Append(py_list, py_text))
            Py_CLEAR(py_list);
        Py_XDECREF(py_text);
    }
    return py_list;
}

PyObject *slurmhooks_get_variable(PyObject *self, PyObject *name)
{
    const char *bytes = PyBytes_AsString(name);

    (void)self;
    return bytes ? slurmhooks_text(getenv(bytes)) : NULL;
}

PyObject *slurmhooks_set_variable(PyObject *self, PyObject *arguments)
{
    const char *name;
    PyObject *py_value;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "yO", &name, &py_value))
        return NULL;
    const char *value = py_value == Py_None ? NULL : PyBytes_AsString(py_value);
    if (!value && py_value != Py_None)
        return NULL;
    if (value ? setenv(name, value, 1) : unsetenv(name))
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

PyObject *slurmhooks_variables(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return slurmhooks_texts(environ, -1);
}

PyObject *slurmhooks_log_line(PyObject *self, PyObject *arguments)
{
    const char *line;
    Py_ssize_t length; /* "y#" accepts NUL bytes, at which Slurm ends the line */
    int level;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "iy#", &level, &line, &length))
        return NULL;
    Py_BEGIN_ALLOW_THREADS slurmhooks_log(level, line);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

PyObject *slurmhooks_syslog_line(PyObject *self, PyObject *line)
{
    const char *bytes = PyBytes_AsString(line);

    (void)self;
    if (!bytes)
        return NULL;
    Py_BEGIN_ALLOW_THREADS slurmhooks_syslog(bytes);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}
