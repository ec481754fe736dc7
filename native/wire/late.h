/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers questions of handlers that run after the answer, so in no exchange: slurmctld holds no locks for them.
 *
 * Each observer process has a channel (slurmhooks/worker/observer.py), and each channel a thread, which ends with it.
 * A thread may wait for slurmctld's locks, so nobody waits for a thread.
 */
#ifndef SLURMHOOKS_LATE_H
#define SLURMHOOKS_LATE_H

#include <stdint.h>

#include "wire/client.h"

/* How a question is answered. */
struct slurmhooks_late {
    void (*lock)(void); /* waits for the locks that `query` needs */
    void (*unlock)(void);
    slurmhooks_query query; /* gets a struct slurmhooks_whose as context; it precedes each question */
};

/* Whose request a question is about. The same as WHOSE in slurmhooks/slurmctld/observation.py. */
struct slurmhooks_whose {
    uint32_t uid;    /* the user who submits or changes the job */
    uint32_t owner;  /* the owner of the job */
    uint32_t modify; /* 1 for an update */
    uint32_t unused;
};

/* Have no question answered from now on, and wait until none is being answered. A thread that waits for the locks then
 * does nothing with them. */
void late_stop(void);

/* Have questions answered again. */
void late_start(void);

/* Start a thread for a channel, which is closed in the end; also if that fails. */
void late_serve(const struct slurmhooks_late *late, int channel);

#endif
