/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forks with an interpreter in the process, and the thread states that have to survive them. */
#ifndef SLURMHOOKS_EMBED_FORK_H
#define SLURMHOOKS_EMBED_FORK_H

#include <Python.h>

/* Make fork() safe from now on. The caller holds the GIL. RET 0 or -1. */
int fork_install(void);

/* How often this process has been forked off since Python started: differs if a fork has happened in between. */
unsigned fork_generation(void);

/* Make a thread state for the calling thread; safe against a fork in another one. The caller does not hold the GIL.
 * RET NULL if memory is short. */
PyThreadState *thread_state_new(void);

/* Let C code recurse only as deep as the stack of one of Slurm's threads is. */
void thread_state_fit_stack(PyThreadState *state);

/* End the calling thread's state, and let go of the GIL. */
void thread_state_drop(PyThreadState *state);

#endif
