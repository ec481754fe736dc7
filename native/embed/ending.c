/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "embed/ending.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"

static char step[64]; /* or a job, in the form that scancel takes */

/*
 * Find scancel: PREFIX/bin/scancel, if this program is PREFIX/sbin/slurmstepd or PREFIX/bin/scrun. RET whether it is.
 */
static bool find_scancel(char *path, size_t room)
{
    static const char *const ours[] = {"/sbin/slurmstepd", "/bin/scrun"};
    static const char its[] = "/bin/scancel";
    /* Not /proc/self/exe, which cannot be read while slurmstepd acts as the user. */
    const char *self = (const char *)getauxval(AT_EXECFN);
    size_t length = self ? strlen(self) : 0;

    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        size_t end = strlen(ours[i]);
        if (length < end || self[0] != '/' || strcmp(self + length - end, ours[i]) || length - end + sizeof(its) > room)
            continue;
        memcpy(path, self, length - end);
        memcpy(path + length - end, its, sizeof(its));
        return true;
    }
    return false;
}

/* Cancel the step of slurmstepd, or the job of scrun: Slurm would not notice that this process ends. */
static void cancel_step(void)
{
    char scancel[PATH_MAX], *words[] = {scancel, step, NULL};
    pid_t pid;

    if (!*step || !find_scancel(scancel, sizeof(scancel)))
        return;
    /*
     * Not fork(), whose handlers wait for Python. Not by PATH: root must not run whatever a folder of PATH may contain.
     */
    if (!posix_spawn(&pid, scancel, NULL, NULL, words, environ))
        waitpid(pid, NULL, 0);
}

/* Kill the programs that this thread has started: those of the handler, and possibly tasks of the cancelled step. */
static void end_programs(void)
{
    char children[4096], *next = children;
    int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, children, sizeof(children) - 1);

    children[size > 0 ? size : 0] = '\0';
    for (long child; (child = strtol(next, &next, 10)) > 0;)
        kill((pid_t)child, SIGTERM);
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
        if (ends == ENDS_STEP) {
            end_programs();
            cancel_step();
        }
    }
}
