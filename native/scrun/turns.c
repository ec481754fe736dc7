/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scrun/turns.h"

#include <pthread.h>
#include <unistd.h>

/* Between stage_out's return and scrun's last look at the Lua state lie a few instructions. */
#define LEAVE_LUA_US 200000

static struct turns {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    volatile int *cancelled; /* set while handlers of stage_in run */
    int in_is_inside;        /* from begin_in to end_in's return */
    int out_waits;           /* stage_out has come in while stage_in was inside */
    int out_is_done;
} turns = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

void turns_begin_in(volatile int *cancelled)
{
    pthread_mutex_lock(&turns.lock);
    turns.cancelled = cancelled;
    turns.in_is_inside = 1;
    turns.out_waits = turns.out_is_done = 0;
    pthread_mutex_unlock(&turns.lock);
}

int turns_end_in(void)
{
    pthread_mutex_lock(&turns.lock);
    turns.cancelled = NULL;
    pthread_cond_broadcast(&turns.changed);
    int interrupted = turns.out_waits;
    while (interrupted && !turns.out_is_done)
        pthread_cond_wait(&turns.changed, &turns.lock);
    turns.in_is_inside = 0;
    pthread_mutex_unlock(&turns.lock);
    if (interrupted)
        usleep(LEAVE_LUA_US);
    return interrupted;
}

void turns_begin_out(void)
{
    pthread_mutex_lock(&turns.lock);
    if (turns.in_is_inside) {
        turns.out_waits = 1;
        if (turns.cancelled)
            *turns.cancelled = 1;
        while (turns.cancelled)
            pthread_cond_wait(&turns.changed, &turns.lock);
    }
    pthread_mutex_unlock(&turns.lock);
}

void turns_end_out(void)
{
    pthread_mutex_lock(&turns.lock);
    turns.out_is_done = 1;
    pthread_cond_broadcast(&turns.changed);
    pthread_mutex_unlock(&turns.lock);
}
