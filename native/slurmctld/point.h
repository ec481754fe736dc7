/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugins of slurmctld share: each has workers of its own, which its requests go to. No Python in here.
 *
 * Every plugin links a copy of this file, so that a slow handler of one cannot delay the requests of another.
 */
#ifndef SLURMHOOKS_POINT_H
#define SLURMHOOKS_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/client.h"
#include "wire/wire.h"

/* Size of a buffer for the line that a user sees of a failure. */
#define SLURMHOOKS_LINE_MAX 160

/* One plugin, and its workers. */
struct slurmhooks_point {
    const char *service;              /* module:function of Python that loads the handlers */
    const char *section;              /* of slurmhooks.toml, for messages */
    struct slurmhooks_client *client; /* NULL: the workers could not be started, or were stopped */
};

/* One request. */
struct slurmhooks_call {
    const char *hook;                                               /* its name, for messages */
    const char *whom;                                               /* whose request: "user 1000" or "JobId=17" */
    const char *failed;                                             /* what a failure means: "refused" */
    uint32_t first, second, third;                                  /* see struct slurmhooks_header */
    unsigned ms;                                                    /* time limit; 0: that of the section */
    void (*pack)(void *context, struct slurmhooks_buffer *request); /* adds the structs */
    void (*tell)(void *context, const char *text);                  /* hands a line to the user; NULL: there is none */
    slurmhooks_query query;                                         /* or NULL */
    void *context;                                                  /* of these three */
};

/* How a request ends. */
enum slurmhooks_end {
    SLURMHOOKS_ANSWERED,
    SLURMHOOKS_PASSED, /* there is no answer, and on_error or on_unavailable let the request pass; that was reported */
    SLURMHOOKS_FAILED, /* there is no answer; that was reported */
};

/*
 * Start the workers of a plugin; for its init().
 *
 * slurmctld starts whether or not that works: requests fail as long as there are no workers.
 * RET SLURM_SUCCESS, or SLURM_ERROR: 'scontrol reconfigure' started this slurmctld, and the hooks do not load.
 */
int slurmhooks_point_start(struct slurmhooks_point *point);

/* End the workers. No call may run, or begin, in another thread. */
void slurmhooks_point_stop(struct slurmhooks_point *point);

/*
 * Have the handlers answer a request. Any number of threads may call this at the same time.
 *
 * A handler with a lenient on_error that ends its worker is left out, and the others run again.
 * OUT answer, size: with SLURMHOOKS_ANSWERED, a message; the caller frees it.
 */
enum slurmhooks_end slurmhooks_point_call(const struct slurmhooks_point *point, const struct slurmhooks_call *call,
                                          void **answer, size_t *size);

/* Report a failure: a line with an id for the user, the reason for the log. IN what: it means. */
void slurmhooks_point_report(const struct slurmhooks_call *call, const char *what, const char *reason);

#endif
