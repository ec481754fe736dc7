/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way from slurmctld to the workers: opaque messages, bounded in time. No Python, no Slurm. */
#ifndef SLURMHOOKS_CLIENT_H
#define SLURMHOOKS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slurmhooks_client;

/* How an exchange ended. Everything except OK means that no handler's answer exists. */
enum slurmhooks_result {
    SLURMHOOKS_OK,
    SLURMHOOKS_TIMED_OUT,   /* a worker had the request and missed the deadline; it is being killed */
    SLURMHOOKS_WORKER_DIED, /* a worker had the request and ended without an answer */
    SLURMHOOKS_UNAVAILABLE, /* no worker had the request: none was free in time, or the hooks do not load */
    SLURMHOOKS_PROTOCOL,    /* a worker sent what it must not send; it is being killed */
};

/* Levels of log lines, the indices of slurmhooks.log.LEVELS. */
enum slurmhooks_level {
    SLURMHOOKS_ERROR,
    SLURMHOOKS_INFO,
    SLURMHOOKS_VERBOSE,
    SLURMHOOKS_DEBUG,
    SLURMHOOKS_DEBUG2,
    SLURMHOOKS_DEBUG3,
};

struct slurmhooks_client_config {
    /* The supervisor: absolute path of a Python, then its arguments; NULL at the end. Copied.
     * { PYTHON, "-I", "-m", "slurmhooks.worker", "MODULE:FUNCTION", NULL }, where FUNCTION loads the hooks
     * (slurmhooks/worker/service.py). */
    const char *const *command;
    /* One line for the log, without a line feed; called from any thread, and never with a lock held. */
    void (*log)(enum slurmhooks_level level, const char *line);
};

/* Largest message in either direction, in bytes. */
#define SLURMHOOKS_MESSAGE_MAX ((size_t)64 << 20)

/* Size of a buffer that any detail or reason fits in. */
#define SLURMHOOKS_DETAIL_MAX 512

/* Size of a buffer that any handler's name fits in. */
#define SLURMHOOKS_HANDLER_MAX 256

/* What a worker was doing when it failed, as far as it has said so. */
struct slurmhooks_failure {
    /* One line for the log: what happened, in which worker and in which handler; empty with SLURMHOOKS_OK. */
    char detail[SLURMHOOKS_DETAIL_MAX];
    char handler[SLURMHOOKS_HANDLER_MAX]; /* its name; empty: none was running */
    bool lenient;                         /* that handler's on_error is "accept" */
    bool all_lenient;                     /* that of all handlers of the hook is */
};

/*
 * Start the supervisor and the thread that watches it. Does not wait for workers: exchanges do.
 *
 * RET NULL with errno if memory or threads are short. A supervisor that cannot be started is logged and tried
 * again later: slurmctld starts in any case.
 */
struct slurmhooks_client *slurmhooks_client_start(const struct slurmhooks_client_config *config);

/*
 * Answer one question of a worker, in the thread that called slurmhooks_client_exchange().
 *
 * IN context: as given there; question, length: valid during the call.
 * OUT answer: from malloc(), freed by the client; may be NULL if answer_length is 0.
 * RET false: the question makes no sense. The exchange ends as SLURMHOOKS_PROTOCOL.
 */
typedef bool (*slurmhooks_query)(void *context, const void *question, size_t length, void **answer,
                                 size_t *answer_length);

/*
 * Wait until a worker serves.
 *
 * IN ms: at most so many milliseconds.
 * RET false: the hooks do not load, or not in that time. OUT reason: SLURMHOOKS_DETAIL_MAX bytes, one line.
 */
bool slurmhooks_client_wait(struct slurmhooks_client *client, unsigned ms, char *reason);

/* The deadline of a request that arrives now, for an exchange. IN ms: until then; 0: [job_submit] timeout. */
int64_t slurmhooks_client_deadline(struct slurmhooks_client *client, unsigned ms);

/*
 * Send a request to a worker and wait for its answer. Any number of threads may call this at the same time.
 *
 * IN deadline: from slurmhooks_client_deadline(); waiting for a free worker counts.
 * IN query: answers the worker's questions meanwhile; its time counts. NULL: the worker may ask nothing.
 * OUT answer, answer_length: only with SLURMHOOKS_OK; from malloc(), the caller frees. Never NULL then.
 * OUT failure: or NULL.
 */
enum slurmhooks_result slurmhooks_client_exchange(struct slurmhooks_client *client, const void *request, size_t length,
                                                  int64_t deadline, slurmhooks_query query, void *context,
                                                  void **answer, size_t *answer_length,
                                                  struct slurmhooks_failure *failure);

/* Nanoseconds that are left until a deadline; negative if it has passed. */
int64_t slurmhooks_client_left(int64_t deadline);

/* Whether [job_submit] on_unavailable is "accept"; false (reject) until the configuration was read. */
bool slurmhooks_client_accepts(struct slurmhooks_client *client);

/* Have running exchanges end, and all later ones at once, as SLURMHOOKS_UNAVAILABLE or SLURMHOOKS_WORKER_DIED. */
void slurmhooks_client_interrupt(struct slurmhooks_client *client);

/*
 * End the workers and the supervisor and free the client. Running exchanges end as SLURMHOOKS_UNAVAILABLE or
 * SLURMHOOKS_WORKER_DIED; none may start afterwards. Takes at most a few seconds, usually milliseconds.
 */
void slurmhooks_client_stop(struct slurmhooks_client *client);

#endif
