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
