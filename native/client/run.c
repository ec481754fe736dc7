/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/channel.h"
#include "client/spawn.h"

#define SECOND INT64_C(1000000000)

/* Start the process. OUT output: a pipe from its standard output and error. RET 0 or an errno. */
static int start(const char *const *command, int *output, pid_t *pid)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC))
        return errno;
    int error = spawn_python((char *const *)command, ends[1], -1, pid);
    close(ends[1]);
    if (error)
        close(ends[0]);
    else
        *output = ends[0];
    return error;
}

int run_python(const char *const *command, int seconds, char *text, size_t size)
{
    int output = -1;
    pid_t pid = 0;
    int error = start(command, &output, &pid);
    struct pollfd polled = {.fd = output, .events = POLLIN};
    int64_t until = channel_now() + seconds * SECOND;
    size_t length = 0;

    text[0] = '\0';
    if (error)
        return error;
    while (channel_now() < until) {
        char rest[1024]; /* what does not fit is read, too, or the process would wait for ever */
        bool is_full = length == size - 1;
        ssize_t more = -1;
        if (poll(&polled, 1, 1000) > 0)
            more = is_full ? read(output, rest, sizeof(rest)) : read(output, text + length, size - 1 - length);
        if (!more)
            break;
        if (more > 0 && !is_full)
            length += (size_t)more;
    }
    text[length] = '\0';
    close(output);
    kill(pid, SIGKILL);
    /* Fails if the daemon has already waited for this process, or ignores SIGCHLD. */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}
