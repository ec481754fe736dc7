/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects a process of Slurm from the handler that runs in it: what it may not end, and what it may not leave behind.
 */
#ifndef SLURMHOOKS_EMBED_GUARD_H
#define SLURMHOOKS_EMBED_GUARD_H

#include <Python.h>

#include "embed/ending.h"

/* Have os._exit() raise SystemExit in processes of Slurm. The caller holds the GIL. RET 0, or -1 with an exception. */
int guard_install(void);

/*
 * Begin to guard this process. The caller is the thread that runs the handler.
 *
 * IN what  the handler, for messages; copied
 * IN ends  what a crash ends
 */
void guard_begin(const char *what, enum ends ends);

/*
 * Stop guarding, and put back what the handler has left changed. Does not return in a child that it has forked, nor if
 * it has closed the descriptors of the process.
 *
 * RET what was put back, or NULL
 */
const char *guard_end(void);

#endif
