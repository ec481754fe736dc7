/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events run one at a time: cffi lets go of the GIL around every C call, so the GIL alone would let two
 * threads of slurmd interleave inside one handler. Lock order: Slurm's locks, this one, the GIL.
 */
#ifndef SLURMHOOKS_EMBED_EVENT_LOCK_H
#define SLURMHOOKS_EMBED_EVENT_LOCK_H

/* Wait until no event runs. RET 0, or an error number: the calling thread is inside an event already. */
int event_lock_take(void);

void event_lock_release(void);

/* In a forked child: make the lock new. Its owner may be a thread that the child does not have. */
void event_lock_reset(void);

#endif
