/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_EMBED_INTERPRETER_H
#define SLURMHOOKS_EMBED_INTERPRETER_H

/*
 * Start CPython in this process if it is not running yet. It is never finalized.
 *
 * The caller holds the event lock, and holds the GIL neither before nor after the call.
 *
 * RET 0, or -1 with the reason in Slurm's log. A failed start is not tried again.
 */
int interpreter_start(void);

/*
 * Enable garbage collection once the first entry point has been imported. The caller holds the GIL. Leaves no exception
 * set.
 */
void interpreter_loaded(void);

#endif
