/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/lines.h"

#include <stdlib.h>
#include <string.h>

static struct line lines[MOST_LINES];
static int count;

static int has_arguments(const struct line *line, int argc, char *argv[])
{
    if (line->argc != argc)
        return 0;
    for (int i = 0; i < argc; i++)
        if (strcmp(line->argv[i], argv[i]))
            return 0;
    return 1;
}

/* RET a copy from malloc() that ends with NULL; NULL if memory is short. */
static char **copy(int argc, char *argv[])
{
    char **copied = calloc((size_t)argc + 1, sizeof(*copied));

    for (int i = 0; copied && i < argc; i++) {
        copied[i] = strdup(argv[i]);
        if (!copied[i]) {
            while (i--)
                free(copied[i]);
            free(copied);
            return NULL;
        }
    }
    return copied;
}

/*
 * Read init_failure_mode= as slurmhooks/site.py does, which also refuses invalid values. The first argument that is not
 * an option of slurmhooks is the GLOB; the arguments after it belong to the handlers.
 */
static enum failure_mode mode_of(int argc, char *argv[])
{
    enum failure_mode mode = FAILURE_UNSET;

    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "init_failure_mode=job"))
            mode = FAILURE_JOB;
        else if (!strcmp(argv[i], "init_failure_mode=node"))
            mode = FAILURE_NODE;
        else if (strncmp(argv[i], "config=", strlen("config=")) && strcmp(argv[i], "failonerror"))
            break;
    }
    return mode;
}

struct line *line_of(int argc, char *argv[], const char **why)
{
    *why = NULL;
    for (int i = 0; i < count; i++)
        if (has_arguments(&lines[i], argc, argv))
            return &lines[i];
    char **copies = count < MOST_LINES ? copy(argc, argv) : NULL;
    if (!copies)
        return NULL;
    lines[count] = (struct line){.number = count, .argc = argc, .argv = copies};
    lines[count].mode = mode_of(argc, copies);
    lines[count].manifest = manifest_find(argc, argv, why);
    if (lines[count].manifest)
        *why = NULL;
    return &lines[count++];
}

int option_value(const struct line *line, int index)
{
    return line->number * MOST_OPTIONS + index;
}

struct line *line_of_option(int value, int *index)
{
    if (value < 0 || value >= count * MOST_OPTIONS)
        return NULL;
    *index = value % MOST_OPTIONS;
    return &lines[value / MOST_OPTIONS];
}
