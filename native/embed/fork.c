/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmstepd forks each task, and srun and scrun fork helpers, when Python may already run. The child must get an
 * interpreter whose locks nobody holds.
 */
#include "embed/fork.h"

#include <pthread.h>

#include "embed/event_lock.h"
#include "log.h"

/*
 * Held while a thread state is created, which needs no GIL. A fork at that moment would leave the child with CPython's
 * list of thread states half changed and locked; CPython 3.11 then waits for that lock for ever.
 *
 * Lock order: the GIL, this lock.
 */
static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;

/* Passed from before() to after_in_parent() and after_in_child(); the forking thread holds the GIL from one to the
 * other. */
static int python_forks; /* os.fork() or subprocess forks: CPython calls its own fork handlers */
static PyGILState_STATE gil;

static unsigned generation;

/*
 * Slurm's threads have a stack of 1 MiB (STACK_SIZE in its macros.h). CPython 3.12 and 3.13 let C code recurse as deep
 * as a stack of 8 MiB allows, and crash; json.loads() of a user's text is enough. 3.11 has a lower limit, and 3.14
 * measures the stack.
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
    pthread_mutex_lock(&creating);
    PyThreadState *state = PyThreadState_New(PyInterpreterState_Main());
    pthread_mutex_unlock(&creating);
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
    int held = PyGILState_Check();
    PyGILState_STATE entered = held ? PyGILState_LOCKED : PyGILState_Ensure();

    python_forks = held;
    gil = entered;
    if (!held)
        PyOS_BeforeFork();
    pthread_mutex_lock(&creating);
}

static void after_in_parent(void)
{
    pthread_mutex_unlock(&creating);
    if (python_forks)
        return;
    PyOS_AfterFork_Parent();
    PyGILState_Release(gil);
}

static void after_in_child(void)
{
    pthread_mutex_unlock(&creating);
    event_lock_reset();
    generation++;
    if (python_forks)
        return;
    PyOS_AfterFork_Child();
    /* Not PyGILState_Release(): that would delete the child's only thread state, and CPython 3.11 aborts when the next
     * one is created (22.05's slurmd forks twice to start slurmstepd). Later events use this thread state. */
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
    /* CPython calls PyThread_tss_create() in each child. The dynamic linker finds it now, once for all of them. */
    Py_tss_t key = Py_tss_NEEDS_INIT;
    if (!PyThread_tss_create(&key))
        PyThread_tss_delete(&key);
    return 0;
}
