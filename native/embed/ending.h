/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_EMBED_ENDING_H
#define SLURMHOOKS_EMBED_ENDING_H

/* What ends with a handler that cannot be ended otherwise, as in slurmhooks/deadline.py. */
enum ends { ENDS_NOTHING, ENDS_PROCESS, ENDS_STEP, ENDS_TASK };

/* Tell the step of slurmstepd, as scancel takes it. */
void ending_set_step(const char *name);

/*
 * Do what is to be done before this process ends because of a handler: log it, and cancel the step of slurmstepd. The
 * caller then ends the process. For signal handlers: a call that interrupts another one, which may wait for a lock of
 * Slurm's log, continues with the next step.
 *
 * IN text  which handler, and what is wrong
 */
void ending_announce(const char *text, enum ends ends);

#endif
