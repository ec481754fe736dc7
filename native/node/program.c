/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmhooks_health, the HealthCheckProgram: calls slurmhooks.entry.node if the site has health checks.
 *
 * slurmd runs it as root and reads its output, which is in slurmd's log if the exit code is not 0.
 */
#include <slurm/slurm.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "manifest/manifest.h"
#include "stub/stub.h"

#define EXPORTED __attribute__((visibility("default")))

/* The exit code if the checks could not run; the node keeps its state. */
#define FAILED 1

static void write_line(const char *level, const char *format, va_list arguments)
{
    fputs(level, stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

/* The functions that Slurm's programs provide for plugins: the core library and libslurm find them here. */
#define WRITES(function, level)                     \
    EXPORTED void function(const char *format, ...) \
    {                                               \
        va_list arguments;                          \
        va_start(arguments, format);                \
        write_line(level, format, arguments);       \
        va_end(arguments);                          \
    }
WRITES(slurm_error, "error: ")
WRITES(slurm_info, "")
WRITES(slurm_spank_log, "")

#define DROPS(function)                             \
    EXPORTED void function(const char *format, ...) \
    {                                               \
        (void)format;                               \
    }
DROPS(slurm_verbose)
DROPS(slurm_debug)
DROPS(slurm_debug2)
DROPS(slurm_debug3)
DROPS(slurm_debug4)

/* Start again under the path without links: the core library is found beside it. */
static void start_by_path(char *argv[])
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (length <= 0)
        return;
    path[length] = '\0';
    if (!strcmp(argv[0], path))
        return;
    argv[0] = path;
    execv(path, argv);
}

/* Read the strings of a file of the process that has started this one. OUT text, ends with two NUL. RET 0, or -1. */
static int read_of_parent(const char *name, char *text, size_t size)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)getppid(), name);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    size_t length = fread(text, 1, size - 2, file);
    fclose(file);
    text[length] = text[length + 1] = '\0';
    return 0;
}

/*
 * Set SLURM_CONF to the slurm.conf that slurmd was started with: slurmd itself passes on nothing but its node's name.
 * Another cluster may have its files in the folder that this program was built for.
 */
static void use_configuration_of_slurmd(void)
{
    static char text[1 << 17];
    const char *conf = NULL;

    if (getenv("SLURM_CONF") || read_of_parent("comm", text, sizeof(text)) || strncmp(text, "slurmd", strlen("slurmd")))
        return;
    if (!read_of_parent("environ", text, sizeof(text)))
        for (char *word = text; *word; word += strlen(word) + 1)
            if (!strncmp(word, "SLURM_CONF=", strlen("SLURM_CONF=")))
                setenv("SLURM_CONF", strchr(word, '=') + 1, 1);
    if (!read_of_parent("cmdline", text, sizeof(text)))
        for (char *word = text; *word; word += strlen(word) + 1)
            if (!strncmp(word, "-f", strlen("-f")))
                conf = word[2] ? word + 2 : word + 3;
    if (conf && *conf == '/')
        setenv("SLURM_CONF", conf, 1);
}

int main(int argc, char *argv[])
{
    static struct slurmhooks_entry entry = {"slurmhooks.entry.node", "health_check", NULL};
    struct slurmhooks_outcome outcome;
    const char *why;

    stub_folder = "";
    if (argc > 0)
        start_by_path(argv);
    use_configuration_of_slurmd();
    const struct manifest_line *line = manifest_find_point(MANIFEST_NODE, &why);
    if (line && !line->calls[HOOK_health_check])
        return 0;
    if (STUB_CALL(&entry, &outcome, line ? (intptr_t)line->text : 0))
        return FAILED;
    free(outcome.message);
    return outcome.rc;
}
