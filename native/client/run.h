/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_RUN_H
#define SLURMHOOKS_RUN_H

#include <stddef.h>
#include <sys/types.h>

/* A Python that runs. */
struct running_python {
    pid_t pid;
    int output; /* a pipe from its standard output and error */
};

/*
 * Start Python as spawn_python() does. IN command: path, arguments and NULL. OUT running: for finish_python().
 * RET 0 or an errno.
 */
int begin_python(const char *const *command, struct running_python *running);

/*
 * Wait until Python closes its output, at most for some time, and end it.
 *
 * IN seconds  the longest time from now
 * OUT text    what it has printed, ended by a NUL; cut off if it is longer than size
 */
void finish_python(const struct running_python *running, int seconds, char *text, size_t size);

#endif
