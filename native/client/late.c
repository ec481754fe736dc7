/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/late.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/channel.h"
#include "client/thread.h"

/* How long an observer may take to read a reply, in nanoseconds. No lock is held during that time. */
#define PATIENCE (60 * INT64_C(1000000000))

/* How many observers may ask at the same time; more are not from slurmhooks, or have ended in a way that hides it. */
#define MOST_SOURCES 64

/* One channel, whose thread counts in `sources`. */
struct source {
    const struct slurmhooks_late *late;
    int channel;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned answering; /* threads between enter() and leave() */
static unsigned sources;   /* threads that wait for questions */
static bool stopped;

/* Count the thread of a channel, or count it no more. RET false, without counting, if there are too many. */
static bool count_source(int change)
{
    pthread_mutex_lock(&mutex);
    bool has_room = change < 0 || sources < MOST_SOURCES;
    if (has_room)
        sources += (unsigned)change;
    pthread_mutex_unlock(&mutex);
    return has_room;
}

/* Take the locks. RET false, without the locks, if questions are no longer to be answered. */
static bool enter(const struct slurmhooks_late *late)
{
    late->lock();
    pthread_mutex_lock(&mutex);
    bool may_answer = !stopped;
    answering += may_answer;
    pthread_mutex_unlock(&mutex);
    if (!may_answer)
        late->unlock();
    return may_answer;
}

static void leave(const struct slurmhooks_late *late)
{
    late->unlock();
    pthread_mutex_lock(&mutex);
    answering--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

/* Answer one question. RET false if the channel is to be closed. */
static bool answer(const struct source *source)
{
    uint32_t kind;
    void *data, *reply = NULL;
    size_t size, reply_size = 0;

    if (channel_receive(source->channel, INT64_MAX, &kind, &data, &size) != CHANNEL_OK)
        return false;
    size_t start = sizeof(struct slurmhooks_whose);
    bool valid = kind == CHANNEL_QUERY && size >= start && enter(source->late);
    if (valid) {
        valid = source->late->query(data, (char *)data + start, size - start, &reply, &reply_size);
        leave(source->late);
    }
    free(data);
    valid = valid &&
            channel_send(source->channel, CHANNEL_REPLY, reply, reply_size, channel_now() + PATIENCE) == CHANNEL_OK;
    free(reply);
    return valid;
}

static void *run(void *argument)
{
    struct source *source = argument;

    while (answer(source))
        ;
    close(source->channel);
    free(source);
    count_source(-1);
    return NULL;
}

/* Keep this library in memory until the process ends: slurmctld may unload it while a thread waits for the locks. */
static bool pin(void)
{
    Dl_info info;

    if (!dladdr((void *)pin, &info) || !info.dli_fname)
        return false;
    void *self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    /* The code is part of a program, not of a library: a program can be opened only as NULL. */
    if (!self)
        self = dlopen(NULL, RTLD_LAZY);
    if (self)
        dlclose(self);
    return self != NULL;
}

void late_serve(const struct slurmhooks_late *late, int channel)
{
    bool counted = count_source(1);
    struct source *source = counted && pin() ? malloc(sizeof(*source)) : NULL;
    pthread_t thread;

    if (source) {
        *source = (struct source){late, channel};
        if (!start_thread(&thread, 0, run, source)) {
            pthread_detach(thread); /* nobody waits for it */
            return;
        }
    }
    close(channel);
    free(source);
    if (counted)
        count_source(-1);
}

void late_stop(void)
{
    pthread_mutex_lock(&mutex);
    stopped = true;
    while (answering)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

void late_start(void)
{
    pthread_mutex_lock(&mutex);
    stopped = false;
    pthread_mutex_unlock(&mutex);
}
