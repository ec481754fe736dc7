/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_EMBED_INTERPRETER_H
#define SLURMHOOKS_EMBED_INTERPRETER_H

/*
 * Start CPython in this process, if it does not run yet. It is never finalized.
 *
 * The caller holds the event lock, and does not hold the GIL, neither before nor after the call.
 *
 * RET 0, or -1 with the reason in Slurm's log. A failed start is not tried again.
 */
int interpreter_start(void);

/* Tell that the first entry point has been imported. The caller holds the GIL. Leaves no exception. */
void interpreter_loaded(void);

#endif
