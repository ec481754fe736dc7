/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmstepd forks each task, and srun and scrun fork helpers, when Python may already run. The child must get an
 * interpreter whose locks nobody holds.
 */
#include "embed/fork.h"

#include <pthread.h>
#include <stdlib.h>

#include "embed/event_lock.h"
#include "log.h"

/*
 * Before CPython 3.13: held while a thread state is created, which needs no GIL. A fork at that moment would leave
 * CPython's list of thread states inconsistent and locked in the child, where CPython 3.11 would wait for that lock
 * forever. From 3.13 on, PyOS_BeforeFork() takes the lock of that list. With a second lock, a thread that creates a
 * state and one that forks would wait for each other.
 *
 * Lock order: the GIL, this lock.
 */
#if PY_VERSION_HEX < 0x030D0000
static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;

static void lock_states(void)
{
    pthread_mutex_lock(&creating);
}

static void unlock_states(void)
{
    pthread_mutex_unlock(&creating);
}
#else
static void lock_states(void)
{
}
static void unlock_states(void)
{
}
#endif

/* Passed from before() to after_in_parent() and after_in_child(); the forking thread holds the GIL from one to the
 * other. */
static int python_forks;         /* os.fork() or subprocess forks: CPython calls its own fork handlers */
static PyThreadState *only_here; /* created for this fork, or NULL */

static unsigned generation;
static int is_handlers;

/*
 * Slurm's threads have a stack of 1 MiB (STACK_SIZE in its macros.h). CPython 3.12 and 3.13 let C code recurse as
 * deeply as a stack of 8 MiB allows, which a smaller one does not hold. 3.11 has a lower limit, and 3.14 measures the
 * stack.
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
    lock_states();
    PyThreadState *state = PyThreadState_New(PyInterpreterState_Main());
    unlock_states();
    if (state)
        thread_state_fit_stack(state);
    return state;
}

unsigned fork_generation(void)
{
    return generation;
}

int fork_is_handlers(void)
{
    return is_handlers;
}

#if PY_VERSION_HEX < 0x030D0000
#define PyThreadState_GetUnchecked _PyThreadState_UncheckedGet
#endif

/*
 * RET whether the calling thread holds the GIL. PyGILState_Check() always returns true once there is a subinterpreter.
 */
static int holds_gil(void)
{
    PyThreadState *current = PyThreadState_GetUnchecked(); /* up to 3.11 this is the state of any thread */

    return current && current == PyGILState_GetThisThreadState();
}

static void before(void)
{
    int held = holds_gil();
    PyThreadState *created = NULL;

    if (!held) {
        PyThreadState *state = PyGILState_GetThisThreadState();
        if (!state)
            /* Not PyGILState_Ensure(), which does not take the lock. */
            state = created = thread_state_new();
        if (!state) {
            log_error("out of memory for a thread state of Python: a program of Slurm cannot fork");
            abort();
        }
        PyEval_RestoreThread(state);
        PyOS_BeforeFork();
    }
    python_forks = held;
    only_here = created;
    lock_states();
}

static void after_in_parent(void)
{
    unlock_states();
    if (python_forks)
        return;
    PyThreadState *created = only_here; /* read now: the next fork sets it as soon as it has the GIL */
    PyOS_AfterFork_Parent();
    if (created)
        thread_state_drop(created);
    else
        PyEval_SaveThread();
}

static void after_in_child(void)
{
    unlock_states();
    event_lock_reset();
    generation++;
    if (python_forks) {
        is_handlers = 1;
        return;
    }
    PyOS_AfterFork_Child();
    /* The child's only thread state is not deleted: CPython 3.11 would abort when the next one is created (22.05's
     * slurmd forks twice to start slurmstepd). Later events use it. */
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
    /* CPython calls PyThread_tss_create() in each child. Calling it here resolves the symbol once for all of them. */
    Py_tss_t key = Py_tss_NEEDS_INIT;
    if (!PyThread_tss_create(&key))
        PyThread_tss_delete(&key);
    return 0;
}
