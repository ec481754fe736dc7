/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "embed/ending.h"

#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"

static char step[64]; /* as scancel takes it */

/* Find scancel: it is PREFIX/bin/scancel if this is PREFIX/sbin/slurmstepd. RET whether this is so. */
static bool find_scancel(char *path, size_t room)
{
    static const char ours[] = "/sbin/slurmstepd", its[] = "/bin/scancel";
    /* As slurmd called it: /proc/self/exe cannot be read while this process acts as the user. */
    const char *self = (const char *)getauxval(AT_EXECFN);
    size_t length = self ? strlen(self) : 0;

    if (length < strlen(ours) || length >= room || self[0] != '/')
        return false;
    memcpy(path, self, length + 1);
    path += length - strlen(ours);
    if (strcmp(path, ours))
        return false;
    memcpy(path, its, sizeof(its));
    return true;
}

/* Cancel the step of slurmstepd: nobody else would notice that it ends, and srun would wait for it. */
static void cancel_step(void)
{
    char scancel[PATH_MAX], *words[] = {scancel, step, NULL};
    pid_t pid;

    if (!*step || !find_scancel(scancel, sizeof(scancel)))
        return;
    /* Not fork(): its handlers wait for Python. Not by PATH: root runs nothing that one of its folders may hold. */
    if (!posix_spawn(&pid, scancel, NULL, NULL, words, environ))
        waitpid(pid, NULL, 0);
}

void ending_set_step(const char *name)
{
    snprintf(step, sizeof(step), "%s", name);
}

void ending_announce(const char *text, enum ends ends)
{
    static volatile sig_atomic_t done;

    if (done == 0) {
        done = 1;
        log_error("%s: process %d ends", text, (int)getpid());
    }
    if (done == 1) {
        done = 2;
        if (ends == ENDS_STEP)
            cancel_step();
    }
}
