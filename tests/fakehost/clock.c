/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into processes: shifts the time of day by as many seconds as the file that WORKER_TEST_CLOCK names has
 * bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

static time_t set_by(void)
{
    const char *path = getenv("WORKER_TEST_CLOCK");
    struct stat status;

    /* An empty file stands for a clock that was set back. */
    if (!path || stat(path, &status))
        return 0;
    return status.st_size ? status.st_size : -86400;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    int (*real)(clockid_t, struct timespec *) =
        (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(id, now);

    if (!rc && id == CLOCK_REALTIME)
        now->tv_sec += set_by();
    return rc;
}

time_t time(time_t *result)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}
