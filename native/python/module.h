/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text conversion and Slurm's log, for the Python modules that do not use cffi. */
#ifndef SLURMHOOKS_PYTHON_MODULE_H
#define SLURMHOOKS_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/*
 * Decode a text as text_from_c() of slurmhooks/values.py does. RET new (None for a NULL text), or NULL with an
 * exception.
 */
PyObject *slurmhooks_text(const char *value);

/* The methods `log` and `syslog`. */
PyObject *slurmhooks_log_line(PyObject *self, PyObject *arguments);
PyObject *slurmhooks_syslog_line(PyObject *self, PyObject *line);

#define LOG_METHODS                                                             \
    {"log", slurmhooks_log_line, METH_VARARGS, "Write a line to Slurm's log."}, \
        {"syslog", slurmhooks_syslog_line, METH_O, "Write a line to the system's log."}

#endif
