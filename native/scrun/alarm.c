/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scrun/alarm.h"

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

void alarm_keep(void)
{
    const struct sigaction ours = {.sa_handler = alarm_again, .sa_flags = SA_RESTART};
    struct sigaction now;

    if (!sigaction(SIGALRM, NULL, &now) && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
        sigaction(SIGALRM, &ours, NULL);
}
