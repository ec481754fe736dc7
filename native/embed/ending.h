/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_EMBED_ENDING_H
#define SLURMHOOKS_EMBED_ENDING_H

#include "protocol.h"

/* Set the name of slurmstepd's step, in the form that scancel takes. */
void ending_set_step(const char *name);

/*
 * Prepare the end of this process because of a handler: log it, and cancel the step of slurmstepd. The caller then ends
 * the process. May be called in a signal handler: if a call is interrupted by another one (it may be waiting for the
 * lock of Slurm's log), the new call continues with the next action.
 *
 * IN text  which handler, and what is wrong
 */
void ending_announce(const char *text, enum ends ends);

#endif
