/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <endian.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/channel.h"
#include "wire/client.h"
#include "wire/pool.h"

#define PAGE_SIZE 256

/* The absolute time of a condition variable. */
static struct timespec timespec_of(int64_t time)
{
    return (struct timespec){time / 1000000000, time % 1000000000};
}

/* A free worker, now busy and first in the list; NULL: there is none. Call with the lock held. */
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

/* Wait for a free worker. OUT detail: why there is none, with NULL. */
static struct worker *take(struct slurmhooks_client *client, int64_t deadline, char *detail)
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
 * Read a worker's status page: how many requests it has begun with, then what it is doing. It is in the worker's hand.
 *
 * OUT text: what it is doing, as words to put after others.
 * RET whether it has begun with the last request.
 */
static bool read_page(const struct worker *worker, char *text, size_t size)
{
    char page[PAGE_SIZE];
    uint32_t begun = 0;
    ssize_t length = pread(worker->page, page, sizeof(page) - 1, 0);

    if (length < (ssize_t)sizeof(begun))
        length = sizeof(begun);
    else
        memcpy(&begun, page, sizeof(begun));
    page[length] = '\0';
    char *what = page + sizeof(begun);
    for (char *byte = what; *byte; byte++)
        if ((unsigned char)*byte < ' ' || *byte == 0x7f)
            *byte = '?';
    if (*what)
        snprintf(text, size, " in %s", what);
    else
        *text = '\0';
    return le32toh(begun) == worker->requests;
}

/* Give a worker back. OUT detail: what went wrong. RET whether the worker had begun with the request. */
static bool give_back(struct slurmhooks_client *client, struct worker *worker, enum slurmhooks_result result, bool last,
                      char *detail)
{
    char doing[PAGE_SIZE + 8];
    pid_t pid = worker->pid;
    bool begun = true;

    if (result != SLURMHOOKS_OK)
        begun = read_page(worker, doing, sizeof(doing));
    pthread_mutex_lock(&client->lock);
    worker->busy = false;
    if (result == SLURMHOOKS_WORKER_DIED && !worker->dead) {
        /* The monitor discards it when it is told how it ended; one that only closed its channel ends now. */
        worker->dead = true;
        killpg(pid, SIGKILL);
    } else if (result != SLURMHOOKS_OK)
        pool_discard(client, worker, true);
    else if (last || worker->dead || worker->generation < client->serving || client->stopping)
        pool_discard(client, worker, false);
    pthread_cond_signal(&client->changed);
    pthread_mutex_unlock(&client->lock);

    if (result == SLURMHOOKS_TIMED_OUT)
        snprintf(detail, SLURMHOOKS_DETAIL_MAX, "worker %d missed the deadline%s; it was killed", (int)pid, doing);
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

/* One request, and the worker's questions until it answers. */
static enum slurmhooks_result converse(struct worker *worker, const void *request, size_t length, int64_t deadline,
                                       slurmhooks_query query, void *context, void **answer, size_t *answer_length,
                                       bool *last)
{
    enum channel_result result = channel_send(worker->channel, CHANNEL_REQUEST, request, length, deadline);

    worker->requests++;
    for (;;) {
        uint32_t kind;
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
        bool valid = kind == CHANNEL_QUERY && query && query(context, data, size, &reply, &reply_size);
        free(data);
        result = valid ? channel_send(worker->channel, CHANNEL_REPLY, reply, reply_size, deadline) : CHANNEL_INVALID;
        free(reply);
    }
}

/* Note that an exchange runs, so that the client is not freed. RET its deadline. */
static int64_t begin(struct slurmhooks_client *client, unsigned deadline_ms)
{
    pthread_mutex_lock(&client->lock);
    client->exchanges++;
    unsigned time = deadline_ms ? deadline_ms : client->timeout_ms;
    pthread_mutex_unlock(&client->lock);
    return channel_now() + (int64_t)time * 1000000;
}

static void end(struct slurmhooks_client *client)
{
    pthread_mutex_lock(&client->lock);
    client->exchanges--;
    if (client->stopping)
        pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

enum slurmhooks_result slurmhooks_client_exchange(struct slurmhooks_client *client, const void *request, size_t length,
                                                  unsigned deadline_ms, slurmhooks_query query, void *context,
                                                  void **answer, size_t *answer_length, char *detail)
{
    char ignored[SLURMHOOKS_DETAIL_MAX];
    enum slurmhooks_result result;
    bool last = false, begun;

    if (!detail)
        detail = ignored;
    *detail = '\0';
    if (length > SLURMHOOKS_MESSAGE_MAX) {
        snprintf(detail, SLURMHOOKS_DETAIL_MAX, "the request has %zu bytes; at most %zu are possible", length,
                 SLURMHOOKS_MESSAGE_MAX);
        return SLURMHOOKS_UNAVAILABLE;
    }
    int64_t deadline = begin(client, deadline_ms);
    do {
        struct worker *worker = take(client, deadline, detail);
        if (!worker) {
            result = SLURMHOOKS_UNAVAILABLE;
            break;
        }
        result = converse(worker, request, length, deadline, query, context, answer, answer_length, &last);
        begun = give_back(client, worker, result, last, detail);
        /* Nothing has happened yet: another worker can have it. */
    } while (result == SLURMHOOKS_WORKER_DIED && !begun && channel_now() < deadline);
    /* What the handlers have logged comes before what slurmctld says about the request. */
    lines_read(&client->lines);
    end(client);
    if (result == SLURMHOOKS_OK)
        *detail = '\0';
    return result;
}
