/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin for JobSubmitPlugins=python: passes slurmctld's calls to worker processes. Runs no Python itself. */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "log.h"
#include "slurmctld/point.h"
#include "slurmctld/queries.h"
#include "wire/wire.h"

const char plugin_name[] = "Job submit Python plugin (slurmhooks)";
const char plugin_type[] = "job_submit/python";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* The return code for slurmctld if no handler has answered: the request is refused. */
#define FAILED SLURM_ERROR

/* Slurm's allocator: slurmctld frees err_msg with it. */
extern char *slurm_xstrdup(const char *text);
extern void slurm_xfree(void **item);

struct slurmhooks_point slurmhooks_point = {.name = "job_submit", .late = &slurmhooks_late_queries};

/* Append a message for the user to those of earlier plugins. */
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

/* Give a text to the user; or to the log if err_msg is NULL, since job_modify() of 22.05 has no err_msg. */
static void tell(char **err_msg, const char *text)
{
    append_message(err_msg, text);
    while (text && !err_msg) {
        const char *end = strchrnul(text, '\n');

        /* Line by line, so that a text of a user cannot look like another line of Slurm's log. */
        log_error("not shown to the user by this release of Slurm: %.*s", (int)(end - text), text);
        text = *end ? end + 1 : NULL;
    }
}

static void tell_user(void *context, const char *text)
{
    tell(((struct slurmhooks_event *)context)->err_msg, text);
}

/* Append the structs of a request. IN context: the event. */
static void pack(void *context, struct slurmhooks_buffer *request)
{
    const struct slurmhooks_event *event = context;

    slurmhooks_put_struct(request, TABLE_job, event->job_desc);
    if (event->record && slurmhooks_tables.count > TABLE_record)
        slurmhooks_put_struct(request, TABLE_record, event->record);
}

/* Apply an answer to the request. RET the return code for slurmctld. */
static int apply(const struct slurmhooks_call *call, const struct slurmhooks_answer *answer)
{
    const struct slurmhooks_event *event = call->context;
    struct slurmhooks_verdict verdict;
    const char *wrong = slurmhooks_apply(answer->data, answer->size, event->job_desc, &verdict);

    if (wrong) {
        slurmhooks_point_damaged(call, answer, wrong);
        return FAILED;
    }
    tell(event->err_msg, verdict.text);
    return verdict.code;
}

/*
 * RET where the deadline of a submission is kept for the further components of the same heterogeneous job.
 *
 * slurmctld asks for one component after the other in one thread, and its client waits MessageTimeout for all of them.
 */
static int64_t *deadline_of(const struct slurmhooks_event *event)
{
    static _Thread_local struct {
        int64_t deadline;
        uint32_t offset, uid;
    } last;
    const job_desc_msg_t *job_desc = event->job_desc;
    uint32_t offset = job_desc->het_job_offset;

    if (event->modify)
        return NULL;
    if (offset == NO_VAL || !offset || offset != last.offset + 1 || event->uid != last.uid) {
        offset = offset == NO_VAL ? 0 : offset;
        last.deadline = 0;
    }
    last.offset = offset;
    last.uid = event->uid;
    return &last.deadline;
}

/*
 * Let the handlers answer an event. RET the return code for slurmctld.
 *
 * errno is 0 afterwards: without accounting _update_job() takes it as the error of a new partition or account, even if
 * Slurm itself has left it behind.
 */
static int run(struct slurmhooks_event *event)
{
    LEAVES_ERRNO(0);
    char whom[32];
    const struct slurmhooks_call call = {
        .hook = event->modify ? "job_modify" : "job_submit",
        .whom = whom,
        .failed = "refused",
        .number = event->modify ? HOOK_job_modify : HOOK_job_submit,
        .sender = event->uid,
        .owner = event->owner,
        .shared = deadline_of(event),
        .pack = pack,
        .tell = tell_user,
        .query = slurmhooks_answer_query,
        .context = event,
    };
    struct slurmhooks_answer answer;

    snprintf(whom, sizeof(whom), "user %u", event->uid);
    enum slurmhooks_end end = slurmhooks_point_call(&call, &answer);
    if (end != SLURMHOOKS_ANSWERED)
        return end == SLURMHOOKS_PASSED ? SLURM_SUCCESS : FAILED;
    int rc = apply(&call, &answer);
    free(answer.data);
    return rc;
}

extern int init(void)
{
    LEAVES_ERRNO(errno);
    return slurmhooks_point_start();
}

extern int fini(void)
{
    LEAVES_ERRNO(errno);
    slurmhooks_point_stop();
    return SLURM_SUCCESS;
}

/*
 * RET whether a request is for a component of a job of srun or salloc, and not for the first one.
 *
 * slurmctld asks about the components of a job one after the other, in one thread. Of a batch job, only the first one
 * has a script. A client that waits for an allocation on a port may send a script, too.
 */
static bool is_interactive_component(const job_desc_msg_t *job_desc)
{
    static _Thread_local bool batch;
    bool first = !job_desc->het_job_offset || job_desc->het_job_offset == NO_VAL;

    if (first)
        batch = job_desc->script != NULL && !job_desc->alloc_resp_port;
    return !first && !batch;
}

extern int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid, char **err_msg)
{
    struct slurmhooks_event event = {
        .job_desc = job_desc, .uid = submit_uid, .owner = job_desc->user_id, .err_msg = err_msg, .steady = true};

    /* Handlers take a component with an environment for one of a batch job. srun and salloc send none, and slurmctld
     * ignores it, but other clients may. */
    if (is_interactive_component(job_desc)) {
        for (uint32_t i = 0; i < job_desc->env_size; i++)
            slurm_xfree((void **)&job_desc->environment[i]);
        slurm_xfree((void **)&job_desc->environment);
        job_desc->env_size = 0;
    }
    return run(&event);
}

/* RET a number of a record by its name; 0 if this build cannot read records. */
static uint64_t of_record(const void *record, const char *name)
{
    const struct slurmhooks_table *table = &slurmhooks_tables.table[TABLE_record];

    for (uint32_t i = 0; slurmhooks_tables.count > TABLE_record && i < table->count; i++)
        if (!strcmp(table->members[i].name, name))
            return slurmhooks_load(&table->members[i], record);
    return 0;
}

/*
 * Remove from an update of a component what slurmctld has computed for the ones before it.
 *
 * An update of a heterogeneous job is one request for all components, one after the other in one thread. _update_job()
 * leaves numbers in it, before 25.11 such as the tasks of the first component even if the user only releases the job.
 * The next component would get them, although the user has not asked for them and may not be allowed to.
 */
static void restore_sent(job_desc_msg_t *job_desc, const void *record)
{
    static _Thread_local job_desc_msg_t sent; /* only its numbers are used: its texts may be freed */
    static _Thread_local const job_desc_msg_t *request;
    static _Thread_local uint64_t job, last;
    uint64_t het_job = of_record(record, "het_job_id"), offset = of_record(record, "het_job_offset");

    /* A new request begins with the first component, or names only one. */
    bool whole = job_desc->job_id_str && !strchr(job_desc->job_id_str, '+');
    if (!whole || !het_job || request != job_desc || job != het_job || offset <= last) {
        sent = *job_desc;
    } else {
        job_desc->bitflags = sent.bitflags;
        job_desc->cpus_per_task = sent.cpus_per_task;
        job_desc->max_nodes = sent.max_nodes;
        job_desc->min_cpus = sent.min_cpus;
        job_desc->min_nodes = sent.min_nodes;
        job_desc->ntasks_per_node = sent.ntasks_per_node;
        job_desc->ntasks_per_socket = sent.ntasks_per_socket;
        job_desc->ntasks_per_tres = sent.ntasks_per_tres;
        job_desc->num_tasks = sent.num_tasks;
        job_desc->pn_min_memory = sent.pn_min_memory;
        job_desc->sockets_per_node = sent.sockets_per_node;
    }
    request = job_desc;
    job = het_job;
    last = offset;
}

static int modify(job_desc_msg_t *job_desc, void *job_record, uint32_t modify_uid, char **err_msg)
{
    struct slurmhooks_event event = {
        .job_desc = job_desc,
        .record = slurmhooks_tables.count > TABLE_record ? job_record : NULL,
        .modify = true,
        .uid = modify_uid,
        .owner = slurmhooks_record_owner(job_record, modify_uid),
        .err_msg = err_msg,
        .steady = true,
    };

    restore_sent(job_desc, job_record);
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
