/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/lines.h"

#include <stdlib.h>
#include <string.h>

static struct line lines[MOST_LINES];
static int count;

static int same(const struct line *line, int argc, char *argv[])
{
    if (line->argc != argc)
        return 0;
    for (int i = 0; i < argc; i++)
        if (strcmp(line->argv[i], argv[i]))
            return 0;
    return 1;
}

static char **copy(int argc, char *argv[])
{
    char **made = calloc((size_t)argc + 1, sizeof(*made));

    for (int i = 0; made && i < argc; i++) {
        made[i] = strdup(argv[i]);
        if (!made[i])
            return NULL;
    }
    return made;
}

/* As slurmhooks/site.py takes a line apart, which also refuses other values: the first word that is none of these is
 * the GLOB, and all behind it belongs to handlers. */
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
        if (same(&lines[i], argc, argv))
            return &lines[i];
    char **words = count < MOST_LINES ? copy(argc, argv) : NULL;
    if (!words)
        return NULL;
    lines[count] = (struct line){.number = count, .argc = argc, .argv = words};
    lines[count].mode = mode_of(argc, words);
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
