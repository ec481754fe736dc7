/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job_submit/queries.h"

#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"

/* As What and Fact of slurmhooks/wire/message.py. */
enum what { MEMBER = 1, ROW, PAGE, FACT };
enum fact {
    USER_NAME = 1,
    DEFAULT_ACCOUNT,
    DEFAULT_QOS,
    ASSOC_COMMENT,
    ASSOC_QOS,
    QOS_PRIORITY,
    CLUSTER_NAME,
    JOB_SCRIPT
};
/* As STRUCTS of native/generate/tables.py. */
enum table { JOB, RECORD, PARTITION, RESERVATION };
/* Statuses of a result. */
enum status { FOUND, NOTHING };

struct question {
    const struct slurmhooks_event *event;
    struct slurmhooks_header header;
    const void *data;
    size_t size;
    struct slurmhooks_buffer result;
    uint32_t next; /* where the next page begins; 0: there is none */
};

static bool member(struct question *question)
{
    uint32_t table = question->header.second, number = question->header.third;
    const void *object = table == JOB ? question->event->job_desc : question->event->record;

    if (table > RECORD || table >= slurmhooks_tables.count || !object || number >= slurmhooks_tables.table[table].count)
        return false;
    slurmhooks_put_member(&question->result, table, number, object);
    return true;
}

#ifdef SLURMHOOKS_SOURCE

#include "config.h"
#include "slurm/slurm.h"
#include "src/common/slurm_xlator.h"
#include "src/slurmctld/reservation.h"
#include "src/slurmctld/slurmctld.h"

#include "job_submit/users.h"

/* As slurmhooks/job_submit/fields/reservation.py has them. */
_Static_assert(RESV_CTLD_FULL_NODE == 0x4 && RESV_CTLD_NODE_FLAGS_SET == 0x8, "flags of reservations");

/* A page ends with the first struct that makes it larger. */
#define PAGE_SIZE ((size_t)256 << 10)
#define MOST_CONDITIONS 8

/* A number, as far as a mask goes, or a text that a member must equal. */
struct condition {
    const struct slurmhooks_member *member;
    uint64_t value, mask;
    const char *text;
};

struct page {
    struct question *question;
    struct condition conditions[MOST_CONDITIONS];
    size_t count;
    uint32_t index; /* of the struct after the present one */
};

/* The next text among the items. RET false: there is none, or it is none. OUT text: NULL for an empty item */
static bool next_text(const struct question *question, size_t *position, char **text)
{
    struct slurmhooks_item item;

    if (!slurmhooks_next(question->data, question->size, position, &item))
        return false;
    *text = item.size ? (char *)item.value : NULL;
    return !item.size || slurmhooks_is_text(&item);
}

/* The rule of job_submit/lua's part_list: which partitions a user may name. */
static bool may_use(const part_record_t *part, uint32_t user_id, uint32_t submit_uid)
{
    if (user_id == 0)
        return !(part->flags & PART_FLAG_NO_ROOT);
    if ((part->flags & PART_FLAG_ROOT_ONLY) && submit_uid != 0)
        return false;
    if (!part->allow_uids)
        return true;
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
    if (!part->allow_uids_cnt)
        return true;
    for (int i = 0; i < part->allow_uids_cnt; i++)
#else
    for (int i = 0; part->allow_uids[i]; i++)
#endif
        if (part->allow_uids[i] == user_id)
            return true;
    return false;
}

static void *usable_partition(char *name, const struct slurmhooks_event *event)
{
    part_record_t *part = find_part_record(name);

    return part && may_use(part, event->owner, event->uid) ? part : NULL;
}

static bool row(struct question *question)
{
    size_t position = sizeof(question->header);
    const struct slurmhooks_event *event = question->event;
    uint32_t table = question->header.second;
    void *found = NULL;
    char *key = NULL;

    if (table == RECORD)
        found = find_job_record(question->header.third);
    else if (!next_text(question, &position, &key) || !key)
        return false;
    else if (table == PARTITION)
        found = usable_partition(key, event);
    else if (table == RESERVATION)
        found = find_resv_name(key);
    else
        return false;
    if (found)
        slurmhooks_put_struct(&question->result, table, found);
    return true;
}

static bool meets(const struct condition *condition, const void *object)
{
    if (!condition->text)
        return (slurmhooks_load(condition->member, object) & condition->mask) == condition->value;
    const char *text = slurmhooks_load_text(condition->member, object);
    return text && !strcmp(text, condition->text);
}

static int add_to_page(void *object, void *argument)
{
    struct page *page = argument;
    struct question *question = page->question;

    if (page->index++ < question->header.third)
        return 0;
    if (question->result.size > PAGE_SIZE || question->result.failed) {
        question->next = page->index - 1;
        return -1;
    }
    if (question->header.second == PARTITION && !may_use(object, question->event->owner, question->event->uid))
        return 0;
    for (size_t i = 0; i < page->count; i++)
        if (!meets(&page->conditions[i], object))
            return 0;
    slurmhooks_put_struct(&question->result, question->header.second, object);
    return 0;
}

static bool read_condition(struct condition *condition, uint32_t table, const struct slurmhooks_item *item)
{
    if (item->tag >= slurmhooks_tables.table[table].count)
        return false;
    *condition = (struct condition){.member = &slurmhooks_tables.table[table].members[item->tag]};
    if (condition->member->kind == SLURMHOOKS_TEXTS)
        return false;
    if (condition->member->kind == SLURMHOOKS_TEXT) {
        condition->text = item->value;
        return slurmhooks_is_text(item);
    }
    if (item->size != 2 * sizeof(uint64_t))
        return false;
    memcpy(&condition->value, item->value, sizeof(condition->value));
    memcpy(&condition->mask, item->value + sizeof(condition->value), sizeof(condition->mask));
    return true;
}

static bool page(struct question *question)
{
    struct page page = {.question = question};
    struct slurmhooks_item item;
    size_t position = sizeof(question->header);
    uint32_t table = question->header.second;
    __typeof__(job_list) lists[] = {NULL, job_list, part_list, resv_list};

    if (table < RECORD || table > RESERVATION)
        return false;
    while (slurmhooks_next(question->data, question->size, &position, &item))
        if (page.count == MOST_CONDITIONS || !read_condition(&page.conditions[page.count++], table, &item))
            return false;
    list_for_each(lists[table], add_to_page, &page);
    return true;
}

uint32_t slurmhooks_record_owner(const void *record, uint32_t sender)
{
    (void)sender;
    return ((const job_record_t *)record)->user_id;
}

static void *identity_of(const struct slurmhooks_event *event, uint32_t user_id)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
    /* An update is sent by who changes the job, so only a submission's identity is its owner's. */
    if (!event->modify && user_id == event->owner)
        return ((job_desc_msg_t *)event->job_desc)->id;
#else
    (void)event, (void)user_id;
#endif
    return NULL;
}

/* The batch script of a job, from slurmctld's state folder. RET to be freed, NULL if there is none */
static char *script_of(uint32_t job_id)
{
    job_record_t *job = find_job_record(job_id);
    buf_t *buffer = job ? get_job_script(job) : NULL;
    char *text = buffer && buffer->head && buffer->head[0] ? strdup(buffer->head) : NULL;

    FREE_NULL_BUFFER(buffer);
    return text;
}

static bool fact(struct question *question)
{
    uint32_t user_id = question->header.third;
    size_t position = sizeof(question->header);
    char *first = NULL, *second = NULL, *text = NULL;

    if (next_text(question, &position, &first))
        next_text(question, &position, &second);
    switch (question->header.second) {
    case USER_NAME: text = slurmhooks_user_name(identity_of(question->event, user_id), user_id); break;
    case DEFAULT_ACCOUNT: text = slurmhooks_default_account(user_id); break;
    case DEFAULT_QOS: text = slurmhooks_default_qos(user_id, first, second); break;
    case ASSOC_COMMENT: text = slurmhooks_assoc_comment(user_id, first, second); break;
    case ASSOC_QOS: text = slurmhooks_assoc_qos(user_id, first, second); break;
    case QOS_PRIORITY: {
        int64_t priority = first ? slurmhooks_qos_priority(first) : -1;
        if (priority >= 0)
            slurmhooks_put(&question->result, 0, &priority, sizeof(priority));
        return true;
    }
    case CLUSTER_NAME: text = strdup(slurmhooks_cluster_name()); break;
    case JOB_SCRIPT: text = script_of(user_id); break;
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

static bool row(struct question *question)
{
    (void)question;
    return false;
}

static bool page(struct question *question)
{
    (void)question;
    return false;
}

static bool fact(struct question *question)
{
    (void)question;
    return false;
}

#endif

static bool serve(struct question *question)
{
    switch (question->header.first) {
    case MEMBER: return member(question);
    case ROW: return row(question);
    case PAGE: return page(question);
    case FACT: return fact(question);
    default: return false;
    }
}

bool slurmhooks_answer_query(void *context, const void *data, size_t size, void **answer, size_t *answer_length)
{
    struct question question = {.event = context, .data = data, .size = size};

    if (!slurmhooks_open(data, size, SLURMHOOKS_QUERY, &question.header))
        return false;
    slurmhooks_begin(&question.result, SLURMHOOKS_RESULT);
    bool made_sense = serve(&question);
    bool empty = question.result.size == sizeof(struct slurmhooks_header);
    if (!slurmhooks_end(&question.result, empty ? NOTHING : FOUND, question.next, 0) || !made_sense) {
        free(question.result.data);
        return false;
    }
    *answer = question.result.data;
    *answer_length = question.result.size;
    return true;
}
