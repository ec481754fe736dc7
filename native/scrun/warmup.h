/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts Python and loads the hooks while scrun waits for the container's job, so that staging need not wait for it.
 *
 * scrun reads scrun.lua before it forks its anchor, which asks slurmctld for a job, waits until that has its nodes, and
 * then calls stage_in. A thread of the anchor uses that time. The anchor is forked once, or three times for a container
 * with a terminal (anchor.c:_daemonize): each child gets a thread, and the last one is known by the name that it gives
 * itself after all forks (anchor.c:_set_proctitle).
 */
#ifndef SLURMHOOKS_SCRUN_WARMUP_H
#define SLURMHOOKS_SCRUN_WARMUP_H

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stub/stub.h"

#define ANCHOR_NAME "scrun:"
#define LOOK_US 100
/* An anchor has its name in a millisecond or two. One that has none after seconds starts Python when it stages. */
#define LOOKS 20000
/* After its name it reads the options of SPANK plugins, and puts them into the environment (spank.c:_option_setenv),
 * which Python reads when it starts. */
#define SETTLE_US 500

/* Inherited by what the anchor forks later: Python starts in no other process. */
static int warmup_began;

static int warmup_is_anchor(void)
{
    char name[sizeof(ANCHOR_NAME) - 1];
    int file = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return 0;
    ssize_t got = read(file, name, sizeof(name));
    close(file);
    return got == (ssize_t)sizeof(name) && !memcmp(name, ANCHOR_NAME, sizeof(name));
}

static void *warmup_run(void *unused)
{
    static struct slurmhooks_entry entry = {"slurmhooks.scrun.entry", "prepare", NULL, 0};
    struct slurmhooks_answer answer;

    for (int looks = 0; !warmup_is_anchor(); looks++) {
        if (looks == LOOKS)
            return unused;
        usleep(LOOK_US);
    }
    warmup_began = 1;
    usleep(SETTLE_US);
    if (!stub_call(&entry, &answer, NULL, 0))
        free(answer.message);
    /* CPython takes the thread that started it for the main one, which is never to end. */
    for (;;)
        pause();
}

/* Tell whether this process, fresh from a fork, is or will be the anchor. */
static int warmup_is_due(void)
{
    return !warmup_began;
}

static void warmup_start(void)
{
    sigset_t all, before;
    pthread_t thread;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!pthread_create(&thread, NULL, warmup_run, NULL))
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

#endif
