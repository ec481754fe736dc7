/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_WRITES_H
#define SLURMHOOKS_WRITES_H

#include <Python.h>

/* What handlers write to a mapping of text to text, kept until all have passed: the base of view.StagedMapping. */
struct writes {
    PyObject_HEAD PyObject *py_staged; /* by name: str, or None for deleted; NULL: nothing yet */
    void *handle;                      /* of whoever takes them, if C knows it */
    char alive;                        /* the call is not over */
};

extern PyTypeObject writes_type;

/* How C takes them: as setenv() and unsetenv(), with the handle in front. RET 0, or a code of its own. */
struct writes_target {
    int (*set)(void *handle, const char *name, const char *value, int overwrite);
    int (*unset)(void *handle, const char *name);
};

/* Apply all, and forget them. RET 0, or -1 without an exception: Python is to do it again, and say what is wrong. */
int writes_apply(struct writes *writes, const struct writes_target *target);

#endif
