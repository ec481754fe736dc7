/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a client, which its monitor thread (monitor.c) and the threads in exchanges (exchange.c) share. */
#ifndef SLURMHOOKS_POOL_H
#define SLURMHOOKS_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/client.h"
#include "client/output.h"

struct worker {
    struct worker *next;
    pid_t pid; /* as a generation, which cannot be trusted, has named it; never to be used in a system call */
    uint32_t generation;
    int channel;
    int page; /* descriptor of the status page, in which the worker reports what it is doing: see read_page() */
    uint32_t requests;
    bool busy; /* in use by a thread, without the lock; that thread discards the worker afterwards if it is dead */
    bool dead; /* not to be used again */
};

struct slurmhooks_client {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a worker is free, or a member below has changed */
    struct worker *workers; /* the most recently used first: its memory is in the processor's caches */
    uint32_t serving;       /* the present generation; workers of earlier generations are no longer used */
    unsigned timeout_ms;
    bool accepts; /* on_unavailable of the plugin's section is "accept" */
    bool stopping;
    bool unavailable; /* the hooks do not load, or no supervisor runs; `reason` says why */
    unsigned exchanges;
    int control; /* socket to the supervisor, or -1; messages are sent with the lock held */
    char reason[SLURMHOOKS_DETAIL_MAX];

    /* Used by the monitor thread only. */
    pid_t supervisor;    /* 0: none runs */
    int64_t started;     /* when, by channel_now() */
    int64_t restart;     /* when to start the supervisor again; 0: it is running */
    unsigned backoff_ms; /* the last delay of a restart; 0: there was none */
    struct lines lines;

    /* Constant while the client exists. */
    pthread_t monitor;
    int wake; /* eventfd that tells the monitor to stop */
    int output[2];
    char **command;
    void (*log)(enum slurmhooks_level level, const char *line);
    const struct slurmhooks_late *late;
};

/* Log one line. The caller does not hold the lock. */
void pool_log(struct slurmhooks_client *client, enum slurmhooks_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Have a worker killed, with all programs that it has started. Its parent does this: a process id from a process of
 * another user proves nothing. The caller holds the lock.
 */
void pool_kill(struct slurmhooks_client *client, const struct worker *worker);

/*
 * Remove a worker from the list, close its descriptors, and free it. No thread may be using the worker. The caller
 * holds the lock.
 *
 * IN kill  whether to kill it, with all programs that it has started
 */
void pool_discard(struct slurmhooks_client *client, struct worker *worker, bool kill);

/* The function of the monitor thread, which starts the supervisor and reads its messages. IN client. */
void *monitor_run(void *client);

#endif
