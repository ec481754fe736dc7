/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONTROL_FD 3

extern char **environ;

/* RET 0 or an errno. IN control, output: above the descriptors of the new process. */
static int spawn(char *const *command, int output, int control, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int error = posix_spawn_file_actions_init(&actions);

    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    sigemptyset(&none);
    sigfillset(&all);
    /* slurmctld blocks most signals: without this, programs of handlers could not be terminated. */
    error = posix_spawnattr_setsigmask(&attributes, &none);
    if (!error)
        error = posix_spawnattr_setsigdefault(&attributes, &all);
    if (!error)
        error =
            posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, control, CONTROL_FD);
#ifdef SLURMHOOKS_CLOSEFROM
    if (!error)
        error = posix_spawn_file_actions_addclosefrom_np(&actions, CONTROL_FD + 1);
#endif
    if (!error)
        error = posix_spawn(pid, command[0], &actions, &attributes, command, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int spawn_supervisor(char *const *command, int output, int *control, pid_t *pid)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return errno;
    /* Above those that are overwritten in the new process, even where slurmctld's own 0 to 2 are closed. */
    int theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, CONTROL_FD + 1);
    int written = fcntl(output, F_DUPFD_CLOEXEC, CONTROL_FD + 1);
    int error = theirs < 0 || written < 0 ? errno : spawn(command, written, theirs, pid);

    if (theirs >= 0)
        close(theirs);
    if (written >= 0)
        close(written);
    close(ends[1]);
    if (error)
        close(ends[0]);
    else
        *control = ends[0];
    return error;
}
