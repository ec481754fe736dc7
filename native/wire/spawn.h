/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_SPAWN_H
#define SLURMHOOKS_SPAWN_H

#include <sys/types.h>

/*
 * Start the supervisor. Safe in a process with threads, since no code of ours runs between fork and exec.
 *
 * The new process leads a session of its own. No signal is blocked or ignored; standard input is /dev/null; the control
 * socket is descriptor 3. From glibc 2.34 on no other descriptor is open; with older ones the supervisor closes them.
 *
 * IN command   path and arguments
 * IN output    its standard output and error
 * OUT control  slurmctld's end of the control socket
 * OUT pid      of the supervisor
 * RET 0 or an errno
 */
int spawn_supervisor(char *const *command, int output, int *control, pid_t *pid);

#endif
