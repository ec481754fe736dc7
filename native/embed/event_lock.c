/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "embed/event_lock.h"

#include <pthread.h>

/* An error-checking mutex refuses an event inside an event, which would otherwise deadlock. */
static pthread_mutex_t event_lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

int event_lock_take(void)
{
    return pthread_mutex_lock(&event_lock);
}

void event_lock_release(void)
{
    pthread_mutex_unlock(&event_lock);
}

void event_lock_reset(void)
{
    static const pthread_mutex_t fresh = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

    event_lock = fresh;
}
