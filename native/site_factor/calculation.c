/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "site_factor/calculation.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/slurm_xlator.h"
#include "src/common/read_config.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "client/thread.h"
#include "slurmctld/point.h"
#include "slurmctld/queries.h"

/* Jobs per message, so that packing it and applying its answer hold the locks for less than a millisecond. */
#define BATCH 500
/* Jobs per message while it is unknown which members handlers read: the worker then asks for the record of each job. */
#define FIRST_BATCH 10
/* How many seconds before their use all values are calculated; at most half of the period. */
#define AHEAD 10
/*
 * How often, in milliseconds, the thread checks whether slurmctld is ending while the thread waits for the first
 * worker.
 */
#define WORKER_MS 200
/* The most members that job_record_t may have. */
#define MOST_MEMBERS 512
struct slurmhooks_point slurmhooks_point = {.name = "site_factor"};

static pthread_t thread;
static bool running;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
/* Protected by the mutex. */
static bool stopping;
static struct timespec due; /* when to calculate all values; 0: after they have been used */

/* The job members that batches contain: job_id, and those that handlers read according to the workers' answers. */
static uint32_t members[MOST_MEMBERS];
static uint32_t member_count;
static bool members_known; /* the last batch needed no other members */

/* Jobs whose values are calculated by one message. */
struct batch {
    struct slurmhooks_event event;
    job_record_t *job; /* the only job, while the lock of jobs is held; NULL: the jobs with these ids */
    const uint32_t *job_ids;
    uint32_t count;
    uint32_t packed[BATCH]; /* the ids of the jobs that were packed, in order */
    uint32_t packed_count;
};

static bool is_waiting(const job_record_t *job)
{
    return job && IS_JOB_PENDING(job);
}

static void pack_batch(void *context, struct slurmhooks_buffer *request)
{
    const slurmctld_lock_t locks = {.job = READ_LOCK, .part = READ_LOCK};
    struct batch *batch = context;

    request->longest = SLURMHOOKS_WHOLE;
    if (batch->job) {
        slurmhooks_put_struct(request, TABLE_record, batch->job);
        return;
    }
    slurmhooks_put(request, SLURMHOOKS_MEMBERS, members, member_count * sizeof(*members));
    batch->packed_count = 0;
    lock_slurmctld(locks);
    for (uint32_t i = 0; i < batch->count; i++) {
        const job_record_t *job = find_job_record(batch->job_ids[i]);
        if (!is_waiting(job))
            continue;
        slurmhooks_put_some(request, TABLE_record, job, members, member_count);
        batch->packed[batch->packed_count++] = batch->job_ids[i];
    }
    unlock_slurmctld(locks);
}

static bool answer_batch(void *context, const void *question, size_t length, void **answer, size_t *answer_length)
{
    struct batch *batch = context;

    return (batch->job ? slurmhooks_answer_query : slurmhooks_answer_with_locks)(&batch->event, question, length,
                                                                                 answer, answer_length);
}

/*
 * Read an answer. OUT values: one per job; used, used_count: the members that handlers read. RET NULL, or what is wrong
 * with the answer.
 */
static const char *read_answer(const void *answer, size_t size, uint32_t count, const uint32_t **values,
                               const uint32_t **used, uint32_t *used_count)
{
    struct slurmhooks_header header;
    struct slurmhooks_item item;
    size_t position = sizeof(header);

    *values = *used = NULL;
    if (!slurmhooks_open(answer, size, SLURMHOOKS_ANSWER, &header))
        return "it is not an answer of this build of slurmhooks";
    while (slurmhooks_next(answer, size, &position, &item)) {
        if (item.tag == FACTORS_VALUES && item.size == count * sizeof(**values)) {
            *values = (const uint32_t *)item.value;
        } else if (item.tag == FACTORS_USED_MEMBERS && item.size % sizeof(**used) == 0 &&
                   item.size <= sizeof(members)) {
            *used = (const uint32_t *)item.value;
            *used_count = item.size / sizeof(**used);
        } else {
            return "it has an invalid item";
        }
    }
    for (uint32_t i = 0; *used && i < *used_count; i++)
        if ((*used)[i] >= slurmhooks_tables.table[TABLE_record].count)
            return "it names a member that does not exist";
    return position == size && *values ? NULL : "it ends within an item, or has no values";
}

/* Set the value of a job. IN value: NO_VAL if the job keeps its present value. */
static void apply(job_record_t *job, uint32_t value)
{
    if (value == NO_VAL || value == job->site_factor)
        return;
    job->site_factor = value;
    last_job_update = time(NULL);
}

static void apply_batch(const struct batch *batch, const uint32_t *values)
{
    const slurmctld_lock_t locks = {.job = WRITE_LOCK};

    if (batch->job) {
        apply(batch->job, values[0]);
        return;
    }
    lock_slurmctld(locks);
    for (uint32_t i = 0; i < batch->packed_count; i++) {
        job_record_t *job = find_job_record(batch->packed[i]);
        if (is_waiting(job))
            apply(job, values[i]);
    }
    unlock_slurmctld(locks);
}

/*
 * Let a worker calculate the values of a batch, and apply them. RET false if that failed; the failure has been
 * reported.
 */
static bool calculate(struct batch *batch, const char *whom)
{
    const struct slurmhooks_call call = {
        .hook = "priority",
        .whom = whom,
        .failed = "keeps its present site factor",
        .pack = pack_batch,
        .query = answer_batch,
        .context = batch,
    };
    const uint32_t *values, *used;
    uint32_t used_count = 0;
    struct slurmhooks_answer answer;

    enum slurmhooks_end end = slurmhooks_point_call(&call, &answer);
    if (end != SLURMHOOKS_ANSWERED)
        return end == SLURMHOOKS_PASSED;
    const uint32_t count = batch->job ? 1 : batch->packed_count;
    const char *wrong = read_answer(answer.data, answer.size, count, &values, &used, &used_count);
    if (wrong)
        slurmhooks_point_damaged(&call, &answer, wrong);
    else
        apply_batch(batch, values);
    if (!wrong && used && !batch->job) {
        members_known = used_count == member_count;
        memcpy(members, used, used_count * sizeof(*members));
        member_count = used_count;
    }
    free(answer.data);
    return !wrong;
}

void slurmhooks_calculate_one(void *job_record)
{
    char whom[32], reason[SLURMHOOKS_DETAIL_MAX];
    struct batch batch = {.job = job_record, .event = {.record = job_record, .unasked = true, .in_walk = true}};

    /* If there are no workers yet, as after a start, the job does not wait: the thread calculates its value later. */
    if (!slurmhooks_point.client || !slurmhooks_client_wait(slurmhooks_point.client, 1, reason))
        return;
    snprintf(whom, sizeof(whom), "JobId=%u", batch.job->job_id);
    calculate(&batch, whom);
}

struct waiting_jobs {
    uint32_t *ids;
    uint32_t count, room;
};

static int add_waiting(void *object, void *argument)
{
    const job_record_t *job = object;
    struct waiting_jobs *jobs = argument;

    if (is_waiting(job) && jobs->count < jobs->room)
        jobs->ids[jobs->count++] = job->job_id;
    return 0;
}

/* OUT jobs: the ids of all waiting jobs. RET false if memory is short. */
static bool list_waiting(struct waiting_jobs *jobs)
{
    const slurmctld_lock_t locks = {.job = READ_LOCK};

    *jobs = (struct waiting_jobs){0};
    lock_slurmctld(locks);
    jobs->room = job_list ? (uint32_t)list_count(job_list) : 0;
    jobs->ids = calloc(jobs->room + 1, sizeof(*jobs->ids));
    if (jobs->ids && job_list)
        list_for_each(job_list, add_waiting, jobs);
    unlock_slurmctld(locks);
    return jobs->ids != NULL;
}

static bool is_stopping(void)
{
    pthread_mutex_lock(&mutex);
    bool ends = stopping;
    pthread_mutex_unlock(&mutex);
    return ends;
}

static void calculate_all(void)
{
    struct waiting_jobs jobs;
    struct batch batch;
    char whom[64];

    if (!list_waiting(&jobs)) {
        error("slurmhooks: priority: memory is short: all jobs keep the site factor that they have");
        return;
    }
    for (uint32_t start = 0; start < jobs.count && !is_stopping(); start += batch.count) {
        uint32_t left = jobs.count - start, most = members_known ? BATCH : FIRST_BATCH;
        batch =
            (struct batch){.event = {.unasked = true}, .job_ids = jobs.ids + start, .count = left < most ? left : most};
        snprintf(whom, sizeof(whom), "%u jobs from JobId=%u on", left, jobs.ids[start]);
        if (!calculate(&batch, whom))
            break; /* one report is enough */
    }
    free(jobs.ids);
}

/* Wait until all values are due. RET false if slurmctld ends. */
static bool wait_until_due(void)
{
    struct timespec now;

    pthread_mutex_lock(&mutex);
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (stopping || (due.tv_sec && now.tv_sec >= due.tv_sec))
            break;
        if (due.tv_sec)
            pthread_cond_timedwait(&changed, &mutex, &due);
        else
            pthread_cond_wait(&changed, &mutex);
    }
    due.tv_sec = 0;
    bool continues = !stopping;
    pthread_mutex_unlock(&mutex);
    return continues;
}

static void *run(void *unused)
{
    char reason[SLURMHOOKS_DETAIL_MAX];

    (void)unused;
    /* Calculate at once: values of the previous slurmctld, or of other hook files, must be replaced soon. */
    while (!is_stopping() && !slurmhooks_client_wait(slurmhooks_point.client, WORKER_MS, reason))
        nanosleep(&(struct timespec){.tv_nsec = WORKER_MS * 1000000L}, NULL);
    do
        calculate_all();
    while (wait_until_due());
    return NULL;
}

void slurmhooks_calculation_used(void)
{
    time_t period = slurm_conf.priority_calc_period;

    pthread_mutex_lock(&mutex);
    clock_gettime(CLOCK_MONOTONIC, &due);
    due.tv_sec += period - (period / 2 < AHEAD ? period / 2 : AHEAD);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

int slurmhooks_calculation_start(void)
{
    int rc = slurmhooks_point_start();

    if (rc || !slurmhooks_point.client)
        return rc;
    stopping = false;
    while (strcmp(slurmhooks_tables.table[TABLE_record].members[*members].name, "job_id"))
        ++*members;
    member_count = 1;
    start_condition(&changed);
    running = !start_thread(&thread, 0, run, NULL);
    if (!running)
        error("slurmhooks: priority: no thread can be started: site factors are calculated for new jobs only");
    return SLURM_SUCCESS;
}

void slurmhooks_calculation_stop(void)
{
    pthread_mutex_lock(&mutex);
    stopping = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    if (running)
        pthread_join(thread, NULL);
    running = false;
    slurmhooks_point_stop();
}
