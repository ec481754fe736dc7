/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects a process of Slurm from the handler that runs in it: the handler must not end it or leave it damaged.
 */
#ifndef SLURMHOOKS_EMBED_GUARD_H
#define SLURMHOOKS_EMBED_GUARD_H

#include <Python.h>

#include "embed/ending.h"

/*
 * Make os._exit() raise SystemExit in processes of Slurm, and watch for exit(). The caller holds the GIL. RET 0, or -1
 * with an exception.
 */
int guard_install(void);

/*
 * Begin to guard this process. The caller is the thread that runs the handler.
 *
 * IN what  the handler, for messages; copied
 * IN ends  what a crash ends
 */
void guard_begin(const char *what, enum ends ends);

/* Change the description of what runs, for messages; copied. */
void guard_describe(const char *what);

/*
 * Stop guarding, and restore what the handler has left changed. Does not return in a child that the handler has forked,
 * nor if the handler has closed the descriptors of the process.
 *
 * RET what was restored, or NULL
 */
const char *guard_end(void);

#endif
