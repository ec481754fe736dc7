/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_SPAWN_H
#define SLURMHOOKS_SPAWN_H

#include <sys/types.h>

/*
 * Start the supervisor. Safe in a process with threads: no code of ours runs between fork and exec.
 *
 * The process is a session of its own, with no signal blocked or ignored, standard input from /dev/null, standard
 * output and error as given, and the control socket as descriptor 3; nothing else is open where the C library can
 * close it (glibc 2.34), and the supervisor closes what was.
 *
 * IN command: path and arguments. IN output: for standard output and error.
 * OUT control: this side of the socket, not blocking.
 * RET 0 or an errno; OUT pid.
 */
int spawn_supervisor(char *const *command, int output, int *control, pid_t *pid);

#endif
