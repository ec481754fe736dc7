/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the threads that exchange and the one that watches the supervisor share. */
#ifndef SLURMHOOKS_POOL_H
#define SLURMHOOKS_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/client.h"
#include "wire/lines.h"

struct worker {
    struct worker *next;
    pid_t pid;
    uint32_t generation;
    int channel;
    int page; /* what the worker says it is doing: see read_page() */
    uint32_t requests;
    bool busy; /* a thread uses it, outside of the lock, and discards it if it is not to be used again */
    bool dead;
};

struct slurmhooks_client {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a worker is free, or something below has changed */
    struct worker *workers; /* the last one used comes first: its memory is in the caches */
    uint32_t serving;       /* workers of earlier generations are not used any more */
    unsigned timeout_ms;
    bool accepts;
    bool stopping;
    bool unavailable; /* the hooks do not load */
    unsigned exchanges;
    int control; /* to the supervisor; -1: there is none. Written to under the lock. */
    char reason[SLURMHOOKS_DETAIL_MAX];

    /* Of the monitor alone. */
    pid_t supervisor;
    int64_t started;
    int64_t restart;
    unsigned backoff_ms;
    struct lines lines;

    /* Constant. */
    pthread_t monitor;
    int wake; /* eventfd: stopping */
    int output[2];
    char **command;
    void (*log)(enum slurmhooks_level level, const char *line);
};

/* Log one line. Not with the lock held. */
void pool_log(struct slurmhooks_client *client, enum slurmhooks_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Take a worker out of the list, which nobody uses, and free it. IN kill: with all programs that it started.
 * Call with the lock held. */
void pool_discard(struct slurmhooks_client *client, struct worker *worker, bool kill);

/* The thread that starts the supervisor and listens to it. IN client. */
void *monitor_run(void *client);

#endif
