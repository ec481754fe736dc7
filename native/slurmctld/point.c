/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmctld/point.h"

#include <slurm/slurm_errno.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "build_config.h"
#include "client/spawn.h"
#include "entry.h"
#include "identity.h"
#include "log.h"
#include "slurmctld/together.h"

/* How many handlers can be left out of one request. */
#define MOST_EXCLUDED 16
/* How lines for users begin. */
#define FOR_USERS "slurmhooks: "
/* How long a slurmctld that was started by 'scontrol reconfigure' waits for the hooks to load, in milliseconds. */
#define RECONFIGURE_MS 30000

static void log_line(enum slurmhooks_level level, const char *line)
{
    slurmhooks_log((int)level, line);
}

/*
 * RET whether this slurmctld must end because its hooks do not load.
 *
 * From 23.11 on 'scontrol reconfigure' starts a new slurmctld, and the old one continues if that fails. The handlers of
 * the old one are in service, so only a slurmctld whose hooks load may replace it.
 */
static bool must_not_replace(void)
{
    char reason[SLURMHOOKS_DETAIL_MAX];

    if (!getenv("SLURMCTLD_RECONF"))
        return false;
    slurmhooks_start_together();
    if (!slurmhooks_point.client || slurmhooks_client_wait(slurmhooks_point.client, RECONFIGURE_MS, reason))
        return false;
    log_error("slurmctld is not reconfigured: %s", reason);
    slurmhooks_point_stop();
    return true;
}

static void start_workers(void)
{
    Dl_info info;
    char plugins[4096 + sizeof("slurmhooks_plugins=")] = "slurmhooks_plugins=/";

    if (slurmhooks_point.client)
        return;
    if (dladdr((void *)slurmhooks_point_start, &info) && info.dli_fname) {
        const char *slash = strrchr(info.dli_fname, '/');
        snprintf(plugins, sizeof(plugins), "slurmhooks_plugins=%.*s/slurmhooks",
                 slash ? (int)(slash - info.dli_fname) : 1, slash ? info.dli_fname : ".");
    }
    char entry[64]; /* MODULE:FUNCTION that loads the handlers */
    snprintf(entry, sizeof(entry), "slurmhooks.entry.%s:load", slurmhooks_point.name);
    /* The modules on the disk may be replaced while slurmctld runs: they refuse to serve a plugin of another build. */
    const char *const command[] = {
        ISOLATED_PYTHON, "-X", "slurmhooks_build=" SLURMHOOKS_IDENTITY, "-X", plugins, "-m", "slurmhooks.worker",
        entry,           NULL};
    if (slurmhooks_point.prepare)
        slurmhooks_point.prepare();
    slurmhooks_point.client =
        slurmhooks_client_start(&(struct slurmhooks_client_config){command, log_line, slurmhooks_point.late});
    if (!slurmhooks_point.client)
        log_error("the workers of [%s] cannot be started: its hooks do not run", slurmhooks_point.name);
}

void slurmhooks_start_workers(void)
{
    LEAVES_ERRNO(errno);
    start_workers();
}

int slurmhooks_point_start(void)
{
    start_workers();
    return must_not_replace() ? SLURM_ERROR : SLURM_SUCCESS;
}

void slurmhooks_point_stop(void)
{
    if (slurmhooks_point.client)
        slurmhooks_client_stop(slurmhooks_point.client);
    slurmhooks_point.client = NULL;
}

unsigned slurmhooks_point_report(const struct slurmhooks_call *call, const char *what, const char *reason)
{
    unsigned id = 0;
    char text[SLURMHOOKS_LINE_MAX];

    if (getrandom(&id, sizeof(id), GRND_NONBLOCK) < 0)
        id = (unsigned)(uintptr_t)call;
    log_error("error %08x: %s of %s: %s: %s", id, call->hook, call->whom, what, reason);
    /* What the supervisor says of hooks that do not load is a line for users, with the id of the log's lines. */
    if (!strncmp(reason, FOR_USERS, strlen(FOR_USERS)))
        snprintf(text, sizeof(text), "%s", reason);
    else
        snprintf(text, sizeof(text),
                 FOR_USERS "the %s hooks did not answer (error %08x); please tell your administrators", call->hook, id);
    if (call->tell)
        call->tell(call->context, text);
    return id;
}

/* Record in the decision log how a request without an answer ended. IN id: of the error; 0: there is none */
static void log_decision(const struct slurmhooks_call *call, enum slurmhooks_unserved how,
                         enum slurmhooks_result result, unsigned id, const struct slurmhooks_failure *failure)
{
    char text[SLURMHOOKS_HANDLER_MAX + SLURMHOOKS_DETAIL_MAX + 160];

    snprintf(text, sizeof(text), "%08x\n%s\n%s\n%s\n%s", id, call->hook, call->whom, failure->handler,
             *failure->detail ? failure->detail : "there are no workers");
    if (slurmhooks_point.client)
        slurmhooks_client_tell(slurmhooks_point.client, how, result, text);
}

/*
 * Decide about a request that no worker got, or whose worker has ended.
 *
 * If the handler that ended the worker is lenient, it is left out, and the others run again. If no time is left for
 * them, the request passes only if all handlers are lenient.
 *
 * OUT end  how the request ends, if false is returned
 * RET whether to send the request again
 */
static bool settle(const struct slurmhooks_call *call, enum slurmhooks_result result,
                   const struct slurmhooks_failure *failure, bool in_time, enum slurmhooks_end *end)
{
    *end = SLURMHOOKS_PASSED;
    if (result == SLURMHOOKS_UNAVAILABLE && slurmhooks_point.client &&
        slurmhooks_client_accepts(slurmhooks_point.client)) {
        log_error("a request of %s was accepted without hooks ([%s] on_unavailable): %s", call->whom,
                  slurmhooks_point.name, failure->detail);
        log_decision(call, UNSERVED_PASSED_UNAVAILABLE, result, 0, failure);
    } else if (result != SLURMHOOKS_UNAVAILABLE && failure->lenient && (in_time || failure->all_lenient)) {
        const char *what = in_time ? "the handler is left out (on_error)" : "accepted (on_error)";
        unsigned id = slurmhooks_point_report(call, what, failure->detail);
        log_decision(call, in_time ? UNSERVED_EXCLUDED : UNSERVED_PASSED_ON_ERROR, result, id, failure);
        return in_time;
    } else {
        *end = SLURMHOOKS_FAILED;
        const char *reason = *failure->detail ? failure->detail : "there are no workers";
        unsigned id = slurmhooks_point_report(call, call->failed, reason);
        log_decision(call, result == SLURMHOOKS_UNAVAILABLE ? UNSERVED_FAILED_UNAVAILABLE : UNSERVED_FAILED, result, id,
                     failure);
    }
    return false;
}

/* Pack a request. IN excluded, count: handlers that must not run. RET false if it is too large or memory is short. */
static bool pack(const struct slurmhooks_call *call, char (*excluded)[SLURMHOOKS_HANDLER_MAX], unsigned count,
                 struct slurmhooks_buffer *request)
{
    slurmhooks_begin(request, SLURMHOOKS_REQUEST);
    call->pack(call->context, request);
    for (unsigned i = 0; i < count; i++)
        slurmhooks_put_text(request, SLURMHOOKS_EXCLUDED_HANDLER, excluded[i]);
    return slurmhooks_end(request, call->number, call->sender, call->owner);
}

/*
 * Add a handler to those that must not run. The list is on the heap, since stack memory that was used once stays
 * allocated in each of slurmctld's threads. RET false if memory is short.
 */
static bool exclude(char (**excluded)[SLURMHOOKS_HANDLER_MAX], unsigned count, const char *handler)
{
    char (*longer)[SLURMHOOKS_HANDLER_MAX] = realloc(*excluded, (count + 1) * sizeof(*longer));

    if (!longer)
        return false;
    memcpy(longer[count], handler, sizeof(*longer));
    *excluded = longer;
    return true;
}

enum slurmhooks_end slurmhooks_point_call(const struct slurmhooks_call *call, struct slurmhooks_answer *answer)
{
    char (*excluded)[SLURMHOOKS_HANDLER_MAX] = NULL;
    struct slurmhooks_client *client = slurmhooks_point.client;
    int64_t deadline = client ? slurmhooks_client_deadline(client, call->ms) : 0;
    enum slurmhooks_end end = SLURMHOOKS_FAILED;

    if (call->shared && *call->shared && *call->shared < deadline)
        deadline = *call->shared;
    if (call->shared)
        *call->shared = deadline;
    bool again = true;

    for (unsigned count = 0; again; count++) {
        struct slurmhooks_failure failure = {0};
        struct slurmhooks_buffer request;
        enum slurmhooks_result result = SLURMHOOKS_UNAVAILABLE;

        if (!pack(call, excluded, count, &request)) {
            slurmhooks_point_report(call, call->failed,
                                    "the request is larger than a message can be, or memory is short");
            break;
        }
        if (client)
            result = slurmhooks_client_exchange(client, request.data, request.size, deadline, call->query,
                                                call->context, &answer->data, &answer->size, &failure);
        free(request.data);
        if (result == SLURMHOOKS_OK) {
            answer->worker = failure.worker;
            end = SLURMHOOKS_ANSWERED;
            break;
        }
        bool in_time = count < MOST_EXCLUDED && client && slurmhooks_client_left(deadline) > 0;
        again = settle(call, result, &failure, in_time, &end);
        if (again && !exclude(&excluded, count, failure.handler)) {
            slurmhooks_point_report(call, call->failed, "memory is short");
            end = SLURMHOOKS_FAILED;
            break;
        }
    }
    free(excluded);
    return end;
}

void slurmhooks_point_damaged(const struct slurmhooks_call *call, const struct slurmhooks_answer *answer,
                              const char *wrong)
{
    char reason[160];

    snprintf(reason, sizeof(reason), "the answer of worker %u is damaged, and it was killed: %s", answer->worker,
             wrong);
    slurmhooks_point_report(call, call->failed, reason);
    slurmhooks_client_discard(slurmhooks_point.client, answer->worker);
}
