/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_config.h"
#include "log.h"
#include "client/run.h"
#include "client/spawn.h"

/* The longest time that Python may take, in seconds. */
#define PATIENCE 30
/* The largest size of its output, in bytes. Its last line shows whether it is complete. */
#define TEXT_MAX (8 << 10)

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

/* Python, if it has been started and not been waited for. */
static struct running_python running;
static bool has_begun;

/* RET 0 or an errno. */
static int begin(const char *state_save_location)
{
    const char *const command[] = {ISOLATED_PYTHON, "-m", "slurmhooks.jobcomp.settings", state_save_location, NULL};
    int error = has_begun ? 0 : begin_python(command, &running);

    has_begun = !error;
    return error;
}

void slurmhooks_begin_settings(const char *state_save_location)
{
    static bool done;

    if (!done)
        begin(state_save_location);
    done = true;
}

bool slurmhooks_read_settings(struct slurmhooks_settings *settings, const char *state_save_location)
{
    char *text = malloc(TEXT_MAX), *rest = text, *line;
    bool end = false, clean = true;

    slurmhooks_begin_settings(state_save_location); /* for later calls: the settings are read now */
    *settings = (struct slurmhooks_settings){.limit = UINT64_C(256) << 20, .fsync = SLURMHOOKS_FSYNC_INTERVAL};
    snprintf(settings->spool, sizeof(settings->spool), "%s/slurmhooks", state_save_location);
    int error = text ? begin(state_save_location) : ENOMEM;
    if (error) {
        log_error("[jobcomp] cannot be read: %s: %s", SLURMHOOKS_PYTHON_EXECUTABLE, strerror(error));
        free(text);
        return false;
    }
    finish_python(&running, PATIENCE, text, TEXT_MAX);
    has_begun = false;
    while ((line = strsep(&rest, "\n")))
        if (*line && !take(settings, line, &end)) {
            log_error("[jobcomp] cannot be read: %s", line);
            clean = false;
        }
    free(text);
    if (!end && clean)
        log_error("[jobcomp] cannot be read: %s has printed nothing", SLURMHOOKS_PYTHON_EXECUTABLE);
    return end && clean;
}
