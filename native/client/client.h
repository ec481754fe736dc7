/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exchanges messages with workers, each within a deadline. Does not interpret the messages. Needs neither Python nor
 * Slurm.
 */
#ifndef SLURMHOOKS_CLIENT_H
#define SLURMHOOKS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

struct slurmhooks_client;
struct slurmhooks_late;

/* Levels of log lines: indices into slurmhooks.log.LEVELS. */
enum slurmhooks_level {
    SLURMHOOKS_ERROR,
    SLURMHOOKS_INFO,
    SLURMHOOKS_VERBOSE,
    SLURMHOOKS_DEBUG,
    SLURMHOOKS_DEBUG2,
    SLURMHOOKS_DEBUG3,
};

struct slurmhooks_client_config {
    /* The command of the supervisor (copied): the absolute path of Python, its arguments, and NULL, such as
     * { PYTHON, "-I", "-m", "slurmhooks.worker", "MODULE:FUNCTION", NULL }. FUNCTION loads the hooks
     * (slurmhooks/worker/interface.py). */
    const char *const *command;
    /* Log one line, without a line feed. Called in any thread, also while output of workers is read;
     * it must not call the client. */
    void (*log)(enum slurmhooks_level level, const char *line);
    /* Answers questions that come after the answer (client/late.h); NULL: such questions fail. */
    const struct slurmhooks_late *late;
};

/* Size of a buffer for each detail and reason. */
#define SLURMHOOKS_DETAIL_MAX 512

/* Size of a buffer for each name of a handler. */
#define SLURMHOOKS_HANDLER_MAX 256

/* What has failed; the last three members are what the worker has written into its status page. */
struct slurmhooks_failure {
    uint32_t worker; /* which worker was asked last, for slurmhooks_client_discard(); 0: none */
    /* One line for the log: what happened, with worker and handler; empty with SLURMHOOKS_OK. */
    char detail[SLURMHOOKS_DETAIL_MAX];
    char handler[SLURMHOOKS_HANDLER_MAX]; /* the running handler; empty: none */
    bool lenient;                         /* whether on_error of that handler lets requests pass */
    bool all_lenient;                     /* whether on_error of all handlers of the hook lets requests pass */
};

/*
 * Start the monitor thread, which starts the supervisor. Does not wait for workers.
 *
 * RET the client, or NULL with errno if memory or threads are short. If the supervisor cannot be started, this is
 * logged and tried again, and slurmctld still starts.
 */
struct slurmhooks_client *slurmhooks_client_start(const struct slurmhooks_client_config *config);

/*
 * Answer a question of a worker, in the thread that called slurmhooks_client_exchange().
 *
 * IN context  the context that was passed to that call
 * IN question, length  valid during the call
 * OUT answer  from malloc(), freed by the client; may be NULL if answer_length is 0
 * RET false if the question is invalid; the exchange then ends as SLURMHOOKS_PROTOCOL
 */
typedef bool (*slurmhooks_query)(void *context, const void *question, size_t length, void **answer,
                                 size_t *answer_length);

/*
 * Wait until a worker serves.
 *
 * IN ms  the longest time, in milliseconds
 * OUT reason  SLURMHOOKS_DETAIL_MAX bytes; one line, if false is returned
 * RET false if the hooks do not load, or no worker serves in that time
 */
bool slurmhooks_client_wait(struct slurmhooks_client *client, unsigned ms, char *reason);

/*
 * Report a request that got no answer to the supervisor, for the decision log. Never waits.
 *
 * IN text  lines: error id, hook, whose request, the handler that ended its worker or nothing, reason
 */
void slurmhooks_client_tell(struct slurmhooks_client *client, enum slurmhooks_unserved how,
                            enum slurmhooks_result result, const char *text);

/* RET the deadline of a request that arrives now. IN ms: how long it may take; 0: the configured timeout. */
int64_t slurmhooks_client_deadline(struct slurmhooks_client *client, unsigned ms);

/*
 * Send a request to a worker and wait for its answer. Any number of threads may call this at the same time.
 *
 * IN deadline  from slurmhooks_client_deadline(); includes the time until a worker is free
 * IN query  answers questions of the worker; NULL if it may not ask
 * OUT answer, answer_length  with SLURMHOOKS_OK; from malloc(), freed by the caller, and not NULL
 * OUT failure  may be NULL
 */
enum slurmhooks_result slurmhooks_client_exchange(struct slurmhooks_client *client, const void *request, size_t length,
                                                  int64_t deadline, slurmhooks_query query, void *context,
                                                  void **answer, size_t *answer_length,
                                                  struct slurmhooks_failure *failure);

/*
 * Ask a worker no more, because its answer was damaged: what it has sent cannot be told apart from later answers.
 *
 * IN worker  from struct slurmhooks_failure, which slurmhooks_client_exchange() fills also with SLURMHOOKS_OK
 */
void slurmhooks_client_discard(struct slurmhooks_client *client, uint32_t worker);

/* RET the nanoseconds until a deadline; negative if it has passed. */
int64_t slurmhooks_client_left(int64_t deadline);

/* RET whether on_unavailable is "accept"; false until workers have read the configuration. */
bool slurmhooks_client_accepts(struct slurmhooks_client *client);

/* Make running exchanges end soon, and later ones at once, as SLURMHOOKS_UNAVAILABLE or SLURMHOOKS_WORKER_DIED. */
void slurmhooks_client_interrupt(struct slurmhooks_client *client);

/*
 * End workers, supervisor and monitor thread, and free the client. Running exchanges end as SLURMHOOKS_UNAVAILABLE or
 * SLURMHOOKS_WORKER_DIED; the caller ensures that no new ones begin. Usually takes milliseconds, at most seconds.
 */
void slurmhooks_client_stop(struct slurmhooks_client *client);

#endif
