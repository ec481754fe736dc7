/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JobSubmitPlugins=python: slurmctld's calls, answered by worker processes. No Python in here. */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "build_config.h"
#include "job_submit/queries.h"
#include "log.h"
#include "wire/client.h"
#include "wire/wire.h"

const char plugin_name[] = "Job submit Python plugin (slurmhooks)";
const char plugin_type[] = "job_submit/python";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* What slurmctld gets when no handler has answered: the request is refused. */
#define FAILED SLURM_ERROR
#define SERVICE "slurmhooks.job_submit.service:load"
/* Handlers that one request can leave out. */
#define MOST_LEFT_OUT 16
/* How long a slurmctld that reconfigures itself waits for the hooks to load, in milliseconds. */
#define RECONFIGURE_MS 30000
/* The number of the table of job_record_t. */
#define RECORD 1

/* Slurm's allocator: slurmctld frees err_msg with it. */
extern char *slurm_xstrdup(const char *text);
extern void slurm_xfree(void **item);

static struct slurmhooks_client *client;

/* Add a message for the user to those of the plugins before us. */
static void append_message(char **err_msg, const char *text)
{
    if (!err_msg || !text)
        return;
    if (!*err_msg) {
        *err_msg = slurm_xstrdup(text);
        return;
    }
    size_t old = strlen(*err_msg), size = old + strlen(text) + 2;
    char *joined = malloc(size);
    if (!joined)
        return;
    memcpy(joined, *err_msg, old);
    joined[old] = '\n';
    strcpy(joined + old + 1, text);
    slurm_xfree((void **)err_msg);
    *err_msg = slurm_xstrdup(joined);
    free(joined);
}

/* Hand a text over to the user; 22.05's job_modify has no err_msg: what the user does not see, the log has. */
static void tell(char **err_msg, const char *text)
{
    append_message(err_msg, text);
    while (text && !err_msg) {
        const char *end = strchrnul(text, '\n');

        /* Line by line: nothing that a user wrote may look like a line of Slurm's. */
        log_error("not shown to the user by this release of Slurm: %.*s", (int)(end - text), text);
        text = *end ? end + 1 : NULL;
    }
}

static const char *hook_of(const struct slurmhooks_event *event)
{
    return event->modify ? "job_modify" : "job_submit";
}

/* Say that no handler has answered: a line with an id for the user, the reason for the log. */
static void report(const struct slurmhooks_event *event, const char *what, const char *reason, char **err_msg)
{
    unsigned id = 0;
    char text[160];

    if (getrandom(&id, sizeof(id), GRND_NONBLOCK) < 0)
        id = (unsigned)(uintptr_t)event;
    log_error("error %08x: %s of user %u: %s: %s", id, hook_of(event), event->uid, what, reason);
    snprintf(text, sizeof(text),
             "slurmhooks: the %s hooks did not answer (error %08x); please tell your administrators", hook_of(event),
             id);
    tell(err_msg, text);
}

static int refuse(const struct slurmhooks_event *event, const char *reason, char **err_msg)
{
    report(event, "refused", reason, err_msg);
    return FAILED;
}

static int apply(const struct slurmhooks_event *event, const void *answer, size_t size, char **err_msg)
{
    struct slurmhooks_verdict verdict;
    const char *wrong = slurmhooks_apply(answer, size, event->job_desc, &verdict);

    if (wrong) {
        char reason[160];
        snprintf(reason, sizeof(reason), "the worker's answer is damaged: %s", wrong);
        return refuse(event, reason, err_msg);
    }
    tell(err_msg, verdict.text);
    return verdict.code;
}

/* Pack a request. IN left_out, count: handlers that are not to run. RET false: it is too large, or memory is short. */
static bool pack(const struct slurmhooks_event *event, char (*left_out)[SLURMHOOKS_HANDLER_MAX], unsigned count,
                 struct slurmhooks_buffer *request)
{
    slurmhooks_begin(request, SLURMHOOKS_REQUEST);
    slurmhooks_put_struct(request, 0, event->job_desc);
    if (event->record && slurmhooks_tables.count > RECORD)
        slurmhooks_put_struct(request, RECORD, event->record);
    for (unsigned i = 0; i < count; i++)
        slurmhooks_put_text(request, SLURMHOOKS_LEFT_OUT_HANDLER, left_out[i]);
    return slurmhooks_end(request, event->modify, event->uid, event->owner);
}

/*
 * Answer a request that ended a worker, or that none has taken.
 *
 * A handler whose on_error is "accept" is left out, and the others run again. Where it has taken all the time that
 * there was, they cannot: the request passes only if no handler may refuse it for a bug.
 *
 * RET whether the request is to be sent again. OUT rc: what slurmctld gets if not.
 */
static bool settle(struct slurmhooks_event *event, enum slurmhooks_result result,
                   const struct slurmhooks_failure *failure, bool in_time, char **err_msg, int *rc)
{
    if (result == SLURMHOOKS_UNAVAILABLE && client && slurmhooks_client_accepts(client)) {
        log_error("a request of user %u was accepted without hooks ([job_submit] on_unavailable): %s", event->uid,
                  failure->detail);
        *rc = SLURM_SUCCESS;
    } else if (result != SLURMHOOKS_UNAVAILABLE && failure->lenient && (in_time || failure->all_lenient)) {
        report(event, in_time ? "the handler is left out (on_error)" : "accepted (on_error)", failure->detail, err_msg);
        *rc = SLURM_SUCCESS;
        return in_time;
    } else {
        *rc = refuse(event, *failure->detail ? failure->detail : "there are no workers", err_msg);
    }
    return false;
}

/* Note that a handler is not to run again. On the heap: what a thread of slurmctld once used of its stack stays. */
static bool leave_out(char (**left_out)[SLURMHOOKS_HANDLER_MAX], unsigned count, const char *handler)
{
    char (*longer)[SLURMHOOKS_HANDLER_MAX] = realloc(*left_out, (count + 1) * sizeof(*longer));

    if (!longer)
        return false;
    memcpy(longer[count], handler, sizeof(*longer));
    *left_out = longer;
    return true;
}

static int run(struct slurmhooks_event *event, char **err_msg)
{
    char (*left_out)[SLURMHOOKS_HANDLER_MAX] = NULL;
    int64_t deadline = client ? slurmhooks_client_deadline(client, 0) : 0;
    bool again = true;
    int rc = FAILED;

    for (unsigned count = 0; again; count++) {
        struct slurmhooks_failure failure = {0};
        struct slurmhooks_buffer request;
        enum slurmhooks_result result = SLURMHOOKS_UNAVAILABLE;
        void *answer = NULL;
        size_t size = 0;

        if (!pack(event, left_out, count, &request)) {
            rc = refuse(event, "the request is larger than a message can be, or there is no memory", err_msg);
            break;
        }
        if (client)
            result = slurmhooks_client_exchange(client, request.data, request.size, deadline, slurmhooks_answer_query,
                                                event, &answer, &size, &failure);
        free(request.data);
        if (result == SLURMHOOKS_OK) {
            rc = apply(event, answer, size, err_msg);
            free(answer);
            break;
        }
        bool in_time = count < MOST_LEFT_OUT && client && slurmhooks_client_left(deadline) > 0;
        again = settle(event, result, &failure, in_time, err_msg, &rc);
        if (again && !leave_out(&left_out, count, failure.handler)) {
            rc = refuse(event, "there is no memory", err_msg);
            break;
        }
    }
    free(left_out);
    return rc;
}

static void log_line(enum slurmhooks_level level, const char *line)
{
    slurmhooks_log((int)level, line);
}

extern int fini(void)
{
    if (client)
        slurmhooks_client_stop(client);
    client = NULL;
    return SLURM_SUCCESS;
}

/*
 * From 23.11 on 'scontrol reconfigure' starts another slurmctld, and the present one goes on if that one fails. The
 * present one has handlers in force: it is replaced only by one whose hooks load.
 */
static bool reconfigures_to_nothing(void)
{
    char reason[SLURMHOOKS_DETAIL_MAX];

    if (!client || !getenv("SLURMCTLD_RECONF") || slurmhooks_client_wait(client, RECONFIGURE_MS, reason))
        return false;
    log_error("slurmctld is not reconfigured: %s", reason);
    fini();
    return true;
}

/* Start the supervisor; slurmctld starts whether or not that works. */
extern int init(void)
{
    Dl_info info;
    char plugins[4096 + sizeof("slurmhooks_plugins=")] = "slurmhooks_plugins=/";

    if (dladdr((void *)init, &info) && info.dli_fname) {
        const char *slash = strrchr(info.dli_fname, '/');
        snprintf(plugins, sizeof(plugins), "slurmhooks_plugins=%.*s/slurmhooks",
                 slash ? (int)(slash - info.dli_fname) : 1, slash ? info.dli_fname : ".");
    }
    const char *const command[] = {
        SLURMHOOKS_PYTHON_EXECUTABLE,
        "-I",
        "-X",
        "slurmhooks_sysconfdir=" SLURMHOOKS_SYSCONFDIR,
        "-X",
        plugins,
        "-m",
        "slurmhooks.worker",
        SERVICE,
        NULL,
    };
    client = slurmhooks_client_start(&(struct slurmhooks_client_config){command, log_line});
    if (!client)
        log_error("the workers cannot be started: requests are refused");
    return reconfigures_to_nothing() ? SLURM_ERROR : SLURM_SUCCESS;
}

extern int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid, char **err_msg)
{
    struct slurmhooks_event event = {.job_desc = job_desc, .uid = submit_uid, .owner = job_desc->user_id};

    return run(&event, err_msg);
}

static int modify(job_desc_msg_t *job_desc, void *job_record, uint32_t modify_uid, char **err_msg)
{
    struct slurmhooks_event event = {
        .job_desc = job_desc,
        .record = slurmhooks_tables.count > RECORD ? job_record : NULL,
        .modify = true,
        .uid = modify_uid,
        .owner = slurmhooks_record_owner(job_record, modify_uid),
    };

    return run(&event, err_msg);
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
extern int job_modify(job_desc_msg_t *job_desc, void *job_record, uint32_t modify_uid, char **err_msg)
{
    return modify(job_desc, job_record, modify_uid, err_msg);
}
#else
extern int job_modify(job_desc_msg_t *job_desc, void *job_record, uint32_t modify_uid)
{
    return modify(job_desc, job_record, modify_uid, NULL);
}
#endif
