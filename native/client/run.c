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

int begin_python(const char *const *command, struct running_python *running)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC))
        return errno;
    int error = spawn_python((char *const *)command, ends[1], -1, &running->pid);
    close(ends[1]);
    if (error)
        close(ends[0]);
    else
        running->output = ends[0];
    return error;
}

void finish_python(const struct running_python *running, int seconds, char *text, size_t size)
{
    struct pollfd polled = {.fd = running->output, .events = POLLIN};
    int64_t until = channel_now() + seconds * SECOND;
    size_t length = 0;

    while (channel_now() < until) {
        char rest[1024]; /* what does not fit is read, too, or the process would wait for ever */
        bool is_full = length == size - 1;
        ssize_t more = -1;
        if (poll(&polled, 1, 1000) > 0)
            more = is_full ? read(running->output, rest, sizeof(rest))
                           : read(running->output, text + length, size - 1 - length);
        if (!more)
            break;
        if (more > 0 && !is_full)
            length += (size_t)more;
    }
    text[length] = '\0';
    close(running->output);
    kill(running->pid, SIGKILL);
    /* Fails if the daemon has already waited for this process, or ignores SIGCHLD. */
    while (waitpid(running->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
