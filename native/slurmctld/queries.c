/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmctld/queries.h"

#include <stdlib.h>
#include <string.h>

#include "slurmctld/pages.h"

/* Answer with a member of the request that was too long to be sent. RET false if the question is invalid. */
static bool member(struct slurmhooks_question *question)
{
    uint32_t table = question->header.table, number = question->header.number;
    const void *object = table == TABLE_job ? question->event->job_desc : question->event->record;

    if (table > TABLE_record || table >= slurmhooks_tables.count || !object ||
        number >= slurmhooks_tables.table[table].count)
        return false;
    slurmhooks_put_member(&question->result, table, number, object);
    return true;
}

#ifdef SLURMHOOKS_SOURCE

#include "config.h"
#include "slurm/slurm.h"
#include "src/common/slurm_xlator.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "slurmctld/users.h"
#include "slurmctld/weak.h"

/* When this slurmctld took control; 0 while it stands by (src/slurmctld/controller.c). No header declares it. */
extern time_t control_time;

uint32_t slurmhooks_record_owner(const void *record, uint32_t sender)
{
    (void)sender;
    return ((const job_record_t *)record)->user_id;
}

static const slurmctld_lock_t READ_LOCKS = {.conf = READ_LOCK, .job = READ_LOCK, .node = READ_LOCK, .part = READ_LOCK};

/* Take and release the locks that slurmhooks_answer_query() needs. */
static void lock(void)
{
    lock_slurmctld(READ_LOCKS);
}

static void unlock(void)
{
    unlock_slurmctld(READ_LOCKS);
}

static void *record_of(uint32_t job_id)
{
    return find_job_record(job_id);
}

static void *identity_of(const struct slurmhooks_event *event, uint32_t user_id)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
    /* The identity of an update is that of the user who changes the job, who need not be the job's owner. */
    if (event->job_desc && !event->modify && user_id == event->owner)
        return ((job_desc_msg_t *)event->job_desc)->id;
#else
    (void)event, (void)user_id;
#endif
    return NULL;
}

/* RET the batch script of a job, read from slurmctld's state folder; freed by the caller. NULL if the job has none. */
static char *script_of(uint32_t job_id)
{
    job_record_t *job = find_job_record(job_id);
    buf_t *buffer = job ? get_job_script(job) : NULL;
    char *text = buffer && buffer->head && buffer->head[0] ? strdup(buffer->head) : NULL;

    FREE_NULL_BUFFER(buffer);
    return text;
}

/* Answer with a fact about a user, an account, a QOS, the cluster or a job. RET false if the question is invalid. */
static bool fact(struct slurmhooks_question *question)
{
    uint32_t user_id = question->header.number;
    size_t position = sizeof(question->header);
    char *first = NULL, *second = NULL, *text = NULL;

    if (!slurmhooks_next_text(question, &position, &first) || !slurmhooks_next_text(question, &position, &second))
        return false;
    switch (question->header.table) {
    case FACT_USER_NAME: text = slurmhooks_user_name(identity_of(question->event, user_id), user_id); break;
    case FACT_DEFAULT_ACCOUNT:
    case FACT_DEFAULT_QOS:
    case FACT_ASSOC_COMMENT:
    case FACT_ASSOC_QOS:
    case FACT_CHOSEN_QOS:
    case FACT_CHARGED_ACCOUNT: text = slurmhooks_accounting_fact(question->header.table, user_id, first, second); break;
    case FACT_QOS_PRIORITY: {
        int64_t priority = first ? slurmhooks_qos_priority(first, second) : -1;
        if (priority >= 0)
            slurmhooks_put(&question->result, 0, &priority, sizeof(priority));
        return true;
    }
    case FACT_CLUSTER_NAME: text = strdup(slurmhooks_cluster_name()); break;
    case FACT_DEFAULT_PARTITION: text = slurmhooks_default_partition(first); break;
    case FACT_IN_CONTROL: {
        int64_t since = &control_time ? control_time : 0;
        if (since)
            slurmhooks_put(&question->result, 0, &since, sizeof(since));
        return true;
    }
    case FACT_JOB_SCRIPT: text = script_of(user_id); break;
    default: return false;
    }
    if (text)
        slurmhooks_put_text(&question->result, 0, text);
    free(text);
    return true;
}

#else

uint32_t slurmhooks_record_owner(const void *record, uint32_t sender)
{
    (void)record;
    return sender;
}

static void lock(void)
{
}

static void unlock(void)
{
}

static void *record_of(uint32_t job_id)
{
    (void)job_id;
    return NULL;
}

#endif

static bool serve(struct slurmhooks_question *question)
{
    switch (question->header.what) {
    case WHAT_MEMBER: return member(question);
#ifdef SLURMHOOKS_SOURCE
    case WHAT_ROW: return slurmhooks_answer_row(question);
    case WHAT_PAGE: return slurmhooks_answer_page(question);
    case WHAT_ROWS: return slurmhooks_answer_rows(question);
    case WHAT_COUNT: return slurmhooks_answer_count(question);
    case WHAT_FACT: return fact(question);
#endif
    default: return false;
    }
}

bool slurmhooks_answer_query(void *context, const void *data, size_t size, void **answer, size_t *answer_length)
{
    struct slurmhooks_question question = {.event = context, .data = data, .size = size};

    if (!slurmhooks_open(data, size, SLURMHOOKS_QUERY, &question.header))
        return false;
    slurmhooks_begin(&question.result, SLURMHOOKS_RESULT);
    bool valid = serve(&question);
    enum slurmhooks_status status =
        question.result.size == sizeof(struct slurmhooks_header) ? STATUS_NOTHING : STATUS_FOUND;
    if (valid && question.result.failed) {
        free(question.result.data);
        slurmhooks_begin(&question.result, SLURMHOOKS_RESULT);
        status = STATUS_TOO_LONG;
    }
    if (!slurmhooks_end(&question.result, status, question.next, question.from) || !valid) {
        free(question.result.data);
        return false;
    }
    *answer = question.result.data;
    *answer_length = question.result.size;
    return true;
}

bool slurmhooks_answer_with_locks(void *context, const void *data, size_t size, void **answer, size_t *answer_length)
{
    struct slurmhooks_event *event = context;

    lock();
    event->record = event->job_id ? record_of(event->job_id) : NULL;
    bool valid = slurmhooks_answer_query(event, data, size, answer, answer_length);
    event->record = NULL;
    unlock();
    return valid;
}

static bool answer_late(void *context, const void *data, size_t size, void **answer, size_t *answer_length)
{
    const struct slurmhooks_whose *whose = context;
    struct slurmhooks_event event = {.uid = whose->uid, .owner = whose->owner, .modify = whose->modify};

    return slurmhooks_answer_query(&event, data, size, answer, answer_length);
}

const struct slurmhooks_late slurmhooks_late_queries = {lock, unlock, answer_late};
