/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Only one event (a call of Slurm that Python answers) runs at a time. The GIL is not enough for that: cffi releases it
 * around every C call, so two threads of slurmd could interleave inside one handler.
 *
 * Lock order: Slurm's locks, this lock, the GIL.
 */
#ifndef SLURMHOOKS_EMBED_EVENT_LOCK_H
#define SLURMHOOKS_EMBED_EVENT_LOCK_H

/* Wait until no event runs. RET 0, or an error number if the calling thread is already inside an event. */
int event_lock_take(void);

void event_lock_release(void);

/* Initialize the lock again in a forked child, where the thread that held it may not exist. */
void event_lock_reset(void);

#endif
