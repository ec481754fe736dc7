/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JobSubmitPlugins=python: slurmctld's calls, answered by worker processes. No Python in here. */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurmctld/queries.h"
#include "log.h"
#include "slurmctld/point.h"
#include "wire/wire.h"

const char plugin_name[] = "Job submit Python plugin (slurmhooks)";
const char plugin_type[] = "job_submit/python";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* What slurmctld gets when no handler has answered: the request is refused. */
#define FAILED SLURM_ERROR
/* The number of the table of job_record_t. */
#define RECORD 1

/* Slurm's allocator: slurmctld frees err_msg with it. */
extern char *slurm_xstrdup(const char *text);
extern void slurm_xfree(void **item);

static struct slurmhooks_point point = {.service = "slurmhooks.job_submit.service:load", .section = "job_submit"};

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

static void tell_user(void *context, const char *text)
{
    tell(((struct slurmhooks_event *)context)->err_msg, text);
}

static void pack(void *context, struct slurmhooks_buffer *request)
{
    const struct slurmhooks_event *event = context;

    slurmhooks_put_struct(request, 0, event->job_desc);
    if (event->record && slurmhooks_tables.count > RECORD)
        slurmhooks_put_struct(request, RECORD, event->record);
}

static int apply(const struct slurmhooks_call *call, const void *answer, size_t size)
{
    const struct slurmhooks_event *event = call->context;
    struct slurmhooks_verdict verdict;
    const char *wrong = slurmhooks_apply(answer, size, event->job_desc, &verdict);

    if (wrong) {
        char reason[160];
        snprintf(reason, sizeof(reason), "the worker's answer is damaged: %s", wrong);
        slurmhooks_point_report(call, call->failed, reason);
        return FAILED;
    }
    tell(event->err_msg, verdict.text);
    return verdict.code;
}

static int run(struct slurmhooks_event *event)
{
    char whom[32];
    const struct slurmhooks_call call = {
        .hook = event->modify ? "job_modify" : "job_submit",
        .whom = whom,
        .failed = "refused",
        .first = event->modify,
        .second = event->uid,
        .third = event->owner,
        .pack = pack,
        .tell = tell_user,
        .query = slurmhooks_answer_query,
        .context = event,
    };
    void *answer;
    size_t size;

    snprintf(whom, sizeof(whom), "user %u", event->uid);
    enum slurmhooks_end end = slurmhooks_point_call(&point, &call, &answer, &size);
    if (end != SLURMHOOKS_ANSWERED)
        return end == SLURMHOOKS_PASSED ? SLURM_SUCCESS : FAILED;
    int rc = apply(&call, answer, size);
    free(answer);
    return rc;
}

extern int init(void)
{
    return slurmhooks_point_start(&point);
}

extern int fini(void)
{
    slurmhooks_point_stop(&point);
    return SLURM_SUCCESS;
}

extern int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid, char **err_msg)
{
    struct slurmhooks_event event = {
        .job_desc = job_desc, .uid = submit_uid, .owner = job_desc->user_id, .err_msg = err_msg};

    return run(&event);
}

static int modify(job_desc_msg_t *job_desc, void *job_record, uint32_t modify_uid, char **err_msg)
{
    struct slurmhooks_event event = {
        .job_desc = job_desc,
        .record = slurmhooks_tables.count > RECORD ? job_record : NULL,
        .modify = true,
        .uid = modify_uid,
        .owner = slurmhooks_record_owner(job_record, modify_uid),
        .err_msg = err_msg,
    };

    return run(&event);
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
