/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmstepd forks every task, srun and scrun fork helpers, all after Python has started. The child
 * must find an interpreter whose locks nobody holds.
 */
#include <Python.h>

#include <pthread.h>

#include "interpreter.h"
#include "log.h"

/* Written between prepare and parent/child, during which the forking thread holds the GIL. */
static int python_forks;
static PyGILState_STATE gil;

static void before(void)
{
    /* os.fork, subprocess: CPython has called its own handlers, and holds the GIL. */
    if (PyGILState_Check()) {
        python_forks = 1;
        return;
    }
    gil = PyGILState_Ensure();
    python_forks = 0;
    PyOS_BeforeFork();
}

static void after_in_parent(void)
{
    if (python_forks)
        return;
    PyOS_AfterFork_Parent();
    PyGILState_Release(gil);
}

static void after_in_child(void)
{
    event_lock_reset();
    if (python_forks)
        return;
    PyOS_AfterFork_Child();
    /* Not PyGILState_Release(): it would delete the only thread state of the child, and CPython 3.11 aborts
     * when the next one is made (slurmd forks twice to start slurmstepd). Kept, it serves the events to come. */
    PyEval_SaveThread();
}

int fork_install(void)
{
    static int installed;

    if (installed)
        return 0;
    int rc = pthread_atfork(before, after_in_parent, after_in_child);
    if (rc) {
        log_error("pthread_atfork failed: error %d", rc);
        return -1;
    }
    installed = 1;
    return 0;
}
