/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The compiled side of job_submit's views, and of one event.
 *
 * slurmctld holds its locks while handlers run, so what every event does is C: enter, look whether hook files changed,
 * make the view, call the handlers, apply what they wrote (event.c), read and stage the common fields (field.c; lua.c
 * for Lua), look a variable up (variables.c). What is rarer, or has to be explained, is Python: model.py, native.py,
 * entry.py and lua/job_submit.py.
 */
#ifndef SLURMHOOKS_VIEW_H
#define SLURMHOOKS_VIEW_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <stdbool.h>
#include <stdint.h>

/* Slurm's allocator, to which all texts and arrays of a request belong. Ends the process if memory is short. */
extern void *slurm_xcalloc(size_t count, size_t size, bool clear, bool may_fail, const char *file, int line,
                           const char *function);
extern char *slurm_xstrdup(const char *text);
extern void slurm_xfree(void **item);

/* A view of one C struct: the base class of slurmhooks.job_submit.model._View. */
struct view {
    PyObject_HEAD char *address; /* NULL: the call is over, or this is no struct in C but a stand-in for one */
    PyObject *py_struct;         /* cffi's pointer, for the rarer fields; NULL until one of them is asked for */
    PyObject *py_writes;         /* staged raw values by member: int, bytes or None; NULL: none yet */
};

/* The view of a job_desc_msg_t: the base class of slurmhooks.job_submit.model.Job. */
struct request {
    struct view view;
    PyObject *py_owner;         /* whose job it is, where the request does not say; NULL is None in all four */
    PyObject *py_argv;          /* staged: a list of bytes */
    PyObject *py_environment;   /* the mapping, once it was asked for */
    PyObject *py_spank_job_env; /* likewise */
    char modify;                /* it is an update */
};

/* Where an array of texts is in its struct, and the uint32_t beside it that counts them. */
struct array_place {
    Py_ssize_t array;
    Py_ssize_t count;
};

struct field;

extern PyTypeObject field_type;
extern PyTypeObject lua_type;
extern PyTypeObject mapping_type;
extern PyTypeObject variables_type;
extern PyTypeObject view_type;
extern PyTypeObject request_type;
extern PyTypeObject event_type;

/* The value of a field. IN view - whose call is not over. RET new. */
PyObject *field_read(struct field *field, struct view *view);

/* Stage what a handler wrote. RET 1; 0: Python must look at the value, and explain what is wrong with it; -1 error. */
int field_stage(struct field *field, struct view *view, PyObject *value);

/* Put a staged raw value into the struct, text with Slurm's allocator. RET 0 or -1. */
int field_store(const struct field *field, char *address, PyObject *raw);

/* Whether a text is NULL, staged or in the struct. RET 1, 0, or -1 error. */
int field_is_null(struct field *field, struct view *view);

/* What is staged for members of a view. RET borrowed, made if need be; NULL: error. */
PyObject *view_writes(struct view *view);

/* Raise what Python says of a view that is over. */
PyObject *view_over(PyObject *view);

/*
 * Refuse every later use of a request, of its environments too. Environments that nobody else holds stay where they
 * are, for the next request that this object may be the view of.
 */
void request_end(struct request *request);

/* The mapping of one of the request's environments. RET new. */
PyObject *mapping_read(PyObject *mapping, struct request *request);

/* Refuse every later use of an environment, and drop it if somebody else holds it. */
void variables_end(PyObject **slot);

/* Whether an environment is the one of a call that is over, kept for the next; a stand-in's never is. */
bool variables_over(PyObject *variables);

/* Whether something is staged in an environment. */
bool variables_changed(PyObject *variables);

/* Whether the struct at an address has an array, be it empty. */
bool array_is_there(const char *address, const struct array_place *place);

/* RET borrowed text behind "NAME=" in the first item of an environment array that begins with it, or NULL. */
const char *array_find(const char *address, const struct array_place *place, const char *name, size_t length);

#endif
