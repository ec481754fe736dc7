/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A question of a worker: it is answered from slurmctld's records, or refused; nothing else is read. */
#include <slurm/slurm.h>
#include <string.h>

#include "fuzz.h"
#include "slurmctld/pages.h"
#include "slurmctld/queries.h"
#include "slurmctld/records.h"
#include "slurmctld/users.h"
#include "src/slurmctld/slurmctld.h"

/* A struct with a member of each kind. */
struct nested {
    char *text;
    uint64_t number;
};

struct row {
    char *name;
    uint8_t byte;
    uint16_t small;
    uint32_t number;
    uint64_t large;
    time_t time;
    struct nested *nested, *missing;
    char **texts;
    uint32_t count;
};

#define DIRECT(name, kind) {#name, kind, true, {SLURMHOOKS_DIRECT, SLURMHOOKS_DIRECT}, offsetof(struct row, name), 0}
#define NESTED(pointer, name, kind)                      \
    {#pointer "." #name,                                 \
     kind,                                               \
     false,                                              \
     {offsetof(struct row, pointer), SLURMHOOKS_DIRECT}, \
     offsetof(struct nested, name),                      \
     0}

static const struct slurmhooks_member members[] = {
    DIRECT(nested, SLURMHOOKS_POINTER),
    DIRECT(missing, SLURMHOOKS_POINTER),
    DIRECT(name, SLURMHOOKS_TEXT),
    DIRECT(byte, SLURMHOOKS_U8),
    DIRECT(small, SLURMHOOKS_U16),
    DIRECT(number, SLURMHOOKS_U32),
    DIRECT(large, SLURMHOOKS_U64),
    DIRECT(time, SLURMHOOKS_TIME),
    NESTED(nested, text, SLURMHOOKS_TEXT),
    NESTED(nested, number, SLURMHOOKS_U64),
    NESTED(missing, text, SLURMHOOKS_TEXT),
    NESTED(missing, number, SLURMHOOKS_U64),
    {"texts",
     SLURMHOOKS_TEXTS,
     true,
     {SLURMHOOKS_DIRECT, SLURMHOOKS_DIRECT},
     offsetof(struct row, texts),
     offsetof(struct row, count)},
};

#define TABLE(name) {name, sizeof(members) / sizeof(*members), members}

const struct slurmhooks_tables slurmhooks_tables = {
    1, 5, {TABLE("job"), TABLE("record"), TABLE("found"), TABLE("walked"), TABLE("unknown")}};

static char *texts[] = {"A=1", "", NULL, "B"};
static struct nested nested = {"inner", UINT64_MAX};
static struct row rows[] = {
    {"node0001", 1, 2, 3, 4, 5, &nested, NULL, texts, 4},
    {"", UINT8_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX, -1, &nested, NULL, NULL, 0},
    {NULL, 0, 0, 0, 0, 0, NULL, NULL, texts, 1},
};

static void *find(char *name, uint32_t number)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (name ? rows[i].name && !strcmp(rows[i].name, name) : rows[i].number == number)
            return &rows[i];
    return NULL;
}

static void walk(slurmhooks_visit *visit, void *argument)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (visit(&rows[i], argument) < 0)
            break;
}

static bool visible(const void *record, const struct slurmhooks_event *event)
{
    return event->unasked || ((const struct row *)record)->byte;
}

static const struct slurmhooks_records found = {
    .table = "found", .key = "name", .size = sizeof(struct row), .find = find, .walk = walk};
static const struct slurmhooks_records walked = {
    .table = "walked",
    .key = "number",
    .size = sizeof(struct row),
    .walk = walk,
    .visible = visible,
    .accounting = true,
    .moves = true,
};
static int locks;

const struct slurmhooks_records *slurmhooks_records(const char *table)
{
    return !strcmp(table, "found") ? &found : !strcmp(table, "walked") ? &walked : NULL;
}

void slurmhooks_records_lock(const struct slurmhooks_records *records)
{
    locks += records->accounting + 1;
}

void slurmhooks_records_unlock(const struct slurmhooks_records *records)
{
    locks -= records->accounting + 1;
}

/* Stand-ins for the functions of users.c, which read the texts that they get. */
static char *joined(uint32_t user_id, const char *first, const char *second)
{
    char *text = NULL;

    FUZZ_EXPECT(asprintf(&text, "%u %s %s", user_id, first ? first : "", second ? second : "") >= 0);
    return text;
}

char *slurmhooks_user_name(void *identity, uint32_t user_id)
{
    return identity ? NULL : joined(user_id, NULL, NULL);
}

char *slurmhooks_accounting_fact(uint32_t fact, uint32_t user_id, char *account, char *partition)
{
    return fact == FACT_DEFAULT_ACCOUNT && !user_id ? NULL : joined(user_id, account, partition);
}

char *slurmhooks_default_partition(char *reservation)
{
    return joined(0, reservation, NULL);
}

int64_t slurmhooks_qos_priority(char *name, bool as_slurm)
{
    (void)as_slurm;
    return (int64_t)strlen(name) - 1;
}

const char *slurmhooks_cluster_name(void)
{
    return "cluster";
}

void lock_slurmctld(slurmctld_lock_t wanted)
{
    locks += wanted.job == READ_LOCK;
}

void unlock_slurmctld(slurmctld_lock_t wanted)
{
    locks -= wanted.job == READ_LOCK;
}

job_record_t *find_job_record(uint32_t job_id)
{
    static job_record_t job = {2001};

    return job_id % 2 ? &job : NULL;
}

buf_t *get_job_script(const job_record_t *job)
{
    static buf_t script = {"#!/bin/sh\n"};

    return job ? &script : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool update = size && data[0] & 2, owner = size && data[0] & 4;
    struct slurmhooks_event event = {
        .job_desc = &rows[0],
        .record = update ? &rows[1] : NULL,
        .modify = true, /* not a job_desc_msg_t, which has an identity */
        .owner = owner ? 2001 : 0,
        .unasked = size && data[0] & 8,
    };
    size_t length, answer_length = 0;
    void *answer = NULL;
    struct slurmhooks_header header;
    struct slurmhooks_item item;
    char *question = fuzz_message(data, size, SLURMHOOKS_QUERY, &length);

    if (slurmhooks_answer_query(&event, question, length, &answer, &answer_length)) {
        size_t position = sizeof(header);
        FUZZ_EXPECT(slurmhooks_open(answer, answer_length, SLURMHOOKS_RESULT, &header));
        while (slurmhooks_next(answer, answer_length, &position, &item))
            ;
        FUZZ_EXPECT(position == answer_length);
        FUZZ_EXPECT((header.status != 0) == (answer_length == sizeof(header)));
        free(answer);
    }
    FUZZ_EXPECT(locks == 0);
    free(question);
    return 0;
}
