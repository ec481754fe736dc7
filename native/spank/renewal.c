/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/renewal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_config.h"
#include "client/run.h"
#include "client/spawn.h"
#include "log.h"

/* The longest time that the command may take, in seconds: as long as loading hook files may take. */
#define PATIENCE 60
/* The most of its output that is logged, in bytes. */
#define TEXT_MAX (8 << 10)
/* A variable of slurmd's environment; with the value "manual" slurmd leaves the manifest alone. */
#define VARIABLE "SLURMHOOKS_MANIFEST"

/* Find the PluginDir, which has the record of an installed build; 'compile' needs it. RET 0 or -1. */
static int find_folder(char *folder, size_t size)
{
    char record[4096];
    Dl_info info;
    const char *slash = dladdr((void *)renewal_run, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;

    if (!slash)
        return -1;
    int length = snprintf(folder, size, "%.*s", (int)(slash - info.dli_fname), info.dli_fname);
    if (length < 0 || (size_t)length >= size)
        return -1;
    length = snprintf(record, sizeof(record), "%s/slurmhooks/build.json", folder);
    return length < 0 || (size_t)length >= sizeof(record) ? -1 : access(record, R_OK);
}

int renewal_run(const char *why)
{
    static int done;
    const char *chosen = getenv(VARIABLE);
    char folder[4096], *text, *rest, *line;

    if (done || geteuid() || (chosen && !strcmp(chosen, "manual")) || find_folder(folder, sizeof(folder)))
        return 0;
    done = 1;
    const char *const command[] = {ISOLATED_PYTHON, "-m", "slurmhooks.cli", "compile", "--plugin-dir", folder, NULL};
    slurm_info("slurmhooks: no hook manifest (%s): running 'slurmhooks compile'", why);
    rest = text = malloc(TEXT_MAX);
    int error = text ? run_python(command, PATIENCE, text, TEXT_MAX) : ENOMEM;
    if (error)
        log_error("'slurmhooks compile' cannot be run: %s", strerror(error));
    while (!error && (line = strsep(&rest, "\n")))
        if (*line)
            slurm_info("slurmhooks: compile: %s", line);
    free(text);
    return !error;
}
