/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls the handlers of an event from C, without a frame of Python as long as they pass; as dispatch.run does. */
#ifndef SLURMHOOKS_HANDLER_H
#define SLURMHOOKS_HANDLER_H

#include <Python.h>

/* Most arguments that a handler can have: those of hook.job_modify. */
#define HANDLER_MOST_ARGUMENTS 8

/*
 * Whether each handler of a tuple is what handlers_run() relies on, as Handler.bound() makes it:
 * (function, (place of each argument ...), lenient, handler). RET 0, or -1 with an exception.
 */
int handlers_verify(PyObject *handlers);

/*
 * Run handlers one after the other, until one refuses.
 *
 * IN handlers  see above
 * IN arguments by their places; HANDLER_MOST_ARGUMENTS of them, NULL where there is none
 * IN view      what they may write to: asked for its savepoint() if a handler is lenient
 * IN judge     judge(handler, error, result, view, savepoint): the answer, or None to go on; for one that did not pass
 * RET new: Py_None if all passed, an answer to stop with; NULL with an exception that is not a handler's.
 */
PyObject *handlers_run(PyObject *handlers, PyObject *const *arguments, PyObject *view, PyObject *judge);

/* The current exception as an object, cleared. RET new; NULL only if there is none. */
PyObject *exception_take(void);

#endif
