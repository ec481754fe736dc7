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
 * Read the arguments for C as slurmhooks/files/plugstack.py does, which also says what is invalid. The first argument
 * that is not an option of slurmhooks is the GLOB; the arguments after it belong to the handlers.
 */
static void read_options(struct line *line)
{
    for (int i = 0; i < line->argc; i++) {
        const char *word = line->argv[i];
        if (!strcmp(word, "init_failure_mode=job"))
            line->mode = FAILURE_JOB;
        else if (!strcmp(word, "init_failure_mode=node"))
            line->mode = FAILURE_NODE;
        else if (!strncmp(word, "missing_options=", strlen("missing_options=")))
            line->refuse_missing = strcmp(word, "missing_options=log") != 0;
        else if (!manifest_is_option(word))
            break;
    }
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
    read_options(&lines[count]);
    lines[count].manifest = manifest_find(argc, argv, why);
    if (lines[count].manifest)
        *why = NULL;
    return &lines[count++];
}

int option_value(const struct line *line, int index)
{
    return line->number * SLURMHOOKS_MOST_OPTIONS + index;
}

struct line *line_of_option(int value, int *index)
{
    if (value < 0 || value >= count * SLURMHOOKS_MOST_OPTIONS)
        return NULL;
    *index = value % SLURMHOOKS_MOST_OPTIONS;
    return &lines[value / SLURMHOOKS_MOST_OPTIONS];
}
