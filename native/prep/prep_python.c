/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin for PrEpPlugins=prep/script,prep/python: has workers run handlers when a job starts and ends. Runs no
 * Python itself.
 *
 * slurmctld calls the plugin under its write locks, and does not wait for the result. A thread sends the event to a
 * worker, and calls slurmctld back. slurmd also loads the plugin, but it does nothing there: nodes have SPANK's
 * job_prolog and job_epilog.
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/thread.h"
#include "entry.h"
#include "log.h"
#include "prep/private.h"
#include "slurmctld/point.h"
#include "slurmctld/queries.h"

const char plugin_name[] = "PrEp Python plugin (slurmhooks)";
const char plugin_type[] = "prep/python";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* The most events that are handled at the same time, given enough workers. Others wait in order. */
#define THREADS 16
/* How often, in milliseconds, a thread checks whether a slurmctld that is reconfiguring continues. */
#define ENDING_MS 50
/* The wait status of a script that ends with exit code 1. */
#define FAILED (1 << 8)

/* As in src/interfaces/prep.h of all releases. */
struct callbacks {
    void (*prolog)(int rc, uint32_t job_id, bool timed_out);
    void (*epilog)(int rc, uint32_t job_id, bool timed_out);
};
enum { REGISTER_CALLBACKS, PROLOG, EPILOG, PROLOG_SLURMCTLD, EPILOG_SLURMCTLD };

/* A function of slurmctld: the environment of PrologSlurmctld and EpilogSlurmctld. The caller frees it with xfree. */
extern char **job_common_env_vars(void *job_record, bool is_complete);
extern void slurm_xfree(void **item);

/* An event that waits or is handled. */
struct job {
    struct job *next;
    struct slurmhooks_event event;
    uint32_t id;
    bool epilog;
    bool broken;                      /* could not be packed, so it fails without running handlers */
    char *text;                       /* why it failed, for the user; or NULL */
    struct slurmhooks_buffer structs; /* packed under slurmctld's locks */
};

struct slurmhooks_point slurmhooks_point = {.name = "prep"};
static struct callbacks callbacks;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* Protected by the mutex. */
static bool stopping;
static struct job *first, **last = &first;

static pthread_t threads[THREADS];
static unsigned thread_count;

static void free_job(struct job *job)
{
    if (job) {
        free(job->structs.data);
        free(job->text);
    }
    free(job);
}

/* Append the items that were packed when slurmctld called the plugin. IN context: the job. */
static void pack(void *context, struct slurmhooks_buffer *request)
{
    const struct job *job = context;
    struct slurmhooks_item item;
    size_t position = sizeof(struct slurmhooks_header);

    while (slurmhooks_next(job->structs.data, job->structs.size, &position, &item))
        slurmhooks_put(request, item.tag, item.value, item.size);
}

static bool answer_query(void *context, const void *question, size_t length, void **answer, size_t *answer_length)
{
    return slurmhooks_answer_with_locks(&((struct job *)context)->event, question, length, answer, answer_length);
}

static void keep_text(void *context, const char *text)
{
    struct job *job = context;

    free(job->text);
    job->text = text ? strdup(text) : NULL;
}

/* Let the handlers answer an event. RET the wait status for slurmctld. */
static int handle(struct job *job)
{
    char whom[32];
    const struct slurmhooks_call call = {
        .hook = job->epilog ? "controller_epilog" : "controller_prolog",
        .whom = whom,
        .failed = job->epilog ? "failed" : "failed, so the job is requeued or ended",
        .number = job->epilog ? HOOK_controller_epilog : HOOK_controller_prolog,
        .pack = pack,
        .tell = keep_text,
        .query = answer_query,
        .context = job,
    };
    struct slurmhooks_verdict verdict;
    struct slurmhooks_answer answer;

    snprintf(whom, sizeof(whom), "JobId=%u", job->id);
    if (job->broken) {
        slurmhooks_point_report(&call, call.failed, "memory is short");
        return FAILED;
    }
    enum slurmhooks_end end = slurmhooks_point_call(&call, &answer);
    if (end != SLURMHOOKS_ANSWERED)
        return end == SLURMHOOKS_PASSED ? 0 : FAILED;
    const char *wrong = slurmhooks_apply(answer.data, answer.size, NULL, &verdict);
    if (wrong)
        slurmhooks_point_damaged(&call, &answer, wrong);
    else
        keep_text(job, verdict.text);
    bool failed = wrong || verdict.code;
    free(answer.data);
    return failed ? FAILED : 0;
}

/* Wait until slurmctld accepts callbacks. RET false if it never will, because it is ending or is being replaced. */
static bool takes_callbacks(void)
{
    for (;;) {
        pthread_mutex_lock(&mutex);
        bool ends = stopping;
        pthread_mutex_unlock(&mutex);
        if (ends || !slurmhooks_is_ending())
            return !ends;
        nanosleep(&(struct timespec){.tv_nsec = ENDING_MS * 1000000L}, NULL);
    }
}

/* Tell slurmctld how an event ended. If slurmctld ends first, the next slurmctld runs the event again. */
static void finish(const struct job *job, int status)
{
    if (!takes_callbacks())
        return;
    bool has_reason = status && job->text && !job->epilog;
    if (has_reason)
        slurmhooks_say_reason(job->id, job->text);
    errno = 0; /* slurmctld continues in this thread */
    (job->epilog ? callbacks.epilog : callbacks.prolog)(status, job->id, false);
    if (has_reason)
        slurmhooks_keep_reason(job->id, job->text);
}

/* Wait for an event. RET NULL if the threads must end. */
static struct job *next_job(void)
{
    pthread_mutex_lock(&mutex);
    while (!first && !stopping)
        pthread_cond_wait(&changed, &mutex);
    struct job *job = stopping ? NULL : first;
    if (job && !(first = job->next))
        last = &first;
    pthread_mutex_unlock(&mutex);
    return job;
}

static void *run(void *unused)
{
    struct job *job;

    (void)unused;
    while ((job = next_job())) {
        finish(job, handle(job));
        free_job(job);
    }
    return NULL;
}

/*
 * Start the threads that are missing. Called while the plugin starts, and under slurmctld's write locks, so by one
 * thread at a time.
 */
static void start_threads(void)
{
    while (thread_count < THREADS && !start_thread(&threads[thread_count], 0, run, NULL))
        thread_count++;
    if (!thread_count)
        log_error("prep: no thread can be started: jobs wait to start or end; the next one that does tries again");
}

/*
 * Pack the job's record and the variables, and free the variables. OUT job: the packed data and the job's id. RET false
 * if memory is short.
 */
static bool pack_event(struct job *job, void *record, char **variables)
{
    slurmhooks_begin(&job->structs, SLURMHOOKS_REQUEST);
    if (slurmhooks_tables.count > TABLE_record)
        slurmhooks_put_struct(&job->structs, TABLE_record, record);
    size_t size = 0;
    for (char **variable = variables; variable && *variable; variable++)
        size += strlen(*variable) + 1;
    char *joined = malloc(size + 1), *end = joined;
    for (char **variable = variables; variable && *variable; variable++) {
        if (joined)
            end = stpcpy(end, *variable) + 1;
        if (!strncmp(*variable, "SLURM_JOB_ID=", strlen("SLURM_JOB_ID=")))
            job->id = (uint32_t)strtoul(*variable + strlen("SLURM_JOB_ID="), NULL, 10);
        slurm_xfree((void **)variable);
    }
    slurm_xfree((void **)&variables);
    if (joined)
        slurmhooks_put(&job->structs, SLURMHOOKS_VARIABLES, joined, size);
    bool complete = joined != NULL;
    free(joined);
    return slurmhooks_end(&job->structs, 0, 0, 0) && complete;
}

/*
 * Give an event to the threads. RET whether slurmctld must wait for a callback.
 *
 * Only the callback can stop a job, so even an event that cannot be packed goes to the threads, and fails there.
 */
static bool begin(void *record, bool epilog)
{
    struct job *job = calloc(1, sizeof(*job));

    if (!job) {
        log_error("a %s did not run: out of memory", epilog ? "controller_epilog" : "controller_prolog");
        return false;
    }
    job->broken = !pack_event(job, record, job_common_env_vars(record, epilog));
    job->epilog = epilog;
    job->event = (struct slurmhooks_event){.unasked = true, .job_id = job->id};
    pthread_mutex_lock(&mutex);
    *last = job;
    last = &job->next;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    start_threads();
    return true;
}

/* Start workers and threads, in slurmctld only. RET the return code of init(). */
static int start(void)
{
    if (thread_count)
        return SLURM_SUCCESS;
    int rc = slurmhooks_point_start();
    stopping = false;
    if (!rc)
        start_threads();
    return rc;
}

extern int init(void)
{
    LEAVES_ERRNO(errno);
    /* Only init() can stop a slurmctld that 'scontrol reconfigure' has started, and only it has this variable. */
    return getenv("SLURMCTLD_RECONF") ? start() : SLURM_SUCCESS;
}

extern int fini(void)
{
    LEAVES_ERRNO(errno);
    pthread_mutex_lock(&mutex);
    stopping = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    if (slurmhooks_point.client)
        slurmhooks_client_interrupt(slurmhooks_point.client);
    while (thread_count)
        pthread_join(threads[--thread_count], NULL);
    slurmhooks_point_stop();
    while (first) {
        struct job *job = first;
        first = job->next;
        free_job(job);
    }
    last = &first;
    return SLURM_SUCCESS;
}

/* Called by slurmctld only. */
extern void prep_p_register_callbacks(const struct callbacks *given)
{
    LEAVES_ERRNO(errno);
    callbacks = *given;
    if (callbacks.prolog && callbacks.epilog)
        start();
}

extern int prep_p_prolog(void *job_env, void *cred)
{
    LEAVES_ERRNO(errno);
    (void)job_env, (void)cred;
    return SLURM_SUCCESS;
}

extern int prep_p_epilog(void *job_env, void *cred)
{
    LEAVES_ERRNO(errno);
    (void)job_env, (void)cred;
    return SLURM_SUCCESS;
}

extern int prep_p_prolog_slurmctld(void *job_record, bool *async)
{
    LEAVES_ERRNO(errno);
    *async = begin(job_record, false);
    return SLURM_SUCCESS;
}

extern int prep_p_epilog_slurmctld(void *job_record, bool *async)
{
    LEAVES_ERRNO(errno);
    *async = begin(job_record, true);
    return SLURM_SUCCESS;
}

extern void prep_p_required(int type, bool *required)
{
    LEAVES_ERRNO(errno);
    *required = callbacks.prolog && callbacks.epilog && (type == PROLOG_SLURMCTLD || type == EPILOG_SLURMCTLD);
}
