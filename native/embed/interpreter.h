/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_EMBED_INTERPRETER_H
#define SLURMHOOKS_EMBED_INTERPRETER_H

/*
 * Start CPython in this process, once; later calls cost a comparison.
 *
 * The caller holds the event lock, not the GIL, and gets it back that way.
 * RET 0, or -1 with the reason in Slurm's log; a failed start stays failed.
 */
int interpreter_start(void);

/* The first entry point has been imported. Needs the GIL, and leaves no exception. */
void interpreter_loaded(void);

#endif
