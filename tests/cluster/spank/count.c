/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded in each process of a cluster (/etc/ld.so.preload): records starts and clones of slurmstepd. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void note(const char *what, const char *more)
{
    char row[256];
    int length = snprintf(row, sizeof(row), "%s %s\n", what, more);
    int file = open("/opt/spank/processes", O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file >= 0 && write(file, row, (size_t)length) != length)
        _exit(1);
    if (file >= 0)
        close(file);
}

/* The name must be read now: slurmstepd overwrites it later. */
static bool ours;

/* glibc passes the arguments of main() to a constructor. */
__attribute__((constructor)) static void started(int argc, char **argv)
{
    ours = !strcmp(program_invocation_short_name, "slurmstepd");
    if (ours)
        note("start", argc > 2 ? argv[2] : "step");
}

int clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
    __typeof__(clone) *real = (__typeof__(clone) *)dlsym(RTLD_NEXT, "clone");
    /* The flags with which contain_spank calls a callback, not the flags for creating a namespace. */
    if (ours && flags == (CLONE_VM | SIGCHLD))
        note("clone", "callback");
    /* slurmstepd does not use the optional arguments. */
    return real(function, stack, flags, argument);
}
