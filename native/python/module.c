/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "python/module.h"

#include <string.h>

#include "log.h"

PyObject *slurmhooks_text(const char *value)
{
    if (!value)
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(value, (Py_ssize_t)strlen(value), "surrogateescape");
}

PyObject *slurmhooks_log_line(PyObject *self, PyObject *arguments)
{
    const char *line;
    Py_ssize_t length; /* "y#" accepts NUL bytes, at which Slurm would cut off the line */
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
