/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Newer slurmctlds answer RPCs from threads of a pool, older ones from a new thread each. Making a thread known to
 * Python and forgetting it again costs more than a short handler: so it stays known until it ends, and is then
 * forgotten when it holds none of Slurm's locks any more.
 *
 * What a thread's first call still costs is CPython's: 0.3 us in PyThreadState_New, and in 3.14 0.4 us more in
 * PyEval_RestoreThread, which asks pthread_getattr_np() for the stack.
 */
#include <Python.h>

#include <pthread.h>

#include "interpreter.h"

static pthread_key_t kept;
static int have_key;

void thread_state_drop(PyThreadState *state)
{
    PyThreadState_Clear(state);
    PyThreadState_DeleteCurrent();
}

/* The thread ends. */
static void end(void *state)
{
    PyEval_RestoreThread(state);
    thread_state_drop(state);
}

int thread_state_keep(PyThreadState *state)
{
    if (!interpreter_is_ours())
        return -1;
    if (!have_key && pthread_key_create(&kept, end))
        return -1;
    have_key = 1;
    return pthread_setspecific(kept, state) ? -1 : 0;
}

void thread_state_forked(void)
{
    if (have_key)
        pthread_setspecific(kept, NULL);
}
