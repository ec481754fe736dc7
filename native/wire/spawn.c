/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONTROL_FD 3

extern char **environ;

/* Whether a variable is one from which Python takes its own path even in isolated mode (-I). */
static bool names_executable(const char *variable)
{
    static const char *const names[] = {"PYTHONEXECUTABLE=", "__PYVENV_LAUNCHER__="};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strncmp(variable, names[i], strlen(names[i])))
            return true;
    return false;
}

/* The environment of the new process. RET free() it, its strings are slurmctld's; NULL: memory is short. */
static char **environment(void)
{
    size_t count = 0, kept = 0;

    while (environ && environ[count])
        count++;
    char **copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++)
        if (!names_executable(environ[i]))
            copy[kept++] = environ[i];
    return copy;
}

/* RET 0 or an errno. IN control, output: above the descriptors of the new process. */
static int spawn(char *const *command, char *const *variables, int output, int control, pid_t *pid)
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
        error = posix_spawn(pid, command[0], &actions, &attributes, command, variables);
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
    int error = theirs < 0 || written < 0 ? errno : 0;
    char **variables = environment();

    if (!error)
        error = variables ? spawn(command, variables, written, theirs, pid) : ENOMEM;
    free(variables);
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
