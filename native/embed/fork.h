/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes forks safe in a process that runs Python, and creates thread states that are safe against forks. */
#ifndef SLURMHOOKS_EMBED_FORK_H
#define SLURMHOOKS_EMBED_FORK_H

#include <Python.h>

/* Make fork() safe from now on. The caller holds the GIL. RET 0, or -1 with the reason in Slurm's log. */
int fork_install(void);

/* RET a number that is larger in a forked child than in its parent. */
unsigned fork_generation(void);

/* RET whether a handler forked this process or one of its ancestors, so that it is not one of Slurm's processes. */
int fork_is_handlers(void);

/* Create a thread state for the calling thread, which does not hold the GIL. RET NULL if memory is short. */
PyThreadState *thread_state_new(void);

/* Limit the recursion of C code to what fits on the stack of Slurm's threads. */
void thread_state_fit_stack(PyThreadState *state);

/* Delete the calling thread's state, and release the GIL. */
void thread_state_drop(PyThreadState *state);

#endif
