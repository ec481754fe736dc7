/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scrun/alarm.h"

#include <signal.h>
#include <sys/time.h>

#include "entry.h"

#define ALARM_AGAIN_US 1000
/* After ten seconds the signal is fatal, as it would be without this handler. */
#define ALARMS 10000

static void repeat_alarm(int number)
{
    LEAVES_ERRNO(errno);
    static volatile sig_atomic_t count;
    /* Not raise(): the interrupted thread must make progress between two signals. scrun does not use ITIMER_REAL. */
    const struct itimerval pause = {.it_value.tv_usec = ALARM_AGAIN_US};

    if (++count > ALARMS)
        signal(number, SIG_DFL);
    setitimer(ITIMER_REAL, &pause, NULL);
}

void alarm_keep(void)
{
    const struct sigaction handler = {.sa_handler = repeat_alarm, .sa_flags = SA_RESTART};
    struct sigaction current;

    if (!sigaction(SIGALRM, NULL, &current) && !(current.sa_flags & SA_SIGINFO) && current.sa_handler == SIG_DFL)
        sigaction(SIGALRM, &handler, NULL);
}
