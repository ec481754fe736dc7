/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the Python modules share: texts, the environment of the process, and Slurm's log. */
#ifndef SLURMHOOKS_PYTHON_MODULE_H
#define SLURMHOOKS_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Decode a text as text_from_c() of slurmhooks/values.py does. RET new, None for NULL; or NULL with an exception. */
PyObject *slurmhooks_text(const char *value);

/* Decode the texts of an array, up to a count or (count < 0) to NULL; NULL is an empty array. RET new: a list. */
PyObject *slurmhooks_texts(char *const *values, int count);

PyObject *slurmhooks_get_variable(PyObject *self, PyObject *name);
PyObject *slurmhooks_set_variable(PyObject *self, PyObject *arguments);
PyObject *slurmhooks_variables(PyObject *self, PyObject *unused);

#define VARIABLE_METHODS                                                                                 \
    {"get_variable", slurmhooks_get_variable, METH_O, "Return a variable of the environment, or None."}, \
        {"set_variable", slurmhooks_set_variable, METH_VARARGS,                                          \
         "Set a variable of the environment, or with None delete it."},                                  \
        {"variables", slurmhooks_variables, METH_NOARGS, "Return the entries of the environment."}

/* The methods `log` and `syslog`. */
PyObject *slurmhooks_log_line(PyObject *self, PyObject *arguments);
PyObject *slurmhooks_syslog_line(PyObject *self, PyObject *line);

#define LOG_METHODS                                                             \
    {"log", slurmhooks_log_line, METH_VARARGS, "Write a line to Slurm's log."}, \
        {"syslog", slurmhooks_syslog_line, METH_O, "Write a line to the system's log."}

#endif
