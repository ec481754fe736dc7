/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_INTERPRETER_H
#define SLURMHOOKS_INTERPRETER_H

#include <Python.h>

/*
 * Start CPython in this process, once; later calls cost a comparison.
 *
 * The caller holds the event lock, not the GIL, and gets it back that way.
 * RET 0, or -1 with the reason in Slurm's log; a failed start stays failed.
 */
int interpreter_start(void);

/* Whether it is this library that has started Python, which then runs as long as the process. */
int interpreter_is_ours(void);

/* The first entry point has been imported. Needs the GIL, and leaves no exception. */
void interpreter_loaded(void);

/* The modules that are part of this library (native/frozen.py). */
extern const struct _frozen slurmhooks_frozen_modules[];

/* Put the first arenas side by side (arena.c). Called once, before Python starts. */
void arena_install(void);

/* Make fork() safe from now on (fork.c). The caller holds the GIL. RET 0 or -1. */
int fork_install(void);

/* Make a thread state for the calling thread; safe against a fork in another one. The caller does not hold the GIL.
 * RET NULL if memory is short. */
PyThreadState *thread_state_new(void);

/* Let C code recurse only as deep as the stack of one of Slurm's threads is. */
void thread_state_fit_stack(PyThreadState *state);

/* End the calling thread's state, and let go of the GIL. */
void thread_state_drop(PyThreadState *state);

/* How often this process has been forked off since Python started: differs if a fork has happened in between. */
unsigned fork_generation(void);

/* The lock that serialises events (call.c), made new in a forked child: its owner may be a
 * thread that the child does not have. */
void event_lock_reset(void);

#endif
