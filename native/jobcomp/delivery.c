/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/delivery.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "client/thread.h"
#include "log.h"
#include "wire/wire.h"

/* The time limit of all handlers of a record together, in milliseconds. Workers limit each handler. */
#define DEADLINE_MS (3600 * 1000)
/* The time between two attempts to get a worker, and between two calls of fdatasync(). */
#define PAUSE_MS 1000
#define RETRY_MS 100
/* Seconds for which another slurmctld may have the lock before the log tells of it: one that ends needs a moment. */
#define SHORT 5

struct lane {
    struct slurmhooks_delivery *delivery;
    pthread_t thread;
    bool rung;
    struct slurmhooks_failure failure; /* how the last delivery ended; the next request reports it */
};

struct slurmhooks_delivery {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct slurmhooks_client *client;
    struct slurmhooks_spool *spool;
    char *folder;
    int only; /* a locked file, so that no other slurmctld delivers; -1: not open yet */
    bool is_only;
    time_t waits; /* since when it waits for the lock, by CLOCK_MONOTONIC; 0: it does not */
    bool told;    /* the log says that it waits */
    bool stopping;
    unsigned started;
    struct lane lanes[SLURMHOOKS_LANES + 1]; /* the last one calls slurmhooks_spool_sync() */
};

/* Wait. IN rung: whether a new record wakes the thread. RET false if the threads must end. */
static bool pause_lane(struct slurmhooks_delivery *delivery, struct lane *lane, unsigned ms, bool rung)
{
    struct timespec until;
    int error = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&delivery->lock);
    while (!delivery->stopping && !(rung && lane->rung) && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&delivery->changed, &delivery->lock, &until);
    lane->rung = false;
    bool goes_on = !delivery->stopping;
    pthread_mutex_unlock(&delivery->lock);
    return goes_on;
}

/* Note in the locked file who has the lock, for the log of another slurmctld. */
static void note_holder(int only)
{
    char host[HOST_NAME_MAX + 1] = "", text[HOST_NAME_MAX + 32];

    gethostname(host, sizeof(host) - 1);
    int size = snprintf(text, sizeof(text), "%s, process %d", host, (int)getpid());
    if (ftruncate(only, 0) || pwrite(only, text, (size_t)size, 0) != size)
        log_error("job_end: the log of another slurmctld cannot name this one: %s", strerror(errno));
}

/* Tell why nothing is delivered, once. IN error: of the lock. */
static void tell_waiting(struct slurmhooks_delivery *delivery, int error)
{
    char holder[HOST_NAME_MAX + 32] = "";
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!delivery->waits)
        delivery->waits = now.tv_sec;
    if (delivery->told || (error == EWOULDBLOCK && now.tv_sec - delivery->waits < SHORT))
        return;
    delivery->told = true;
    if (error != EWOULDBLOCK) {
        log_error("job_end is not delivered: %s/lock: %s", delivery->folder, strerror(error));
        return;
    }
    if (pread(delivery->only, holder, sizeof(holder) - 1, 0) <= 0)
        snprintf(holder, sizeof(holder), "another slurmctld");
    log_error("job_end waits for the lock %s/lock of %s", delivery->folder, holder);
}

/* RET whether no other slurmctld delivers records: 'scontrol reconfigure' starts a new one before the old one ends. */
static bool is_only(struct slurmhooks_delivery *delivery)
{
    char path[PATH_MAX];

    pthread_mutex_lock(&delivery->lock);
    if (delivery->only < 0) {
        snprintf(path, sizeof(path), "%s/lock", delivery->folder);
        delivery->only = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    if (!delivery->is_only) {
        delivery->is_only = delivery->only >= 0 && !flock(delivery->only, LOCK_EX | LOCK_NB);
        if (!delivery->is_only) {
            tell_waiting(delivery, errno);
        } else {
            note_holder(delivery->only);
            if (delivery->told)
                slurm_info("slurmhooks: this slurmctld delivers job_end");
        }
    }
    bool only = delivery->is_only;
    pthread_mutex_unlock(&delivery->lock);
    return only;
}

/* OUT wait  how many milliseconds an answer says to wait. RET false if it does not say so. */
static bool read_wait(const void *answer, size_t size, unsigned *wait)
{
    struct slurmhooks_header header;
    struct slurmhooks_item item;
    size_t position = sizeof(header);
    uint64_t number;

    if (!slurmhooks_open(answer, size, SLURMHOOKS_ANSWER, &header) ||
        !slurmhooks_next(answer, size, &position, &item) || item.tag != SLURMHOOKS_WAIT ||
        !slurmhooks_number(&item, &number) || number > UINT32_MAX)
        return false;
    *wait = (unsigned)number;
    return true;
}

/* Let a worker deliver one record. RET the milliseconds until the next delivery. */
static unsigned deliver(struct slurmhooks_delivery *delivery, struct lane *lane)
{
    struct slurmhooks_buffer request;
    void *answer = NULL;
    size_t size = 0;
    unsigned wait = PAUSE_MS;

    slurmhooks_begin(&request, SLURMHOOKS_REQUEST);
    slurmhooks_put_text(&request, DELIVERY_FOLDER, delivery->folder);
    slurmhooks_put(&request, DELIVERY_LANE, &(uint64_t){(uint64_t)(lane - delivery->lanes)}, sizeof(uint64_t));
    slurmhooks_put(&request, DELIVERY_LANES, &(uint64_t){SLURMHOOKS_LANES}, sizeof(uint64_t));
    if (*lane->failure.detail) {
        slurmhooks_put_text(&request, DELIVERY_DETAIL, lane->failure.detail);
        slurmhooks_put_text(&request, DELIVERY_HANDLER, lane->failure.handler);
    }
    if (!slurmhooks_end(&request, 0, 0, 0))
        return PAUSE_MS;
    enum slurmhooks_result result = slurmhooks_client_exchange(
        delivery->client, request.data, request.size, slurmhooks_client_deadline(delivery->client, DEADLINE_MS), NULL,
        NULL, &answer, &size, &lane->failure);
    free(request.data);
    if (result == SLURMHOOKS_UNAVAILABLE || (result != SLURMHOOKS_OK && delivery->stopping)) {
        *lane->failure.detail = '\0';
    } else if (result != SLURMHOOKS_OK || !read_wait(answer, size, &wait)) {
        if (result == SLURMHOOKS_OK) {
            snprintf(lane->failure.detail, sizeof(lane->failure.detail), "the worker's answer is damaged");
            slurmhooks_client_discard(delivery->client, lane->failure.worker);
        }
        wait = RETRY_MS; /* a worker then decides when to try again */
    }
    free(answer);
    return wait;
}

static void *run_lane(void *argument)
{
    struct lane *lane = argument;
    struct slurmhooks_delivery *delivery = lane->delivery;
    unsigned wait = 0;

    while (pause_lane(delivery, lane, wait, true))
        wait = is_only(delivery) ? deliver(delivery, lane) : PAUSE_MS;
    return NULL;
}

static void *run_sync(void *argument)
{
    struct lane *lane = argument;

    while (pause_lane(lane->delivery, lane, PAUSE_MS, false))
        slurmhooks_spool_sync(lane->delivery->spool);
    return NULL;
}

static void release(struct slurmhooks_delivery *delivery)
{
    pthread_mutex_lock(&delivery->lock);
    delivery->stopping = true;
    pthread_cond_broadcast(&delivery->changed);
    pthread_mutex_unlock(&delivery->lock);
    slurmhooks_client_interrupt(delivery->client);
    for (unsigned i = 0; i < delivery->started; i++)
        pthread_join(delivery->lanes[i].thread, NULL);
    if (delivery->only >= 0)
        close(delivery->only);
    pthread_cond_destroy(&delivery->changed);
    pthread_mutex_destroy(&delivery->lock);
    free(delivery->folder);
    free(delivery);
}

struct slurmhooks_delivery *slurmhooks_delivery_start(struct slurmhooks_client *client, struct slurmhooks_spool *spool,
                                                      const char *folder)
{
    struct slurmhooks_delivery *delivery = calloc(1, sizeof(*delivery));
    int error = 0;

    if (!delivery)
        return NULL;
    pthread_mutex_init(&delivery->lock, NULL);
    start_condition(&delivery->changed);
    delivery->client = client;
    delivery->spool = spool;
    delivery->folder = strdup(folder);
    delivery->only = -1;
    for (unsigned i = 0; i <= SLURMHOOKS_LANES && !error; i++) {
        delivery->lanes[i].delivery = delivery;
        error = start_thread(&delivery->lanes[i].thread, SMALL_STACK, i < SLURMHOOKS_LANES ? run_lane : run_sync,
                             &delivery->lanes[i]);
        delivery->started += !error;
    }
    if (error) {
        release(delivery);
        errno = error;
        return NULL;
    }
    return delivery;
}

void slurmhooks_delivery_ring(struct slurmhooks_delivery *delivery, uint32_t job_id)
{
    pthread_mutex_lock(&delivery->lock);
    delivery->lanes[job_id % SLURMHOOKS_LANES].rung = true;
    pthread_cond_broadcast(&delivery->changed);
    pthread_mutex_unlock(&delivery->lock);
}

void slurmhooks_delivery_stop(struct slurmhooks_delivery *delivery)
{
    release(delivery);
}
