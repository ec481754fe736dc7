/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scrun/watchdog.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WATCH_US 200000
#define GRACE_US 3000000

/* `scrun create` returns it, and podman treats it as the container's exit code. scrun's own would be 0. */
static int watchdog_status;

static void *watchdog_run(void *spool_dir)
{
    while (!access(spool_dir, F_OK))
        usleep(WATCH_US);
    usleep(GRACE_US);
    _exit(watchdog_status);
    return NULL;
}

void watchdog_start(const char *spool_dir, int failed)
{
    pthread_t thread;
    char *path = spool_dir ? strdup(spool_dir) : NULL;

    watchdog_status = failed ? EXIT_FAILURE : EXIT_SUCCESS;
    /* A folder that did not exist from the start would look like one that was removed. */
    if (!path || access(path, F_OK) || pthread_create(&thread, NULL, watchdog_run, path))
        free(path);
    else
        pthread_detach(thread);
}
