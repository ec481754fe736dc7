/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmstepd forks every task, srun and scrun fork helpers, all after Python has started. The child
 * must find an interpreter whose locks nobody holds.
 */
#include "embed/fork.h"

#include <pthread.h>

#include "embed/event_lock.h"
#include "log.h"

/*
 * Held while a thread state is made, which happens without the GIL: a fork in the middle would leave CPython's list of
 * them half changed and its lock taken, and 3.11 waits for that lock in the child. Lock order: the GIL, this one.
 */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

/* Written between prepare and parent/child, during which the forking thread holds the GIL. */
static int python_forks;
static PyGILState_STATE gil;

static unsigned generation;

/*
 * Slurm's threads have 1 MiB of stack (STACK_SIZE of its macros.h). CPython 3.12 and 3.13 let C code recurse as deep as
 * 8 MiB would do, and crash: json.loads() of a user's text is enough. 3.11 counts less deep, 3.14 looks at the stack.
 */
#define C_RECURSION_LIMIT 1000

void thread_state_fit_stack(PyThreadState *state)
{
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
    state->c_recursion_remaining = C_RECURSION_LIMIT;
#else
    (void)state;
#endif
}

void thread_state_drop(PyThreadState *state)
{
    PyThreadState_Clear(state);
    PyThreadState_DeleteCurrent();
}

PyThreadState *thread_state_new(void)
{
    pthread_mutex_lock(&making);
    PyThreadState *state = PyThreadState_New(PyInterpreterState_Main());
    pthread_mutex_unlock(&making);
    if (state)
        thread_state_fit_stack(state);
    return state;
}

unsigned fork_generation(void)
{
    return generation;
}

static void before(void)
{
    /* os.fork, subprocess: CPython has called its own handlers, and holds the GIL. */
    int held = PyGILState_Check();
    PyGILState_STATE entered = held ? PyGILState_LOCKED : PyGILState_Ensure();

    python_forks = held;
    gil = entered;
    if (!held)
        PyOS_BeforeFork();
    pthread_mutex_lock(&making);
}

static void after_in_parent(void)
{
    pthread_mutex_unlock(&making);
    if (python_forks)
        return;
    PyOS_AfterFork_Parent();
    PyGILState_Release(gil);
}

static void after_in_child(void)
{
    pthread_mutex_unlock(&making);
    event_lock_reset();
    generation++;
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
    /* Called in each child by CPython: looked up now, in all libraries, it is not in each child. */
    Py_tss_t key = Py_tss_NEEDS_INIT;
    if (!PyThread_tss_create(&key))
        PyThread_tss_delete(&key);
    return 0;
}
