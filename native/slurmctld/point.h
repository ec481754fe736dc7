/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts the workers of a plugin of slurmctld, and sends requests to them. Runs no Python itself.
 *
 * Each plugin links its own copy and has its own workers, so that a slow handler of one does not delay requests of
 * another.
 */
#ifndef SLURMHOOKS_POINT_H
#define SLURMHOOKS_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/client.h"
#include "client/late.h"
#include "wire/wire.h"

/* Size of a buffer for the line that tells a user about a failure. */
#define SLURMHOOKS_LINE_MAX 160

/* A plugin and its workers; each plugin defines its own. */
extern struct slurmhooks_point {
    const char *name;                   /* Slurm's; also of its table in slurmhooks.toml, and in slurmhooks/entry */
    const struct slurmhooks_late *late; /* answers questions of handlers that observe; NULL: its hooks have no modes */
    void (*prepare)(void);              /* called before the workers are started; may be NULL */
    struct slurmhooks_client *client;   /* NULL: no workers could be started, or they were stopped */
} slurmhooks_point;

/* A request. */
struct slurmhooks_call {
    const char *hook;                                               /* its name, for messages */
    const char *whom;                                               /* whose request it is: "user 1000" or "JobId=17" */
    const char *failed;                                             /* what a failure leads to: "refused" */
    uint32_t number, sender, owner;                                 /* of the hook, and who asks for whose job */
    unsigned ms;                                                    /* time limit; 0: that of the section */
    int64_t *shared;                                                /* see slurmhooks_point_call(); may be NULL */
    void (*pack)(void *context, struct slurmhooks_buffer *request); /* appends the structs */
    void (*tell)(void *context, const char *text);                  /* gives a line to the user; NULL: no user waits */
    slurmhooks_query query;                                         /* may be NULL */
    void *context;                                                  /* of these three functions */
};

/* The answer to a request. */
struct slurmhooks_answer {
    void *data; /* the message, freed by the caller of slurmhooks_point_call() */
    size_t size;
    uint32_t worker; /* that has sent it */
};

/* How a request ends. */
enum slurmhooks_end {
    SLURMHOOKS_ANSWERED,
    SLURMHOOKS_PASSED, /* no answer, but on_error or on_unavailable lets the request pass; already reported */
    SLURMHOOKS_FAILED, /* no answer; already reported */
};

/*
 * Do what a plugin's init() must do: start its workers, unless they have been started.
 *
 * slurmctld starts even if that fails; requests then fail as long as there are no workers. Only a slurmctld that
 * 'scontrol reconfigure' has started waits until the hooks have loaded, those of all plugins at the same time.
 *
 * RET SLURM_SUCCESS; SLURM_ERROR if 'scontrol reconfigure' started this slurmctld and the hooks do not load
 */
int slurmhooks_point_start(void);

/* Stop the workers. No other thread may be in slurmhooks_point_call(), or call it later. */
void slurmhooks_point_stop(void);

/*
 * Let the handlers answer a request. Any number of threads may call this at the same time.
 *
 * If a handler with a lenient on_error ends its worker, the other handlers run again without it.
 *
 * IN/OUT call->shared  the deadline of several requests that one client waits for; 0 before the first of them
 * OUT answer  with SLURMHOOKS_ANSWERED
 */
enum slurmhooks_end slurmhooks_point_call(const struct slurmhooks_call *call, struct slurmhooks_answer *answer);

/* Report that an answer is damaged, and ask its worker no more. IN wrong: what is wrong with it. */
void slurmhooks_point_damaged(const struct slurmhooks_call *call, const struct slurmhooks_answer *answer,
                              const char *wrong);

/* Report a failure: the user gets a line with an id, the log gets the reason. IN what: what it means. RET the id */
unsigned slurmhooks_point_report(const struct slurmhooks_call *call, const char *what, const char *reason);

#endif
