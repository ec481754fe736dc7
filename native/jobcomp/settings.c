/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "build_config.h"
#include "log.h"
#include "client/channel.h"
#include "client/spawn.h"

/* The longest time that Python may take, in nanoseconds. */
#define PATIENCE (INT64_C(30) * 1000000000)
/* The largest size of its output, in bytes. */
#define TEXT_MAX (8 << 10)

/* Start the process. OUT output: a pipe from its standard output and error. RET 0 or an errno. */
static int start(const char *state_save_location, int *output, pid_t *pid)
{
    const char *const command[] = {
        SLURMHOOKS_PYTHON_EXECUTABLE,
        "-I",
        "-X",
        "slurmhooks_sysconfdir=" SLURMHOOKS_SYSCONFDIR,
        "-m",
        "slurmhooks.jobcomp.settings",
        state_save_location,
        NULL,
    };
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

/* Read all output of the process. Its last line shows whether it is complete. */
static void read_output(int output, char *text)
{
    struct pollfd polled = {.fd = output, .events = POLLIN};
    int64_t until = channel_now() + PATIENCE;
    size_t size = 0;

    while (size < TEXT_MAX - 1 && channel_now() < until) {
        ssize_t more = poll(&polled, 1, 1000) > 0 ? read(output, text + size, TEXT_MAX - 1 - size) : -1;
        if (!more)
            break;
        if (more > 0)
            size += (size_t)more;
    }
    text[size] = '\0';
}

/* Read one line. OUT end: set by the last line. RET false if it is not a setting, but an error message. */
static bool take(struct slurmhooks_settings *settings, const char *line, bool *end)
{
    const char *value = strchr(line, '=');
    size_t length = value ? (size_t)(value++ - line) : 0;

    if (!strcmp(line, "end"))
        *end = true;
    else if (length == 4 && !strncmp(line, "next", 4) && strlen(value) < sizeof(settings->next))
        strcpy(settings->next, value);
    else if (length == 5 && !strncmp(line, "spool", 5) && strlen(value) < sizeof(settings->spool))
        strcpy(settings->spool, value);
    else if (length == 5 && !strncmp(line, "limit", 5))
        settings->limit = strtoull(value, NULL, 10);
    else if (length == 5 && !strncmp(line, "fsync", 5))
        settings->fsync = (enum slurmhooks_fsync)(*value - '0');
    else
        return false;
    return true;
}

bool slurmhooks_read_settings(struct slurmhooks_settings *settings, const char *state_save_location)
{
    char *text = malloc(TEXT_MAX), *rest = text, *line;
    bool end = false, clean = true;
    int output = -1;
    pid_t pid = 0;

    *settings = (struct slurmhooks_settings){.limit = UINT64_C(256) << 20, .fsync = SLURMHOOKS_FSYNC_INTERVAL};
    snprintf(settings->spool, sizeof(settings->spool), "%s/slurmhooks", state_save_location);
    int error = text ? start(state_save_location, &output, &pid) : ENOMEM;
    if (error || pid <= 0) {
        log_error("[job_end] cannot be read: %s: %s", SLURMHOOKS_PYTHON_EXECUTABLE, strerror(error));
        free(text);
        return false;
    }
    read_output(output, text);
    close(output);
    kill(pid, SIGKILL);
    /* Fails if slurmctld has already waited for this process, or ignores SIGCHLD. */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    while ((line = strsep(&rest, "\n")))
        if (*line && !take(settings, line, &end)) {
            log_error("[job_end] cannot be read: %s", line);
            clean = false;
        }
    free(text);
    if (!end && clean)
        log_error("[job_end] cannot be read: %s has printed nothing", SLURMHOOKS_PYTHON_EXECUTABLE);
    return end && clean;
}
