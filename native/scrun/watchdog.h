/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ends an anchor that has done its work but does not end.
 *
 * After stage_out the anchor completes the job, removes its spool folder and shuts down (anchor.c:_check_if_stopped).
 * The shutdown fails at times: after a failed stage_in, 26.05 waits for ever for a connection that it has itself put to
 * sleep (CON_FLAG_QUIESCE), while `scrun create` waits for the anchor; 24.11 sometimes spins. An anchor that is still
 * there some seconds after its spool folder has gone is ended; `scrun create` then returns, with our exit code.
 */
#ifndef SLURMHOOKS_SCRUN_WATCHDOG_H
#define SLURMHOOKS_SCRUN_WATCHDOG_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WATCH_US 200000
#define GRACE_US 3000000

/* For `scrun create`, and for podman, which takes it for the container's exit code: scrun's own would be 0. */
static int watchdog_status;

static void *watchdog_run(void *spool_dir)
{
    while (!access(spool_dir, F_OK))
        usleep(WATCH_US);
    usleep(GRACE_US);
    _exit(watchdog_status);
    return NULL;
}

/*
 * IN spool_dir  copied
 * IN failed     the container was not staged in
 */
static void watchdog_start(const char *spool_dir, int failed)
{
    pthread_t thread;
    char *path = spool_dir ? strdup(spool_dir) : NULL;

    watchdog_status = failed ? EXIT_FAILURE : EXIT_SUCCESS;
    /* Without the folder now, nothing can be told from its absence later. */
    if (!path || access(path, F_OK) || pthread_create(&thread, NULL, watchdog_run, path))
        free(path);
    else
        pthread_detach(thread);
}

#endif
