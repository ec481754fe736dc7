/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers questions of handlers that run after the answer, and so outside an exchange: slurmctld holds no locks for
 * them.
 *
 * Each observer process has a channel (slurmhooks/worker/observer.py), and each channel has a thread, which ends with
 * the channel. A thread may have to wait for slurmctld's locks, so no other thread may wait for it.
 */
#ifndef SLURMHOOKS_LATE_H
#define SLURMHOOKS_LATE_H

#include <stdint.h>

#include "client/client.h"

/* How a question is answered. */
struct slurmhooks_late {
    void (*lock)(void); /* waits for the locks that `query` needs */
    void (*unlock)(void);
    slurmhooks_query query; /* its context is a struct slurmhooks_whose, which precedes each question */
};

/* Identifies the request that a question is about. The same as WHOSE in slurmhooks/slurmctld/observation.py. */
struct slurmhooks_whose {
    uint32_t uid;    /* the user who submits or changes the job */
    uint32_t owner;  /* the owner of the job */
    uint32_t modify; /* 1 for an update */
    uint32_t unused;
};

/*
 * Stop answering questions, and wait until none is being answered. A thread that is waiting for the locks then releases
 * them unused.
 */
void late_stop(void);

/* Answer questions again. */
void late_start(void);

/* Start a thread for a channel. The channel is closed when the thread ends, or if it cannot be started. */
void late_serve(const struct slurmhooks_late *late, int channel);

#endif
