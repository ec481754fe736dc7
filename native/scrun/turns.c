/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scrun/turns.h"

#include <pthread.h>
#include <unistd.h>

/* Enough for the few instructions from the return of stage_out to scrun's last use of the Lua state. */
#define LEAVE_LUA_US 200000

static struct turns {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    volatile int *cancelled; /* the flag of the stage_in whose handlers are running; else NULL */
    int in_runs;             /* from turns_begin_in() to the end of turns_end_in() */
    int out_was_called;      /* scrun has called stage_out in that time */
    int out_is_done;
} turns = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

void turns_begin_in(volatile int *cancelled)
{
    pthread_mutex_lock(&turns.lock);
    turns.cancelled = cancelled;
    turns.in_runs = 1;
    turns.out_was_called = turns.out_is_done = 0;
    pthread_mutex_unlock(&turns.lock);
}

int turns_end_in(void)
{
    pthread_mutex_lock(&turns.lock);
    turns.cancelled = NULL;
    pthread_cond_broadcast(&turns.changed);
    int interrupted = turns.out_was_called;
    while (interrupted && !turns.out_is_done)
        pthread_cond_wait(&turns.changed, &turns.lock);
    turns.in_runs = 0;
    pthread_mutex_unlock(&turns.lock);
    if (interrupted)
        usleep(LEAVE_LUA_US);
    return interrupted;
}

void turns_begin_out(void)
{
    pthread_mutex_lock(&turns.lock);
    if (turns.in_runs) {
        turns.out_was_called = 1;
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
