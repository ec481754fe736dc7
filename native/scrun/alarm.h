/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps an anchor alive whose timer goes off before scrun listens.
 *
 * To look whether the job has its nodes scrun sets a timer of a nanosecond (alloc.c:get_allocation, conmgr/delayed.c),
 * in a thread that may be quicker than the one that gives SIGALRM a handler (conmgr/signals.c:signal_mgr_start). On a
 * busy machine the anchor then dies of signal 14 (seen with 24.11). So until scrun has its handler, the signal comes
 * again.
 */
#ifndef SLURMHOOKS_SCRUN_ALARM_H
#define SLURMHOOKS_SCRUN_ALARM_H

#include <signal.h>
#include <sys/time.h>

#define ALARM_AGAIN_US 1000
/* Ten seconds: one that nobody takes by then is as deadly as without us. */
#define ALARMS 10000

static void alarm_again(int number)
{
    static volatile sig_atomic_t count;
    /* Not raised at once: between two of them the interrupted thread is to get on. scrun has no timer of this kind. */
    const struct itimerval soon = {.it_value.tv_usec = ALARM_AGAIN_US};

    if (++count > ALARMS)
        signal(number, SIG_DFL);
    setitimer(ITIMER_REAL, &soon, NULL);
}

/* In the child of a fork, before scrun goes on there. */
static void alarm_keep(void)
{
    const struct sigaction ours = {.sa_handler = alarm_again, .sa_flags = SA_RESTART};
    struct sigaction now;

    if (!sigaction(SIGALRM, NULL, &now) && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
        sigaction(SIGALRM, &ours, NULL);
}

#endif
