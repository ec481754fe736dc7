/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_SPAWN_H
#define SLURMHOOKS_SPAWN_H

#include <sys/types.h>

/* The first words of a command, for which build_config.h must be included: a Python that heeds no user's settings. */
#define ISOLATED_PYTHON \
    SLURMHOOKS_PYTHON_EXECUTABLE, "-I", "-X", "utf8", "-X", "slurmhooks_sysconfdir=" SLURMHOOKS_SYSCONFDIR

/*
 * Start Python. Safe in a process with threads, since no code of ours runs between fork and exec.
 *
 * The new process leads a session of its own. No signal is blocked or ignored, no environment variable changes where
 * Python looks for its files, and standard input is /dev/null. From glibc 2.34 on no other descriptor is open.
 *
 * IN command   path and arguments
 * IN output    its standard output and error
 * IN control   is its descriptor 3; -1: it has none
 * OUT pid      of the new process
 * RET 0 or an errno
 */
int spawn_python(char *const *command, int output, int control, pid_t *pid);

/*
 * Start the supervisor, as spawn_python() does, with a control socket. With a glibc before 2.34, the supervisor itself
 * closes all other descriptors.
 *
 * IN command   path and arguments
 * IN output    its standard output and error
 * OUT control  slurmctld's end of the control socket
 * OUT pid      of the supervisor
 * RET 0 or an errno
 */
int spawn_supervisor(char *const *command, int output, int *control, pid_t *pid);

#endif
