/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/thread.h"

#include <signal.h>
#include <time.h>

int start_thread(pthread_t *thread, size_t stack, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);

    if (error)
        return error;
    if (stack)
        pthread_attr_setstacksize(&attributes, stack);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

void start_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}
