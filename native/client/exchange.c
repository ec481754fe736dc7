/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exchanges: take a free worker, send it a request, answer its questions, receive its answer. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/channel.h"
#include "client/client.h"
#include "client/pool.h"

#define MS INT64_C(1000000)
/* If a request misses its deadline after it has waited longer than this for a worker, the log says so. */
#define LONG_WAIT (100 * MS)

/* The beginning of a status page, followed by a text. */
struct page_start {
    uint32_t begun; /* how many requests the worker has begun */
    uint32_t flags; /* of the running handler: enum slurmhooks_flag */
};

/* RET a deadline in the form that condition variables need. */
static struct timespec timespec_of(int64_t time)
{
    return (struct timespec){time / 1000000000, time % 1000000000};
}

/* RET a free worker, marked busy and moved to the front of the list; or NULL. The caller holds the lock. */
static struct worker *find_free(struct slurmhooks_client *client)
{
    for (struct worker **link = &client->workers; *link; link = &(*link)->next) {
        struct worker *worker = *link;
        if (worker->busy || worker->dead || worker->generation < client->serving)
            continue;
        *link = worker->next;
        worker->next = client->workers;
        client->workers = worker;
        worker->busy = true;
        return worker;
    }
    return NULL;
}

/*
 * Discard a free worker that has sent more than its answer: what is left would be taken as the answer to the request
 * of somebody else. RET false if there is nothing left.
 */
static bool discard_talkative(struct slurmhooks_client *client, struct worker *worker)
{
    pid_t pid = worker->pid;

    if (!channel_has_more(worker->channel))
        return false;
    pthread_mutex_lock(&client->lock);
    pool_discard(client, worker, true);
    pthread_mutex_unlock(&client->lock);
    pool_log(client, SLURMHOOKS_ERROR, "worker %d has sent more than its answer; it was killed", (int)pid);
    return true;
}

/* Wait for a free worker. RET NULL if none is free before the deadline. OUT detail: why, if NULL is returned. */
static struct worker *take_worker(struct slurmhooks_client *client, int64_t deadline, char *detail)
{
    struct timespec until = timespec_of(deadline);
    struct worker *worker = NULL;
    int error = 0;

    pthread_mutex_lock(&client->lock);
    while (!client->stopping && !(worker = find_free(client)) && error != ETIMEDOUT) {
        if (client->unavailable && !client->workers)
            break;
        error = pthread_cond_timedwait(&client->changed, &client->lock, &until);
    }
    if (!worker) {
        const char *reason = "all workers were busy until the deadline";
        if (client->stopping)
            reason = "slurmctld ends";
        else if (client->unavailable)
            reason = client->reason;
        else if (!client->workers)
            reason = "no worker was ready before the deadline";
        snprintf(detail, SLURMHOOKS_DETAIL_MAX, "%s", reason);
    }
    pthread_mutex_unlock(&client->lock);
    return worker;
}

/*
 * Read the status page of a worker, whose content cannot be trusted: the worker can write anything.
 *
 * OUT failure  the running handler
 * OUT text     " in HANDLER", or an empty text
 * RET whether the worker has begun its last request
 */
static bool read_page(const struct worker *worker, struct slurmhooks_failure *failure, char *text, size_t size)
{
    struct {
        struct page_start start;
        char what[SLURMHOOKS_STATUS_PAGE - sizeof(struct page_start)];
    } page;
    ssize_t length = pread(worker->page, &page, sizeof(page), 0);

    if (length < (ssize_t)sizeof(page))
        memset(&page, 0, sizeof(page));
    page.what[sizeof(page.what) - 1] = '\0';
    for (char *byte = page.what; *byte; byte++)
        if ((unsigned char)*byte < ' ' || *byte == 0x7f)
            *byte = '?';
    if (*page.what)
        snprintf(text, size, " in %s", page.what);
    else
        *text = '\0';
    uint32_t flags = le32toh(page.start.flags);
    failure->lenient = *page.what && (flags & FLAG_LENIENT);
    failure->all_lenient = *page.what && (flags & FLAG_ALL_LENIENT);
    snprintf(failure->handler, sizeof(failure->handler), "%s", page.what);
    return le32toh(page.start.begun) == worker->requests;
}

/*
 * End the use of a worker, and discard it if it cannot be used again.
 *
 * IN result   of the exchange
 * IN last     whether the worker ends after its answer
 * IN waited   how long the request has waited for the worker, in nanoseconds
 * OUT failure what went wrong
 * RET whether the worker had begun the request
 */
static bool release_worker(struct slurmhooks_client *client, struct worker *worker, enum slurmhooks_result result,
                           bool last, int64_t waited, struct slurmhooks_failure *failure)
{
    char doing[SLURMHOOKS_STATUS_PAGE + 8] = "", waited_text[80] = "", *detail = failure->detail;
    pid_t pid = worker->pid;
    bool begun = true;

    if (result != SLURMHOOKS_OK)
        begun = read_page(worker, failure, doing, sizeof(doing));
    if (waited > LONG_WAIT)
        snprintf(waited_text, sizeof(waited_text), " (the request had waited %.1f s for a free worker)",
                 (double)waited / 1e9);
    pthread_mutex_lock(&client->lock);
    worker->busy = false;
    if (result == SLURMHOOKS_WORKER_DIED && !worker->dead) {
        /*
         * The worker may still run, with its channel closed. The monitor discards it when the supervisor reports its
         * end.
         */
        worker->dead = true;
        pool_kill(client, worker);
    } else if (result != SLURMHOOKS_OK)
        pool_discard(client, worker, true);
    else if (last || worker->dead || worker->generation < client->serving || client->stopping)
        pool_discard(client, worker, false);
    pthread_cond_signal(&client->changed);
    pthread_mutex_unlock(&client->lock);

    if (result == SLURMHOOKS_TIMED_OUT)
        snprintf(detail, SLURMHOOKS_DETAIL_MAX, "worker %d missed the deadline%s%s; it was killed", (int)pid, doing,
                 waited_text);
    else if (result == SLURMHOOKS_WORKER_DIED)
        snprintf(detail, SLURMHOOKS_DETAIL_MAX, "worker %d ended before it answered%s", (int)pid, doing);
    else if (result == SLURMHOOKS_PROTOCOL)
        snprintf(detail, SLURMHOOKS_DETAIL_MAX, "worker %d sent an invalid message%s; it was killed", (int)pid, doing);
    return begun;
}

static enum slurmhooks_result result_of(enum channel_result result)
{
    switch (result) {
    case CHANNEL_OK: return SLURMHOOKS_OK;
    case CHANNEL_TIMED_OUT: return SLURMHOOKS_TIMED_OUT;
    case CHANNEL_CLOSED: return SLURMHOOKS_WORKER_DIED;
    case CHANNEL_INVALID:
    case CHANNEL_NO_MEMORY: break;
    }
    return SLURMHOOKS_PROTOCOL;
}

/* Send a request, and answer questions of the worker until it answers. */
static enum slurmhooks_result run_exchange(struct worker *worker, const void *request, size_t length, int64_t deadline,
                                           slurmhooks_query query, void *context, void **answer, size_t *answer_length,
                                           bool *last)
{
    enum channel_result result = channel_send(worker->channel, CHANNEL_REQUEST, request, length, deadline);
    int64_t whole = deadline;

    worker->requests++;
    for (;;) {
        uint32_t kind, limit;
        void *data, *reply = NULL;
        size_t size, reply_size = 0;

        if (result == CHANNEL_OK)
            result = channel_receive(worker->channel, deadline, &kind, &data, &size);
        if (result != CHANNEL_OK)
            return result_of(result);
        if (kind == CHANNEL_ANSWER || kind == CHANNEL_LAST) {
            *last = kind == CHANNEL_LAST;
            *answer = data;
            *answer_length = size;
            return SLURMHOOKS_OK;
        }
        bool valid = false;
        if (kind == CHANNEL_LIMIT && size == sizeof(limit)) {
            valid = true;
            memcpy(&limit, data, sizeof(limit));
            deadline = limit ? channel_now() + le32toh(limit) * MS : whole;
            if (deadline > whole)
                deadline = whole;
        } else if (kind == CHANNEL_QUERY) {
            valid = query && query(context, data, size, &reply, &reply_size);
        }
        free(data);
        result = valid ? channel_send(worker->channel, CHANNEL_REPLY, reply, reply_size, deadline) : CHANNEL_INVALID;
        free(reply);
    }
}

/* Count a running exchange: the client is not freed before all exchanges have ended. */
static void count_begin(struct slurmhooks_client *client)
{
    pthread_mutex_lock(&client->lock);
    client->exchanges++;
    pthread_mutex_unlock(&client->lock);
}

static void count_end(struct slurmhooks_client *client)
{
    pthread_mutex_lock(&client->lock);
    client->exchanges--;
    if (client->stopping)
        pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

void slurmhooks_client_discard(struct slurmhooks_client *client, uint32_t pid)
{
    pthread_mutex_lock(&client->lock);
    for (struct worker *worker = client->workers, *next; worker; worker = next) {
        next = worker->next;
        if ((uint32_t)worker->pid != pid)
            continue;
        if (worker->busy)
            worker->dead = true; /* the thread that uses it discards it */
        else
            pool_discard(client, worker, true);
    }
    pthread_mutex_unlock(&client->lock);
}

enum slurmhooks_result slurmhooks_client_exchange(struct slurmhooks_client *client, const void *request, size_t length,
                                                  int64_t deadline, slurmhooks_query query, void *context,
                                                  void **answer, size_t *answer_length,
                                                  struct slurmhooks_failure *failure)
{
    struct slurmhooks_failure ignored;
    enum slurmhooks_result result;
    bool last = false, begun;

    if (!failure)
        failure = &ignored;
    *failure = (struct slurmhooks_failure){0};
    if (length > SLURMHOOKS_MAX_MESSAGE) {
        snprintf(failure->detail, sizeof(failure->detail), "the request has %zu bytes, more than the limit of %zu",
                 length, SLURMHOOKS_MAX_MESSAGE);
        return SLURMHOOKS_UNAVAILABLE;
    }
    int64_t arrived = channel_now();
    count_begin(client);
    do {
        struct worker *worker;
        do
            worker = take_worker(client, deadline, failure->detail);
        while (worker && discard_talkative(client, worker));
        if (!worker) {
            result = SLURMHOOKS_UNAVAILABLE;
            break;
        }
        failure->worker = (uint32_t)worker->pid;
        int64_t waited = channel_now() - arrived;
        result = run_exchange(worker, request, length, deadline, query, context, answer, answer_length, &last);
        begun = release_worker(client, worker, result, last, waited, failure);
        /* A worker that has not begun the request has run no handler, so the request can be sent to another worker. */
    } while (result == SLURMHOOKS_WORKER_DIED && !begun && channel_now() < deadline);
    /* Log the lines of the handlers before those of slurmctld about this request. */
    lines_read(&client->lines);
    count_end(client);
    if (result == SLURMHOOKS_OK)
        *failure->detail = '\0';
    return result;
}
