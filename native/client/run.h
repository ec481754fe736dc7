/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_RUN_H
#define SLURMHOOKS_RUN_H

#include <stddef.h>

/*
 * Run Python until it closes its output, at most for some time, and end it. Starts it as spawn_python() does.
 *
 * IN command  path, arguments and NULL
 * IN seconds  the longest time
 * OUT text    what it has printed to standard output and error, ended by a NUL; cut off if it is longer than size
 * RET 0, or an errno if it could not be started
 */
int run_python(const char *const *command, int seconds, char *text, size_t size);

#endif
