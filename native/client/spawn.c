/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/spawn.h"

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

/* RET whether an environment variable changes the path of Python's executable, even in isolated mode (-I). */
static bool is_python_path(const char *variable)
{
    static const char *const names[] = {"PYTHONEXECUTABLE=", "__PYVENV_LAUNCHER__="};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strncmp(variable, names[i], strlen(names[i])))
            return true;
    return false;
}

/*
 * RET the environment of the new process, freed with free(); its strings belong to slurmctld's environment. NULL if
 * memory is short.
 */
static char **environment(void)
{
    char *const *variables = environ;
    size_t count = 0, copied = 0;

    while (variables && variables[count])
        count++;
    char **copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++)
        if (!is_python_path(variables[i]))
            copy[copied++] = variables[i];
    return copy;
}

/* Start a process. IN output, control: larger than CONTROL_FD, see below; control -1: none. OUT pid. RET 0 or an errno.
 */
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
    /* slurmctld blocks most signals, and programs that handlers start would inherit the blocked set. */
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
    if (!error && control >= 0)
        error = posix_spawn_file_actions_adddup2(&actions, control, CONTROL_FD);
#ifdef SLURMHOOKS_CLOSEFROM
    if (!error)
        error = posix_spawn_file_actions_addclosefrom_np(&actions, control >= 0 ? CONTROL_FD + 1 : CONTROL_FD);
#endif
    if (!error)
        error = posix_spawn(pid, command[0], &actions, &attributes, command, variables);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int spawn_python(char *const *command, int output, int control, pid_t *pid)
{
    /* Copies that are larger than the descriptors which spawn() overwrites: slurmctld may have closed its own 0 to 2.
     */
    int control_copy = control < 0 ? -1 : fcntl(control, F_DUPFD_CLOEXEC, CONTROL_FD + 1);
    int output_copy = fcntl(output, F_DUPFD_CLOEXEC, CONTROL_FD + 1);
    int error = (control >= 0 && control_copy < 0) || output_copy < 0 ? errno : 0;
    char **variables = environment();

    if (!error)
        error = variables ? spawn(command, variables, output_copy, control_copy, pid) : ENOMEM;
    free(variables);
    if (control_copy >= 0)
        close(control_copy);
    if (output_copy >= 0)
        close(output_copy);
    return error;
}

int spawn_supervisor(char *const *command, int output, int *control, pid_t *pid)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return errno;
    int error = spawn_python(command, output, ends[1], pid);
    close(ends[1]);
    if (error)
        close(ends[0]);
    else
        *control = ends[0];
    return error;
}
